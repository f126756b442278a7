/** A large store, in files and in PostgreSQL: reading its rows for the first time, then every kind of search, a text, and all rows. */
import type { FindText, ProfileQuery } from '../../app/index.ts';
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { fillFiles, fillPostgres, type FilledStore } from '../harness/filled-store.ts';
import type { Row } from '../harness/row.ts';
import { tokenOf } from '../harness/sample-profiles.ts';
import { spreadOf } from '../harness/statistics.ts';

const ROUNDS = 15;
const HOUR_MS = 3_600_000;
const PAGE = 25;

function searches({ newest, profiles }: FilledStore): [what: string, query: Partial<ProfileQuery>][] {
  return [
    ['newest', {}],
    ['token', { token: tokenOf(4711) }],
    ['status 4xx', { status: [{ from: 400, to: 499 }] }],
    ['recent hour', { from: newest - HOUR_MS }],
    ['url part, absent', { url: 'xyzzy' }],
    ['route', { route: '/shop/orders/:id' }],
    ['sorted by duration', { sort: 'durationMs' }],
    ['the last page', { offset: profiles - PAGE }],
  ];
}

const lookFor: FindText = (record, wanted) =>
  record.text.includes(wanted) ? { panel: null, before: '', text: wanted, after: '' } : null;

async function timed(work: () => Promise<unknown>, rounds = ROUNDS): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function figuresOf(filled: FilledStore): Promise<Figure[]> {
  const { store, profiles } = filled;
  const figures: Figure[] = [];
  const note = (what: string, times: number[]): void => {
    figures.push({ what: `${store.name}, ${profiles} rows: ${what}`, unit: 'ms', spread: spreadOf(times) });
  };
  const find = (query: Partial<ProfileQuery>): Promise<unknown> =>
    store.find({ limit: PAGE, offset: 0, ...query }, lookFor);
  note('the first list', await timed(() => find({}), 1));
  for (const [what, query] of searches(filled)) note(what, await timed(() => find(query)));
  note('a text that occurs nowhere', await timed(() => find({ text: 'xyzzy' }), 3));
  const readAll = async (): Promise<void> => {
    for await (const rows of store.rows(0)) if (rows.length === 0) throw new Error('An empty batch.');
  };
  note('all rows', await timed(readAll, 5));
  return figures;
}

async function run(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const open of [fillFiles, fillPostgres]) {
    const filled = await open(bench);
    try {
      figures.push(...(await figuresOf(filled)));
    } finally {
      await filled.close();
    }
  }
  return figures;
}

export const store: Row = { name: 'store', what: 'searching a large store, in files and in PostgreSQL', run };
