/**
 * A large store: every kind of search through the storage's contract, beside the least SQL that gives the same rows, then
 * pruning its oldest tenth under requests.
 *
 * A search is the page a person waits for: rows and the number of all that match. One that is cut off must say so. Adding
 * up by route looks at the newest 50 000 requests at most.
 */
import type { ProfileQuery, ProfileStorage, SummaryQuery } from '../../app/index.ts';
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { fillStore, type FilledStore } from '../harness/filled-store.ts';
import { pruneStore } from '../harness/prune-store.ts';
import type { Row } from '../harness/row.ts';
import { tokenOf } from '../harness/sample-profiles.ts';
import { spreadOf, type Spread } from '../harness/statistics.ts';

const ROUNDS = 15;
const HOUR_MS = 3_600_000;
const PAGE = 25;

interface Search {
  what: string;
  query: Partial<ProfileQuery>;
  /** The condition as raw SQL. */
  sql?: string;
}

/** Those of goal 8, which an index can answer. */
function plainSearches({ newest }: FilledStore): Search[] {
  const hourAgo = newest - HOUR_MS;
  return [
    { what: 'newest', query: {}, sql: 'true' },
    { what: 'token', query: { token: tokenOf(4711) }, sql: `token = '${tokenOf(4711)}'` },
    { what: 'ip', query: { clientAddress: '10.0.3.77' }, sql: `client_address = '10.0.3.77'` },
    { what: 'status 500', query: { status: 500 }, sql: 'status = 500' },
    { what: 'status 4xx', query: { status: { class: 4 } }, sql: 'status >= 400 and status < 500' },
    { what: 'recent hour', query: { from: hourAgo }, sql: `started_at >= ${hourAgo}` },
    { what: 'url part, common', query: { url: 'orders' }, sql: `url ilike '%orders%'` },
    { what: 'url part, 3 digits', query: { url: '777' }, sql: `url like '%777%'` },
    { what: 'url part, rare', query: { url: '/orders/123?' }, sql: `url ilike '%/orders/123?%'` },
    { what: 'url part, absent', query: { url: 'xyzzy' }, sql: `url ilike '%xyzzy%'` },
    { what: 'route', query: { route: '/shop/orders/:id' }, sql: `route = '/shop/orders/:id'` },
    { what: 'route, absent', query: { route: '/none' }, sql: `route = '/none'` },
    { what: 'slower than', query: { overMs: 1000 }, sql: 'duration_ms > 1000' },
  ];
}

function combinedSearches({ newest, profiles }: FilledStore): Search[] {
  return [
    { what: 'url part of 2 characters', query: { url: '77' } },
    { what: 'url part of 2 characters, absent', query: { url: 'zz' } },
    { what: 'method, status, url, no match', query: { method: 'POST', status: 404, url: 'xyzzy' } },
    { what: 'a method that nothing has', query: { method: 'PATCH' } },
    {
      what: 'oldest hour, sorted by duration',
      query: { until: newest - 23 * HOUR_MS, sort: 'durationMs' },
    },
    { what: 'sorted by duration', query: { sort: 'durationMs' } },
    { what: 'sorted by status', query: { sort: 'status' } },
    { what: 'sorted by url', query: { sort: 'url', descending: false } },
    { what: 'failed, not by one process, slow', query: { hasError: true, process: 'web.1', overMs: 100 } },
    { what: 'page 400', query: { offset: 399 * PAGE } },
    { what: 'the last page', query: { offset: profiles - PAGE } },
  ];
}

interface Timed {
  search: Spread;
  raw: Spread | null;
  cutOff: string | null;
}

async function findOnce(storage: ProfileStorage, query: Partial<ProfileQuery>): Promise<string | null> {
  try {
    await storage.find({ limit: PAGE, offset: 0, ...query });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const COLUMNS =
  'token, kind, state, parent, child, method, url, origin, status, route, client_address, started_at, duration_ms, ' +
  'process, error, queries, findings, mark, bytes';

/** In turns, so that both see the same machine. */
async function timeSearch({ storage, knex, schema }: FilledStore, { query, sql }: Search): Promise<Timed> {
  const [times, rawTimes]: [number[], number[]] = [[], []];
  let cutOff: string | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    cutOff = (await findOnce(storage, query)) ?? cutOff;
    const foundAt = performance.now();
    times.push(foundAt - startedAt);
    if (sql === undefined) continue;
    await knex.raw(
      `select ${COLUMNS} from ${schema}.hindsight_profiles where kind = 'request' and ${sql.replaceAll('?', '\\?')}
       order by started_at desc, token limit ${PAGE}`,
    );
    rawTimes.push(performance.now() - foundAt);
  }
  return { search: spreadOf(times), raw: rawTimes.length === 0 ? null : spreadOf(rawTimes), cutOff };
}

async function search(bench: Bench, store: FilledStore, goal: number, searches: Search[], limits: object) {
  const figures: Figure[] = [];
  for (const one of searches) {
    const { search: spread, raw, cutOff } = await timeSearch(store, one);
    if (cutOff !== null) bench.log(`  ${one.what} was cut off: ${cutOff}`);
    const label = `search among ${store.profiles}: ${one.what}${cutOff === null ? '' : ' (cut off)'}`;
    figures.push({ goal, what: label, value: spread.median, unit: 'ms', spread, ...limits });
    if (raw === null) continue;
    const what = `  ${one.what}, of raw SQL (${raw.median.toFixed(2)} ms)`;
    figures.push({ goal, what, value: spread.median / raw.median, unit: 'x', aim: 3 });
  }
  return figures;
}

/** The page of routes, over times with less and with more requests than are looked at. */
async function addUp({ storage, newest, profiles }: FilledStore): Promise<Figure[]> {
  const times: [what: string, query: Partial<SummaryQuery>][] = [
    ['15 minutes', { from: newest - HOUR_MS / 4 }],
    ['an hour', { from: newest - HOUR_MS }],
    ['all kept', { from: 0 }],
    [
      'one route, all kept',
      { from: 0, most: 20_000, group: { route: '/shop/orders/:id', method: 'GET', status: null } },
    ],
  ];
  const figures: Figure[] = [];
  for (const [what, query] of times) {
    const taken: number[] = [];
    let looked = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const startedAt = performance.now();
      ({ looked } = await storage.summarize({ from: 0, until: newest + 1, ...query }));
      taken.push(performance.now() - startedAt);
    }
    const spread = spreadOf(taken);
    const label = `routes among ${profiles}: ${what} (${looked} requests)`;
    figures.push({ goal: null, what: label, value: spread.median, unit: 'ms', spread, must: 1000 });
  }
  return figures;
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
        ...(await addUp(filled)),
        ...(await pruneStore(bench, filled)),
      ];
    } finally {
      await filled.storage.close();
      await filled.knex.raw('drop schema ?? cascade', [filled.schema]);
      await filled.knex.destroy();
    }
  },
};
