/** Several processes on one database, and a clock that jumps. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rootFolder } from '../../bench/harness/folders.ts';
import { missingOf, untilStored } from '../service/books.ts';
import { untilReady } from '../service/scene.ts';
import { startLoad } from '../service/load.ts';
import { balance, type Fault, tokensOf, underLoad, withScene } from './drive.ts';

/** Milliseconds without a database after which records go to files, and some. */
const AWAY_MS = 2000;
/** Milliseconds after which a profile is seen by every process. */
const SEEN_WITHIN = 1000;
/** Milliseconds between two deletions of old profiles, at most; waited for in runs of so many seconds. */
const PURGED_WITHIN_MS = 45_000;
const LONG_RUN = 20;
const HOUR_MS = 3_600_000;
const SHIFTS = { '+1 h': HOUR_MS, '−1 h': -HOUR_MS, '+25 h': 25 * HOUR_MS, '+20 years': 20 * 365 * 24 * HOUR_MS, 'to 1966': -60 * 365 * 24 * HOUR_MS }; // prettier-ignore

/** Milliseconds until a profile opens at a port. */
async function opensAfter(port: number, token: string): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/_profiler/${token}.json`);
    await response.text();
    const ms = performance.now() - startedAt;
    if (response.status === 200 || ms > 10 * SEEN_WITHIN) return ms;
    await sleep(20);
  }
}

export const several: readonly Fault[] = [
  {
    name: 'several',
    title: 'four processes that start at once on one database',
    drive: ({ seconds, rate }, report) =>
      withScene({ state: 'refuse' }, async (scene) => {
        scene.relay.set('pass');
        const ports = [scene.port, ...(await Promise.all([1, 2, 3].map(() => scene.startAnother())))];
        const load = startLoad({ ports, rate });
        let slowest = 0;
        const until = performance.now() + seconds * 1000;
        for (let at = 0; performance.now() < until; at++) {
          const response = await fetch(`http://127.0.0.1:${ports[at % 4]}/`);
          await response.text();
          const token = response.headers.get('x-debug-token') ?? '';
          slowest = Math.max(slowest, await opensAfter(ports[(at + 1) % 4] ?? 0, token));
        }
        await load.end();
        report.figure(`seen by another process after ${slowest.toFixed(0)} ms at most`);
        report.within(slowest, SEEN_WITHIN, 'seeing a profile');
        for (const port of ports) await untilStored(port);
        report.load(load);
        const tokens = tokensOf(load);
        report.missing(await missingOf(scene, tokens));
        report.expect(new Set(tokens).size === tokens.length, 'a token was given twice');
      }),
  },
  {
    name: 'clock',
    title: `clock jumps ${Object.keys(SHIFTS).join(', ')}`,
    drive: async (options, report) => {
      const file = join(tmpdir(), `clock-${process.pid}`);
      writeFileSync(file, '0');
      const preloads = [join(rootFolder, 'stress', 'faults', 'clock.mjs')];
      const env = { CLOCK_FILE: file, PROFILER_RETENTION_HOURS: '24' };
      await withScene({ env, preloads }, async (scene) => {
        const load = await underLoad(scene, options, async () => {
          for (const [name, shift] of Object.entries(SHIFTS)) {
            await sleep((options.seconds * 1000) / 5);
            writeFileSync(file, String(shift));
            // In a long run old profiles are deleted once meanwhile.
            if (name === '+20 years' && options.seconds >= LONG_RUN) await sleep(PURGED_WITHIN_MS);
          }
          // Records wait in files meanwhile, whose names say when they were made.
          scene.relay.set('refuse');
          await sleep(Math.max(AWAY_MS, (options.seconds * 1000) / 5));
          scene.relay.set('pass');
          await untilReady(scene.port);
          const page = await fetch(`http://127.0.0.1:${scene.port}/_profiler/`);
          await page.text();
          report.expect(page.status === 200, `the list has the status ${page.status}`);
        });
        await balance(scene, load, report);
        const [row] = await scene.query<{ count: number }>(
          'select count(*)::int from localhost.hindsight_profiles where duration_ms < 0',
        );
        report.expect(row?.count === 0, `${row?.count} durations are negative`);
      });
    },
  },
];
