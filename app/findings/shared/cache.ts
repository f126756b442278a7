/** A read that found nothing, and the work that it led to. */
import { addTo } from '../../profiler/group-by.ts';
import { lastWriters, type Written } from '../../panels/shared/last-writer.ts';
import { endOf, type Interval, type Kept, type OtherRequest } from './kept.ts';

export type Command = Kept['cache']['items'][number];

/** Reads in a row; with fewer, a key may just not have been there yet. */
export const MISSES = 4;
const STORES = /^(?:SET|SETEX|PSETEX|SETNX|HSET|JSON\.SET)$/;
const storing = new WeakMap<
  readonly Command[],
  ReadonlyMap<string | null, [fill: Command, index: number][]>
>();

/** Commands that stored a key: a request may have thousands. */
function storingOf(items: readonly Command[]): ReadonlyMap<string | null, [fill: Command, index: number][]> {
  const known = storing.get(items);
  if (known !== undefined) return known;
  const byKey = new Map<string | null, [fill: Command, index: number][]>();
  for (const [index, item] of items.entries())
    if (item.error === null && STORES.test(item.command)) addTo(byKey, item.key, [item, index]);
  storing.set(items, byKey);
  return byKey;
}

/** The command that stored what a read had not found, with the time in between; null: this request did not store it. */
export function fillOf(
  items: readonly Command[],
  read: Command,
): { fill: Command; index: number; workMs: number } | null {
  const found = storingOf(items)
    .get(read.key)
    ?.find(
      ([{ args, startMs }]) =>
        (read.command !== 'HGET' || args[0]?.value === read.args[0]?.value) && startMs >= endOf(read),
    );
  if (found === undefined) return null;
  const [fill, index] = found;
  return { fill, index, workMs: fill.startMs - endOf(read) };
}

/** Which of these requests stored what the command of an index found; they are only searched if one is asked about, and once. */
export function storersAmong(
  { head, kept: { cache, runtime } }: OtherRequest,
  others: readonly OtherRequest[],
): (index: number) => Written | undefined {
  const kept = { ...(cache && { cache }), ...(runtime && { runtime }) };
  let writers: ReadonlyMap<string, Written> | undefined;
  return (index) => (writers ??= lastWriters({ head, kept }, others)).get(`cache ${index}`);
}

/** It ran because a read found nothing again: that has a finding of its own, with the cause. */
export function isAfterMiss({ startMs }: Interval, cache: Kept['cache'] | undefined): boolean {
  return (cache?.items ?? []).some((read, _index, items) => {
    if ((read.past?.misses ?? 0) < MISSES || startMs < endOf(read)) return false;
    const filled = fillOf(items, read);
    return filled !== null && startMs < filled.fill.startMs;
  });
}
