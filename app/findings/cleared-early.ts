/** A cache entry that is deleted before others can see the change it is deleted for: they store the old value again. */
import { clockOf, seenTimes, type Times } from '../panels/shared/overlap.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { type Command, storersAmong } from './shared/cache.ts';
import { type Database, endOf, type Kept, type Needs, type OtherRequest, type Rule } from './shared/kept.ts';
import { type Read, readsOf, tablesOf, textOf } from './shared/queries.ts';
import { duration, excerpt, requestText } from './shared/wording.ts';

const DELETES = /^(?:DEL|UNLINK)$/;
const STORES = /^(?:SET|SETEX|PSETEX|SETNX|HSET|HMSET|JSON\.SET)$/;

function deletesIn(cache: Kept['cache'] | undefined): { item: Command; index: number; key: string }[] {
  return (cache?.items ?? []).flatMap((item, index) =>
    DELETES.test(item.command) && item.error === null && item.key !== null
      ? [{ item, index, key: item.key }]
      : [],
  );
}

type Change = Read & { table: string; seen: Times };

/** Writes of rows that a part of the key names: `4` of `stall:4:prices`. */
function changesOf(database: Database | undefined, key: string): Change[] {
  const parts = new Set(key.split(/[^\w-]+/));
  return readsOf(database).flatMap((one): Change[] => {
    const { query, read } = one;
    const table = read.table?.toLowerCase();
    if (database === undefined || table === undefined || read.verb === 'select' || query.rows === 0)
      return [];
    const seen = seenTimes(database, query);
    const isAbout = query.bindings.some(({ value }) => parts.has(textOf(value) ?? ''));
    return seen !== null && seen.to < Infinity && isAbout ? [{ ...one, table, seen }] : [];
  });
}

/** The same for keys of other ids. */
function shapeOf(key: string): string {
  return key.replace(/\d+|[\da-f-]{16,}/gi, '#');
}

interface Fill {
  key: string;
  storedMs: number;
  /** The read of the table that it was stored after. */
  readMs: number;
}

/** What a request stored under keys of this shape, after it had read the table. */
function fillsOf({ kept: { cache, database } }: OtherRequest, shape: string, table: string): Fill[] {
  if (database === undefined) return [];
  return (cache?.items ?? []).flatMap((item): Fill[] => {
    const { key, command, error, startMs: storedMs } = item;
    if (key === null || error !== null || !STORES.test(command) || shapeOf(key) !== shape) return [];
    const read = readsOf(database).findLast(
      ({ query, read: { verb } }) =>
        verb === 'select' && endOf(query) <= storedMs && tablesOf(database, query).has(table),
    );
    return read === undefined ? [] : [{ key, storedMs, readMs: endOf(read.query) }];
  });
}

type Given = Needs<'cache', 'database' | 'runtime'>;

/** Of the request that deletes: nothing is deleted or stored after the commit, and another request fills this cache from that table. */
function deletedEarly({ cache, database }: Given, own: OtherRequest, others: readonly OtherRequest[]) {
  return deletesIn(cache).flatMap(({ item, index, key }): FindingDraft[] => {
    const change = changesOf(database, key).findLast(({ seen }) => seen.from >= endOf(item));
    if (change === undefined) return [];
    const { seen, table } = change;
    const isAgain = cache.items.some(
      ({ key: other, command, startMs }) =>
        other === key && startMs >= seen.from && (DELETES.test(command) || STORES.test(command)),
    );
    const fills = others.flatMap((other) =>
      fillsOf(other, shapeOf(key), table).map((fill) => ({ ...fill, other })),
    );
    if (isAgain || fills.length === 0) return [];
    const refill = fills.find(({ other, storedMs, readMs, ...fill }) => {
      const { shiftMs, slackMs } = clockOf(own, other);
      const isAfter = storedMs + shiftMs > endOf(item) + slackMs;
      return fill.key === key && isAfter && readMs + shiftMs < seen.from - slackMs;
    });
    const end = change.query.transaction === null ? 'was written' : 'was committed';
    const how =
      refill === undefined
        ? 'until then, a request reads the old rows and stores them again'
        : `${requestText(refill.other.head)} read the old rows in between and stored them again`;
    const sentence = `${item.command} of ${excerpt(key, 60)} was sent ${duration(seen.to - endOf(item))} before the change of ${excerpt(table, 40)} ${end}: ${how}`;
    const severity = refill === undefined ? 'warn' : 'bad';
    return [{ broke: 'unseen', severity, sentence, anchor: `k${index + 1}`, place: item.caller }];
  });
}

/** Of a request that finds the old value: whoever stored it had read the table before the change was committed. */
function foundOld({ cache }: Given, own: OtherRequest, others: readonly OtherRequest[]): FindingDraft[] {
  const storerOf = storersAmong(own, others);
  return cache.items.flatMap(({ key, hits, command, startMs }, index): FindingDraft[] => {
    const stored = key === null || hits !== 1 ? undefined : storerOf(index);
    if (key === null || stored === undefined) return [];
    const by = clockOf(own, stored.request);
    for (const other of others) {
      const { shiftMs, slackMs } = clockOf(own, other);
      const [deleted] = deletesIn(other.kept.cache).filter((one) => one.key === key);
      const change = changesOf(other.kept.database, key).find(({ seen, table }) =>
        fillsOf(stored.request, shapeOf(key), table).some(
          (fill) =>
            fill.key === key &&
            fill.readMs + by.shiftMs < seen.from + shiftMs - slackMs &&
            seen.to + shiftMs < startMs - slackMs,
        ),
      );
      if (deleted === undefined || change === undefined) continue;
      const sentence = `${command} found ${excerpt(key, 60)} as ${requestText(stored.request.head)} had stored it ${duration(stored.beforeMs)} before, from rows of ${excerpt(change.table, 40)} that it read before ${requestText(other.head)} committed its change: the value is from before that change`;
      const place = deleted.item.caller;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: `k${index + 1}`, place }];
    }
    return [];
  });
}

function isFound({ cache }: Given): boolean {
  return cache.items.some(({ hits }) => hits === 1);
}

function isDeleted({ cache, database }: Given): boolean {
  return deletesIn(cache).some(({ key }) => changesOf(database, key).length > 0);
}

export const clearedEarly: Rule<Given> = {
  name: 'cleared-early',
  needs: ['cache'],
  labels: ['cleared too early'],
  why: 'A key was deleted, and after it a write was sent or committed that has a value of the key. Other requests fill such a key from the table that was written. Or the found value was stored by a request that read the table before that commit.',
  fix: 'Delete the key after the commit: `const done = await transaction(…); await cache.del(key)`. Until the commit, other requests read the old rows.',
  compares: (kept) => isFound(kept) || isDeleted(kept),
  relates: (kept) => isFound(kept) || isDeleted(kept),
  overlaps: isDeleted,
  find(kept, head, { earlier, siblings, overlapping }) {
    const own = { head, kept };
    const others = [...overlapping, ...earlier, ...siblings];
    return [...deletedEarly(kept, own, others), ...foundOld(kept, own, [...earlier, ...siblings])];
  },
};
