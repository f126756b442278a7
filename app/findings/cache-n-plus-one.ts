/** One read of Redis for each key, from one line: one command could fetch them all. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { endOf, type Kept } from './shared/kept.ts';
import { count, shareOf } from './shared/wording.ts';

/** A read of Redis is quick: fewer of them are no matter. */
const MANY = 5;
/** Bad from this many reads on, or from this share of the request on. */
const VERY_MANY = 20;
const HEAVY_SHARE = 0.2;

export const cacheNPlusOne: FindingRule<Pick<Kept, 'cache'>> = {
  name: 'cache-n-plus-one',
  needs: ['cache'],
  labels: ['N+1'],
  why: 'At least five reads of this request came from the same line, each for another key, and each waited for the one before it.',
  fix: 'Read all keys with one command (`MGET`, `HMGET`), or send the reads together in a pipeline.',
  find({ cache: { groups, items } }, { durationMs: wholeMs }) {
    return groups.flatMap(({ kind, command, members, durationMs, caller: place }, at) => {
      if (kind !== 'n+1' || members.length < MANY) return [];
      const of = members.flatMap((index) => items[index] ?? []);
      if (!of.every((read, index) => index === 0 || read.startMs >= endOf(of[index - 1] ?? read))) return [];
      const heavy = members.length >= VERY_MANY || (wholeMs !== null && durationMs > wholeMs * HEAVY_SHARE);
      const sentence = `${count(members.length)} × ${command} of Redis, one after the other: ${shareOf(durationMs, wholeMs)}`;
      const severity = heavy ? 'bad' : 'warn';
      return [{ severity, sentence, anchor: `r${at + 1}`, costMs: durationMs, place }];
    });
  },
};
