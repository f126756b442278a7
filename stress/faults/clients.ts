/** Clients that are slow, or leave. */
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from '../../bench/harness/cpu.ts';
import { statusOf } from '../../bench/harness/process.ts';
import { settle } from '../service/books.ts';
import { percentile } from '../service/load.ts';
import { descriptorsOf } from '../service/machine.ts';
import type { Scene } from '../service/scene.ts';
import { balance, type Fault, underLoad, warmUp, withScene } from './drive.ts';

const SLOW = 900;
const MOST_BYTES_EACH = 64 * 1024;
/** Milliseconds of the others' 99th percentile. */
const OTHERS_WITHIN = 100;
const ABORTED_PER_SECOND = 50;
/** Seconds after which connections that were left are gone. */
const CLOSED_WITHIN = 10;

/** Sends a little each second, and reads nothing. */
function beSlow(port: number, begin: string, more: string): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(begin);
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else if (more !== '') socket.write(more);
  }, 1000);
  return socket;
}

const KINDS = [
  ['GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n', 'x-slow: 1\r\n'],
  ['POST /upload HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n[', '1,'],
  ['GET /large HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n', ''],
] as const; // prettier-ignore

const HEAD =
  'POST /upload HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 1000000\r\n\r\n';
const PART =
  '--b\r\ncontent-disposition: form-data; name="f"; filename="f.bin"\r\ncontent-type: application/octet-stream\r\n\r\n';

/** Begins an upload that never ends. */
export function beginUpload(port: number): { destroy(): void } {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`${HEAD}${PART}${'x'.repeat(100_000)}`);
  return {
    destroy() {
      socket.resetAndDestroy();
    },
  };
}

export function uploadsIn({ varDir }: Pick<Scene, 'varDir'>): number {
  try {
    return readdirSync(join(varDir, 'tmp')).length;
  } catch {
    return 0;
  }
}

export const clients: readonly Fault[] = [
  {
    name: 'slow-clients',
    title: `${SLOW} slow clients: headers, bodies, reading`,
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const { port, pid } = scene;
        await warmUp(port);
        const before = memoryOf(pid());
        const sockets: Socket[] = [];
        for (let at = 0; at < SLOW; at++) {
          const [begin, more] = KINDS[at % KINDS.length] ?? KINDS[0];
          sockets.push(beSlow(port, begin, more));
          if (at % 30 === 0) await sleep(10);
        }
        // They came at once, and the application answers those before: a new connection is accepted after all of theirs.
        const cameAt = performance.now();
        await statusOf(port, '/');
        report.figure(`first response ${(performance.now() - cameAt).toFixed(0)} ms after all came`);
        const load = await underLoad(scene, { ...options, rate: Math.min(options.rate, 60) }, () =>
          sleep(Math.max(options.seconds, 22) * 1000),
        );
        const each = Math.max(0, memoryOf(pid()) - before) / SLOW;
        report.figure(`${(each / 1024).toFixed(0)} KiB each`);
        report.figure(`others p99 ${percentile(load.tookMs, 0.99)}`);
        report.expect(each < MOST_BYTES_EACH, `${(each / 1024).toFixed(0)} KiB each`);
        report.within(Number.parseFloat(percentile(load.tookMs, 0.99)), OTHERS_WITHIN, 'p99 of the others');
        for (const socket of sockets) socket.resume();
        const slowHeaders = sockets.filter((_, at) => at % KINDS.length === 0);
        const held = await settle(
          () => slowHeaders.filter((socket) => !socket.destroyed).length,
          (count) => count === 0,
          CLOSED_WITHIN,
        );
        report.expect(
          held === 0,
          `${held} of ${slowHeaders.length} connections with slow headers are still open`,
        );
        for (const socket of sockets) socket.destroy();
        await balance(scene, load, report);
      }),
  },
  {
    name: 'aborted',
    title: `${ABORTED_PER_SECOND} uploads a second that are reset half-way`,
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const { port, pid } = scene;
        const before = descriptorsOf(pid());
        let aborted = 0;
        const load = await underLoad(scene, options, async () => {
          const until = performance.now() + options.seconds * 1000;
          while (performance.now() < until) {
            const upload = beginUpload(port);
            setTimeout(() => {
              upload.destroy();
            }, Math.random() * 50);
            aborted++;
            await sleep(1000 / ABORTED_PER_SECOND);
          }
        });
        report.figure(`${aborted} uploads`);
        const files = await settle(
          () => uploadsIn(scene),
          (count) => count === 0,
          CLOSED_WITHIN,
        );
        report.expect(files === 0, `${files} files of uploads are left`);
        await balance(scene, load, report);
        const after = await settle(
          () => descriptorsOf(pid()),
          (count) => count <= before + 2,
          CLOSED_WITHIN,
        );
        report.figure(`descriptors ${before} → ${after}`);
        report.expect(after < before + 10, `descriptors ${before} → ${after}`);
        const [row] = await scene.query<{ count: number }>(
          "select count(*)::int from localhost.hindsight_profiles where url = '/upload' and status >= 500",
        );
        report.expect(row?.count === 0, `${row?.count} are recorded as 5xx`);
      }),
  },
];
