/** Clients that are slow, leave, lie or guess. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exchange } from '../../test/support/raw-http.ts';
import { memoryOf } from '../../bench/harness/cpu.ts';
import { statusOf } from '../../bench/harness/process.ts';
import { missingOf, untilStored } from './books.ts';
import { balance, type Fault, underLoad, withScene } from './drive.ts';
import { beginUpload, uploadsIn } from './endings.ts';
import { percentile, startLoad } from './load.ts';
import { settle, warmUp } from './limits.ts';
import { descriptorsOf } from './machine.ts';

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

/** Header fields of a proxy, and the client's address and the origin of links that must come of them. */
const OWN_ORIGIN = 'http://127.0.0.1';
const PROXIES: readonly { fields: readonly string[]; address: string; origin?: string }[] = [
  { fields: [], address: '127.0.0.1', origin: OWN_ORIGIN },
  { fields: ['X-Forwarded-For: 203.0.113.7'], address: '203.0.113.7' },
  { fields: ['X-Forwarded-For: 203.0.113.7', 'X-Forwarded-For: 198.51.100.9'], address: '198.51.100.9' },
  {
    fields: [`X-Forwarded-For: ${Array.from({ length: 50 }, (_, at) => `203.0.113.${at}`).join(', ')}`],
    address: '203.0.113.49',
  },
  { fields: ['X-Forwarded-For: 203.0.113.7, 10.0.0.3'], address: '203.0.113.7' },
  { fields: ['X-Forwarded-For: "><script>'], address: '127.0.0.1' },
  {
    fields: ['X-Forwarded-Proto: https', 'X-Forwarded-Host: shop.example'],
    address: '127.0.0.1',
    origin: 'https://shop.example',
  },
  {
    fields: ['X-Forwarded-Proto: javascript', 'X-Forwarded-Host: a b"<'],
    address: '127.0.0.1',
    origin: '',
  },
];

export const clients: readonly Fault[] = [
  {
    number: 'D-22',
    name: 'slow-clients',
    title: `${SLOW} slow clients: headers, bodies, reading`,
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const { port, service } = scene;
        await warmUp(port);
        const before = memoryOf(service.pid);
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
        const each = Math.max(0, memoryOf(service.pid) - before) / SLOW;
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
    number: 'D-23',
    name: 'aborted',
    title: `${ABORTED_PER_SECOND} uploads a second that are reset half-way`,
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const { port, service } = scene;
        const before = descriptorsOf(service.pid);
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
          () => descriptorsOf(service.pid),
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
  {
    number: 'D-24',
    name: 'proxies',
    title: `${PROXIES.length} kinds of proxies that misbehave`,
    drive: (_options, report) =>
      withScene({}, async ({ port, query }) => {
        for (const { fields, address, origin } of PROXIES) {
          const lines = ['GET / HTTP/1.1', 'Host: 127.0.0.1', ...fields, '', ''];
          const { responses } = await exchange(port, [lines.join('\r\n')], { count: 1 });
          const token = responses[0]?.headers['x-debug-token'] ?? '';
          const link = responses[0]?.headers['x-debug-token-link'] ?? '';
          await untilStored(port);
          const [row] = await query<{ client_address: string }>(
            'select client_address from localhost.hindsight_profiles where token = $1',
            [token],
          );
          const name = JSON.stringify(fields).slice(0, 60);
          report.expect(row?.client_address === address, `${name}: address ${row?.client_address}`);
          // A host that can't be one makes the link relative.
          const isLink = (URL.canParse(link) || origin === '') && link.endsWith(token);
          report.expect(isLink, `${name}: link ${link}`);
          if (origin !== undefined) report.expect(link.startsWith(`${origin}/`), `${name}: link ${link}`);
        }
      }),
  },
  {
    number: 'D-25',
    name: 'guesses',
    title: 'tokens are guessed as fast as they can be',
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const real = await underLoad(scene, options, () => sleep(1000));
        await untilStored(scene.port);
        let guesses = 0;
        const until = performance.now() + options.seconds * 1000;
        const load = startLoad({ ports: [scene.port], rate: options.rate });
        await Promise.all(
          Array.from({ length: 8 }, async () => {
            while (performance.now() < until) {
              const response = await fetch(
                `http://127.0.0.1:${scene.port}/_profiler/${randomBytes(3).toString('hex')}`,
              );
              await response.arrayBuffer();
              guesses++;
              if (response.status !== 404 && response.status !== 200 && response.status !== 503)
                report.expect(false, `status ${response.status}`);
            }
          }),
        );
        await load.end();
        report.figure(`${Math.round(guesses / options.seconds)} guesses a second`);
        await balance(scene, load, report);
        report.missing(await missingOf(scene, real));
      }),
  },
];
