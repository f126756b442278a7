/**
 * Pruning the oldest tenth of a filled store, as the housekeeper of a running service does: the store was counted in a
 * round before, and an application records into it meanwhile under an open loop of requests.
 *
 * PostgreSQL shares its core with the load generator, so that whatever it computes makes answers look late; the control
 * has it compute something of no account for about as long.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProfileStorage } from '../../app/index.ts';
import type { Bench } from './bench.ts';
import type { Figure } from './figure.ts';
import { DAY_MS, type FilledStore } from './filled-store.ts';
import { openLoop } from './load.ts';
import { tokenOf } from './sample-profiles.ts';
import { quantile } from './statistics.ts';

const PER_SECOND = 200;
const LOAD_MS = 3000;
const SETTLE_MS = 1000;
const BUSY_SQL = 'select sum(sqrt(n)) from generate_series(1, 700000) n';

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const startedAt = performance.now();
  const result = await work();
  return { ms: performance.now() - startedAt, result };
}

/** Reads the newest profiles again and again until `done`; returns the longest wait in milliseconds. */
async function longestRead(storage: ProfileStorage, done: Promise<unknown>): Promise<number> {
  let longest = 0;
  let goesOn = true;
  void done.finally(() => (goesOn = false));
  for (let number = 0; goesOn; number++) {
    longest = Math.max(longest, (await timed(() => storage.read(tokenOf(number % 1000)))).ms);
    await sleep(5);
  }
  return longest;
}

/** Requests for three seconds with `work` in the middle of them. */
async function underLoad<T>(port: number, work: () => Promise<T>) {
  const load = openLoop({ port, path: '/' }, { perSecond: PER_SECOND, ms: LOAD_MS });
  await sleep(SETTLE_MS);
  const { ms, result } = await timed(work);
  const { latencies, errors } = await load;
  return { ms, result, errors, p99: quantile(latencies, 0.99), longest: Math.max(...latencies) };
}

export async function pruneStore(bench: Bench, store: FilledStore): Promise<Figure[]> {
  const { storage, knex, connection, schema, profiles, newest } = store;
  const purge = (ages: number, keepExceptions: boolean): Promise<number> =>
    storage.purge({
      olderThan: newest - ages * DAY_MS,
      count: 2 * profiles,
      bytes: Number.MAX_SAFE_INTEGER,
      profilerCount: 200,
      ...(keepExceptions ? { keepExceptions: { olderThan: 0, count: 2000 } } : {}),
    });
  const first = await timed(() => purge(2, false));
  const server = await bench.serve('hindsight', { profiles: { connection, schema } });
  try {
    await underLoad(server.port, () => sleep(SETTLE_MS));
    const control = await underLoad(server.port, () => knex.raw(BUSY_SQL));
    const pruned = await underLoad(server.port, async () => {
      const purging = timed(() => purge(0.9, false));
      return { read: await longestRead(storage, purging), ...(await purging) };
    });
    const exceptions = await timed(() => purge(0.8, true));
    const meanwhile = (what: string, value: number, unit = 'ms'): Figure => ({
      goal: null,
      what: `  ${what}`,
      value,
      unit,
    });
    return [
      {
        goal: 10,
        what: `pruning ${pruned.result.result} of ${profiles}`,
        value: pruned.result.ms,
        unit: 'ms',
        must: 600,
        aim: 50,
      },
      meanwhile('requests that failed meanwhile', pruned.errors, ''),
      meanwhile('p99 of requests, pruning', pruned.p99),
      meanwhile(`p99 of requests, control (${Math.round(control.ms)} ms)`, control.p99),
      meanwhile('longest request, pruning', pruned.longest),
      meanwhile('longest request, control', control.longest),
      meanwhile('longest read of a profile meanwhile', pruned.result.read),
      meanwhile(`pruning ${exceptions.result} more, failed and slowest kept`, exceptions.ms),
      meanwhile('the first round', first.ms),
    ];
  } finally {
    await server.stop();
  }
}
