/** Too much to do, and too little room to do it in. */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuOf, memoryOf } from '../../bench/harness/cpu.ts';
import { balance, type Fault, underLoad, warmUp, withScene } from './drive.ts';
import { uploadsIn } from './clients.ts';
import { settle, uncounted, untilStored } from '../service/books.ts';
import { flood } from '../service/load.ts';
import { descriptorsOf, limitDescriptors, limitFileSize, withSmallDisk } from '../service/machine.ts';

const MEBIBYTE = 1024 * 1024;
const CONNECTIONS = 300;
const MOST_MEMORY = 350 * MEBIBYTE;
/** The share by which memory may be above that of before, and the seconds until then. */
const [COMES_BACK_TO, COMES_BACK_WITHIN] = [1.15, 60];

const inMebibytes = (bytes: number): string => `${Math.round(bytes / MEBIBYTE)} MiB`;

interface Uploaded {
  status: number;
  token: string | null;
}

async function upload(port: number, bytes: number): Promise<Uploaded> {
  const form = new FormData();
  form.set('file', new Blob([Buffer.alloc(bytes, 'x')]), 'file.bin');
  const response = await fetch(`http://127.0.0.1:${port}/upload`, {
    method: 'POST',
    headers: { connection: 'close' },
    body: form,
  });
  await response.arrayBuffer();
  return { status: response.status, token: response.headers.get('x-debug-token') };
}

export const limits: readonly Fault[] = [
  {
    name: 'overload',
    title: `${CONNECTIONS} connections that ask for what is not there`,
    drive: (options, report) =>
      withScene({}, async ({ pid, port }) => {
        const statuses = new Map<number, number>();
        await warmUp(port);
        const ask = (connections: number, seconds: number): Promise<void> => {
          const until = performance.now() + seconds * 1000;
          return flood({
            port,
            connections,
            next: () => (performance.now() < until ? '/nowhere' : null),
            answered: ({ status }) => void statuses.set(status, (statuses.get(status) ?? 0) + 1),
          });
        };
        const before = memoryOf(pid());
        let most = before;
        const look = setInterval(() => (most = Math.max(most, memoryOf(pid()))), 100);
        await ask(CONNECTIONS, Math.max(options.seconds, 10));
        clearInterval(look);
        const { health } = await untilStored(port);
        const after = await settle(
          () => memoryOf(pid()),
          (bytes) => bytes < before * COMES_BACK_TO,
          COMES_BACK_WITHIN,
        );
        report.figure(
          `RSS ${inMebibytes(before)}, at most ${inMebibytes(most)}, afterwards ${inMebibytes(after)}`,
        );
        report.figure([...statuses].map(([status, times]) => `${times} × ${status}`).join(', '));
        report.expect(most < MOST_MEMORY, `RSS ${inMebibytes(most)}`);
        report.expect(after < before * COMES_BACK_TO, `RSS stays at ${inMebibytes(after)}`);
        report.expect(
          [...statuses.keys()].every((status) => status === 404 || status === 503),
          'other statuses than 404 and 503',
        );
        report.expect(uncounted(health.application) === 0, 'the ledger does not add up');
      }),
  },
  {
    name: 'uploads-full',
    title: 'no room for uploads',
    needsRoot: true,
    drive: (_options, report) =>
      withScene({}, async ({ varDir, port, pid }) => {
        await withSmallDisk({ mebibytes: 8, folder: join(varDir, 'tmp') }, async () => {
          const descriptors = descriptorsOf(pid());
          const large = await upload(port, 12 * MEBIBYTE);
          report.figure(`12 MiB into 8: status ${large.status}`);
          report.expect(
            large.status >= 400 && large.token !== null,
            `status ${large.status}, token ${large.token}`,
          );
          const many = await Promise.all(Array.from({ length: 8 }, () => upload(port, 3 * MEBIBYTE)));
          report.figure(`8 × 3 MiB at once: ${many.map(({ status }) => status).join(' ')}`);
          report.expect(
            many.every(({ status, token }) => (status === 200 || status >= 400) && token !== null),
            'one has no token',
          );
          const left = await settle(
            () => uploadsIn({ varDir }),
            (count) => count === 0,
            5,
          );
          report.expect(left === 0, `${left} files of uploads are left`);
          limitFileSize(pid(), 2 * MEBIBYTE);
          const limited = await upload(port, 3 * MEBIBYTE);
          report.figure(`beyond the limit on files: status ${limited.status}`);
          report.expect(
            limited.status >= 400 && limited.token !== null,
            `limit on files: status ${limited.status}`,
          );
          limitFileSize(pid(), 'unlimited');
          const next = await upload(port, MEBIBYTE);
          report.expect(next.status === 200, `the next upload: status ${next.status}`);
          const after = await settle(
            () => descriptorsOf(pid()),
            (count) => count <= descriptors + 2,
            10,
          );
          report.expect(after <= descriptors + 2, `descriptors ${descriptors} → ${after}`);
        });
      }),
  },
  {
    name: 'descriptors',
    title: '64 descriptors, 150 connections',
    needsRoot: true,
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const { pid, port } = scene;
        const before = descriptorsOf(pid());
        limitDescriptors(pid(), 64);
        const sockets: Socket[] = Array.from({ length: 150 }, () =>
          connect(port, '127.0.0.1').on('error', () => undefined),
        );
        await sleep(500);
        const cpu = cpuOf(pid()).main;
        await sleep(options.seconds * 1000);
        const busy = (cpuOf(pid()).main - cpu) / (options.seconds * 1e6);
        report.figure(
          `${descriptorsOf(pid())} descriptors, main thread busy for ${(busy * 100).toFixed(1)} %`,
        );
        report.expect(busy < 0.2, `the main thread is busy for ${(busy * 100).toFixed(0)} %`);
        for (const socket of sockets) socket.destroy();
        const after = await settle(
          () => descriptorsOf(pid()),
          (count) => count <= before + 2,
          10,
        );
        report.expect(after <= before + 2, `descriptors ${before} → ${after}`);
        const load = await underLoad(scene, options, () => sleep(1000));
        await balance(scene, load, report);
      }),
  },
];
