/**
 * Records to fill a store with: the same numbers give the same profiles. A document is about 4 KB of JSON that
 * compresses as real ones do, not the repetition of a word.
 */
import type { Row, Store, StoreItem } from '../../app/index.ts';
import { profileIndex } from '../../test/support/profile-index.ts';

const TOKENS = 0x1000000;
const DAY_MS = 24 * 3_600_000;
const SECTIONS = ['orders', 'articles', 'authors', 'comments', 'baskets', 'invoices', 'search', 'account'];
const STATUSES = [200, 200, 200, 200, 200, 200, 200, 302, 404, 500];
const DOCUMENT_BYTES = 4096;

/** A number from 0 to 1 that looks random and is always the same for `seed` (the integer hash of Murmur 3). */
function chance(seed: number): number {
  let mixed = Math.imul(seed ^ (seed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
}

function pick<T>(list: readonly T[], seed: number): T | undefined {
  return list[Math.floor(chance(seed) * list.length)];
}

/** Odd, so that every number below TOKENS has a token of its own. */
export function tokenOf(number: number): string {
  return (Math.imul(number, 0x9e3779b1) & (TOKENS - 1)).toString(16).padStart(6, '0');
}

function documentOf(number: number, index: Row): string {
  const rows: object[] = [];
  const profile = { version: 1, ...index, panels: { database: { data: { rows } } } };
  for (let row = 0; row < 22; row++) {
    rows.push({
      sql: `select * from ${pick(SECTIONS, number * 31 + row)} where id = ?`,
      bindings: [Math.floor(chance(number * 37 + row) * 100_000)],
      startMs: chance(number + row) * 20,
      durationMs: chance(number * 3 + row) * 4,
      caller: `src/${pick(SECTIONS, number + row * 7)}.ts:${row * 11}`,
    });
  }
  return JSON.stringify(profile).padEnd(DOCUMENT_BYTES, ' ').slice(0, -1) + ' ';
}

/** The profile of a number; `newest` is the wall clock of number 0, the rest of `total` lie within a day before it. */
export function sampleProfile(
  number: number,
  { total, newest }: { total: number; newest: number },
): StoreItem {
  const section = pick(SECTIONS, number) ?? '';
  const status = pick(STATUSES, number * 5) ?? 200;
  const row = profileIndex({
    token: tokenOf(number),
    method: chance(number * 7) < 0.8 ? 'GET' : 'POST',
    url: `/shop/${section}/${Math.floor(chance(number * 11) * 50_000)}?page=${number % 9}`,
    origin: 'http://127.0.0.1:3000',
    status,
    route: `/shop/${section}/:id`,
    clientAddress: `10.0.${Math.floor(chance(number * 13) * 8)}.${Math.floor(chance(number * 17) * 250)}`,
    startedAt: newest - Math.floor((number * DAY_MS) / total),
    durationMs: 2 / (1.0001 - chance(number * 19)),
    process: `web.${number % 3}`,
    error: status === 500 ? 'TypeError: it is not a function' : null,
    queries: 22,
    bytes: DOCUMENT_BYTES,
  });
  return { row, text: documentOf(number, row) };
}

/** Resolves when all are stored; rejects if one is dropped. */
export function storeAll(store: Pick<Store, 'add'>, items: readonly StoreItem[]): Promise<unknown> {
  const outcomes = items.map(
    (item) =>
      new Promise<void>((resolve, reject) => {
        const settled = (dropped: string | null): void => {
          if (dropped === null) resolve();
          else reject(new Error(dropped));
        };
        store.add([{ ...item, settled }]);
      }),
  );
  return Promise.all(outcomes);
}

/** Those from number `until` down to `from`: oldest first, as they are stored in life. */
export function* batches(from: number, until: number, total: number, size: number): Generator<StoreItem[]> {
  const newest = Date.now();
  for (let end = until; end > from; end -= size) {
    const count = Math.min(size, end - from);
    yield Array.from({ length: count }, (_, offset) => sampleProfile(end - 1 - offset, { total, newest }));
  }
}
