/** Ends of the process: SIGTERM, SIGKILL, a stop, errors that nobody catches. */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilReady } from '../ledger/service.ts';
import { missingOf, untilStored } from './books.ts';
import { balance, type Fault, underLoad, withScene } from './drive.ts';
import { type Load, percentile, startLoad } from './load.ts';
import { freeze } from './machine.ts';
import type { RelayState } from './relay.ts';
import type { Scene } from './scene.ts';

/** Milliseconds that an end by SIGTERM may take with a database that is well. */
const ENDS_WITHIN = 5000;
/** Milliseconds with a database that hangs (PROFILER_DRAIN_MS and a little). */
const HANGING_ENDS_WITHIN = 26_000;
/** Milliseconds before SIGKILL in which what was answered may be lost (docs/reliability.md). */
const KILL_MAY_COST = 300;
/** Milliseconds of load in a round. */
const [SHORTEST_LIFE, LONGEST_LIFE] = [400, 1600];

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

function lifeMs(): number {
  return SHORTEST_LIFE + Math.random() * (LONGEST_LIFE - SHORTEST_LIFE);
}

/** Milliseconds between the oldest lost response and the kill; 0 if none is lost. */
function oldestLost(load: Load, lost: readonly string[], killedAt: number): number {
  const gone = new Set(lost);
  return Math.max(0, ...load.given.filter(({ token }) => gone.has(token)).map(({ at }) => killedAt - at));
}

/** SIGKILL under load, with an upload half-way. The next start stores what was left. */
async function kill(
  scene: Scene,
  rate: number,
  state: RelayState,
): Promise<{ load: Load; lost: string[]; oldestMs: number }> {
  const load = startLoad({ ports: [scene.port], rate });
  beginUpload(scene.port);
  await sleep(lifeMs() / 2);
  scene.relay.set(state);
  await sleep(lifeMs() / 2);
  const ended = load.end();
  const killedAt = performance.now();
  await scene.service.kill();
  await ended;
  scene.relay.set('pass');
  await scene.restart();
  await untilReady(scene.port, 1);
  await untilStored(scene.port);
  const lost = await missingOf(scene, load, true);
  return { load, lost, oldestMs: oldestLost(load, lost, killedAt) };
}

function killed(name: string, title: string, state: RelayState): Fault {
  return {
    number: 'D-12',
    name,
    title,
    drive: ({ rate, rounds }, report) =>
      withScene({}, async (scene) => {
        const oldest: number[] = [];
        let lossless = 0;
        let uploads = 0;
        for (let round = 0; round < rounds; round++) {
          const { load, lost, oldestMs } = await kill(scene, rate, state);
          report.load(load, true);
          report.missing(lost, true);
          oldest.push(oldestMs);
          if (lost.length === 0) lossless++;
          uploads += uploadsIn(scene);
        }
        const longest = Math.max(...oldest);
        report.figure(
          `${rounds} rounds, ${lossless} without a loss, oldest lost ${longest.toFixed(0)} ms before`,
        );
        report.within(longest, KILL_MAY_COST, 'storing what was lost');
        report.expect(uploads === 0, `${uploads} files of uploads are left`);
      }),
  };
}

const KINDS = ['error', 'text', 'nothing', 'symbol', 'frozen', 'long', 'cyclic', 'unreadable', 'revoked'];

