/** Ends of the process: SIGTERM, SIGKILL, a stop. */
import { setTimeout as sleep } from 'node:timers/promises';
import { missingOf, untilStored } from '../service/books.ts';
import { type Load, startLoad } from '../service/load.ts';
import { freeze } from '../service/machine.ts';
import type { RelayState } from '../service/relay.ts';
import { type Scene, untilReady } from '../service/scene.ts';
import { beginUpload, uploadsIn } from './clients.ts';
import { balance, type Fault, tokensOf, underLoad, withScene } from './drive.ts';

/** Milliseconds with a database that hangs (PROFILER_DRAIN_MS and a little). */
const HANGING_ENDS_WITHIN = 26_000;
/** Milliseconds before SIGKILL in which what was answered may be lost (docs/reliability.md). */
const KILL_MAY_COST = 300;
/** Milliseconds of load in a round. */
const [SHORTEST_LIFE, LONGEST_LIFE] = [400, 1600];

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
  await scene.service.ended('SIGKILL');
  await ended;
  scene.relay.set('pass');
  await scene.restart();
  await untilReady(scene.port);
  await untilStored(scene.port);
  const lost = await missingOf(scene, tokensOf(load), true);
  return { load, lost, oldestMs: oldestLost(load, lost, killedAt) };
}

function killed(name: string, title: string, state: RelayState): Fault {
  return {
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

export const endings: readonly Fault[] = [
  {
    name: 'sigterm-hanging',
    title: 'SIGTERM while the database hangs',
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const load = await underLoad(scene, options, async () => {
          scene.relay.set('stall');
          await sleep(options.seconds * 500);
        });
        const endsAt = performance.now();
        const code = await scene.service.ended('SIGTERM');
        const ms = performance.now() - endsAt;
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
    name: 'stopped',
    title: 'service stopped by SIGSTOP',
    drive: (options, report) =>
      withScene({}, async (scene) => {
        const load = await underLoad(scene, options, async () => {
          const thaw = freeze(scene.pid());
          await sleep(options.seconds * 1000);
          thaw();
        });
        await balance(scene, load, report);
      }),
  },
];
