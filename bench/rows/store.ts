/**
 * A large store: every kind of search through the storage's contract, then pruning its oldest tenth while it is read.
 *
 * A search is the page a person waits for: rows and the number of all that match. One that is cut off must say so.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProfileQuery, ProfileStorage } from '../../app/index.ts';
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { fillStore, type FilledStore } from '../harness/filled-store.ts';
import type { Row } from '../harness/row.ts';
import { tokenOf } from '../harness/sample-profiles.ts';
import { spreadOf, type Spread } from '../harness/statistics.ts';

const ROUNDS = 11;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type Search = [what: string, query: Partial<ProfileQuery>];

/** Those of goal 8, which an index can answer. */
function plainSearches({ newest }: FilledStore): Search[] {
  return [
    ['newest', {}],
    ['token', { token: tokenOf(4711) }],
    ['ip', { clientAddress: '10.0.3.77' }],
    ['status 500', { status: 500 }],
    ['status 4xx', { status: { class: 4 } }],
    ['recent hour', { from: newest - HOUR_MS }],
    ['url part, common', { url: 'orders' }],
    ['url part, rare', { url: '/orders/123?' }],
    ['url part, absent', { url: 'xyzzy' }],
    ['slower than', { overMs: 1000 }],
  ];
}

function combinedSearches({ newest }: FilledStore): Search[] {
  return [
    ['url part of 2 characters', { url: '77' }],
    ['method, status, url, no match', { method: 'POST', status: 404, url: 'xyzzy' }],
    ['oldest hour, sorted by duration', { until: newest - 23 * HOUR_MS, sort: 'durationMs' }],
    ['sorted by url', { sort: 'url', descending: false }],
    ['failed, not by one process, slow', { hasError: true, process: 'web.1', overMs: 100 }],
    ['the last page', { offset: 9900 }],
  ];
}

async function timeSearch(
  storage: ProfileStorage,
  query: Partial<ProfileQuery>,
): Promise<{ spread: Spread; cutOff: string | null }> {
  const times: number[] = [];
  let cutOff: string | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    try {
      await storage.find({ limit: 25, offset: 0, ...query });
    } catch (error) {
      cutOff = error instanceof Error ? error.message : String(error);
    }
    times.push(performance.now() - startedAt);
  }
  return { spread: spreadOf(times), cutOff };
}

async function search(bench: Bench, store: FilledStore, goal: number, searches: Search[], limits: object) {
  const figures: Figure[] = [];
  for (const [what, query] of searches) {
    const { spread, cutOff } = await timeSearch(store.storage, query);
    if (cutOff !== null) bench.log(`  ${what} was cut off: ${cutOff}`);
    const label = `search among ${store.profiles}: ${what}${cutOff === null ? '' : ' (cut off)'}`;
    figures.push({ goal, what: label, value: spread.median, unit: 'ms', spread, ...limits });
  }
  return figures;
}

/** Reads the newest profiles again and again until `done`; returns the longest wait in milliseconds. */
async function longestRead(storage: ProfileStorage, done: Promise<unknown>): Promise<number> {
  let longest = 0;
  let goesOn = true;
  void done.finally(() => (goesOn = false));
  for (let number = 0; goesOn; number++) {
    const startedAt = performance.now();
    await storage.read(tokenOf(number % 1000));
    longest = Math.max(longest, performance.now() - startedAt);
    await sleep(5);
  }
  return longest;
}

async function prune({ storage, profiles, newest }: FilledStore): Promise<Figure[]> {
  const startedAt = performance.now();
  const purging = storage.purge({
    olderThan: newest - 0.9 * DAY_MS,
    count: profiles,
    bytes: Number.MAX_SAFE_INTEGER,
    profilerCount: 200,
  });
  const [gone, longest] = await Promise.all([purging, longestRead(storage, purging)]);
  const ms = performance.now() - startedAt;
  return [
    { goal: 10, what: `pruning ${gone} of ${profiles}`, value: ms, unit: 'ms', must: 600, aim: 50 },
    { goal: null, what: '  longest read of a profile meanwhile', value: longest, unit: 'ms' },
  ];
}

export const store: Row = {
  name: 'store',
  what: 'searching and pruning a large store',
  async run(bench) {
    const filled = await fillStore(bench);
    try {
      return [
        ...(await search(bench, filled, 8, plainSearches(filled), { must: 10 })),
        ...(await search(bench, filled, 9, combinedSearches(filled), { must: 1000, aim: 150 })),
        ...(await prune(filled)),
      ];
    } finally {
      await filled.storage.close();
      await filled.knex.raw('drop schema ?? cascade', [filled.schema]);
      await filled.knex.destroy();
    }
  },
};