export const endings: readonly Fault[] = [
  {
    number: 'D-10',
    name: 'sigterm',
    title: 'SIGTERM under load',
    drive: ({ rate, rounds }, report) =>
      withScene({}, async (scene) => {
        const took: number[] = [];
        for (let round = 0; round < rounds; round++) {
          const { service } = scene;
          const load = startLoad({ ports: [scene.port], rate });
          await sleep(lifeMs());
          const endsAt = performance.now();
          const ends = service.end();
          // A second signal changes nothing.
          setTimeout(() => {
            if (!service.isOver()) process.kill(service.pid, 'SIGTERM');
          }, 20);
          await sleep(10);
          await load.end();
          const { code, ms } = await ends;
          took.push(ms);
          const cut = load.failures.filter(({ sentAt }) => sentAt < endsAt);
          report.load(load, true);
          report.expect(
            cut.length === 0,
            `${cut.length} requests sent before the signal failed: ${cut[0]?.why ?? ''}`,
          );
          report.missing(await missingOf(scene, load));
          report.expect(code === 0, `exit code ${code}`);
          report.within(ms, ENDS_WITHIN, 'the end');
          await scene.restart();
          await untilReady(scene.port, 1);
        }
        report.figure(
          `${rounds} rounds, end after p50 ${percentile(took, 0.5)}, at most ${percentile(took, 1)}`,
        );
      }),
  },
  {
    number: 'D-11',
    name: 'sigterm-hanging',
    title: 'SIGTERM while the database hangs',
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const load = await underLoad(scene, options, async () => {
          scene.relay.set('stall');
          await sleep(options.seconds * 500);
        });
        const { code, ms } = await scene.service.end();
        report.expect(code === 0, `exit code ${code}`);
        report.within(ms, HANGING_ENDS_WITHIN, 'the end');
        report.figure(`end after ${(ms / 1000).toFixed(1)} s`);
        const left = /left for the next start: (\d+)/.exec(scene.service.said())?.[1] ?? '0';
        report.figure(`${left} left for the next start`);
        scene.relay.set('pass');
        await scene.restart();
        await balance(scene, load, report);
      }),
  },
  killed('sigkill', 'SIGKILL under load and uploads', 'pass'),
  killed('sigkill-away', 'SIGKILL while the database is away', 'refuse'),
  {
    number: 'D-13',
    name: 'blocked',
    title: 'event loop blocked for 2 s',
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const load = await underLoad(scene, options, async () => {
          const response = await fetch(`http://127.0.0.1:${scene.port}/block/2000`);
          const token = response.headers.get('x-debug-token') ?? '';
          await response.text();
          await untilStored(scene.port);
          const profile = await (
            await fetch(`http://127.0.0.1:${scene.port}/_profiler/${token}.json`)
          ).text();
          report.expect(
            profile.includes('event-loop-blocked'),
            'the profile does not say that the event loop was blocked',
          );
        });
        await balance(scene, load, report);
      }),
  },
  {
    number: 'D-13',
    name: 'stopped',
    title: 'service stopped by SIGSTOP',
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const load = await underLoad(scene, options, async () => {
          const thaw = freeze(scene.service.pid);
          await sleep(options.seconds * 1000);
          thaw();
        });
        await balance(scene, load, report);
      }),
  },
  {
    number: 'D-14',
    name: 'thrown',
    title: `${KINDS.length} kinds thrown in a handler`,
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const load = await underLoad(scene, options, async () => {
          for (const kind of KINDS) {
            const response = await fetch(`http://127.0.0.1:${scene.port}/throw/${kind}`);
            await response.text();
            const token = response.headers.get('x-debug-token');
            report.expect(response.status === 500, `${kind}: status ${response.status}`);
            await untilStored(scene.port);
            const profile = await fetch(`http://127.0.0.1:${scene.port}/_profiler/${token}`);
            await profile.text();
            report.expect(profile.status === 200, `${kind}: its profile has the status ${profile.status}`);
          }
        });
        await balance(scene, load, report);
      }),
  },
  {
    number: 'D-14',
    name: 'uncaught',
    title: `${KINDS.length} kinds thrown where nobody catches`,
    drive: ({ rate }, report) =>
      withScene({}, async (scene) => {
        const took: number[] = [];
        for (const kind of KINDS) {
          for (const path of ['throw-later', 'reject']) {
            const load = startLoad({ ports: [scene.port], rate });
            await sleep(300);
            const thrownAt = performance.now();
            void fetch(`http://127.0.0.1:${scene.port}/${path}/${kind}`).catch(() => undefined);
            while (!scene.service.isOver() && performance.now() - thrownAt < 10_000) await sleep(10);
            const ms = performance.now() - thrownAt;
            took.push(ms);
            await load.end();
            const { code } = await scene.service.end();
            report.expect(code === 1, `${path} ${kind}: exit code ${code}`);
            report.within(ms, ENDS_WITHIN, `${path} ${kind}`);
            await scene.restart();
            await untilReady(scene.port, 1);
            await untilStored(scene.port);
            report.load(load, true);
            report.missing(await missingOf(scene, load));
            const [thrower] = await scene.query<{ token: string }>(
              'select token from localhost.hindsight_profiles where url = $1',
              [`/${path}/${kind}`],
            );
            report.expect(thrower !== undefined, `${path} ${kind}: the request has no profile`);
          }
        }
        report.figure(`exit 1 after ${percentile(took, 1)} at most`);
      }),
  },
];
