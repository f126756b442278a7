/** A read that found nothing, and the work that it led to. */
import { lastWriters, type Written } from '../../panels/shared/last-writer.ts';
import { endOf, type Interval, type Kept, type OtherRequest } from './kept.ts';

export type Command = Kept['cache']['items'][number];

/** Reads in a row; with fewer, a key may just not have been there yet. */
export const MISSES = 4;
/** The command that stored what a read had not found, with the time in between; null: this request did not store it. */
export function fillOf(
  items: readonly Command[],
  read: Command,
): { fill: Command; index: number; workMs: number } | null {
  const index = items.findIndex(
    ({ key, command, args, startMs, error }) =>
      key === read.key &&
      error === null &&
      /^(?:SET|SETEX|PSETEX|SETNX|HSET|JSON\.SET)$/.test(command) &&
      (read.command !== 'HGET' || args[0]?.value === read.args[0]?.value) &&
      startMs >= endOf(read),
  );
  const fill = items[index];
  return fill === undefined ? null : { fill, index, workMs: fill.startMs - endOf(read) };
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
