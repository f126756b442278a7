/** Garbage collection that took a noticeable share of the request. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { shareOfKind } from './shared/long.ts';
import { count, shareOf } from './shared/wording.ts';

const LONG_MS = 50;
const LARGE_SHARE = 0.1;

export const garbageCollection: FindingRule<Pick<Kept, 'runtime'>> = {
  name: 'garbage-collection',
  needs: ['runtime'],
  labels: ['garbage collection'],
  why: 'Node.js reports the duration of each collection: those during the request took at least 50 ms and 10 % of it. They belong to the whole process, not to this request alone.',
  fix: 'Keep fewer objects alive at once: smaller pages of rows, streams instead of whole strings, nothing that grows without limit.',
  find({ runtime: { collections, concurrent, cpuUserMs, cpuSystemMs } }, { durationMs: wholeMs }, from) {
    if (collections === undefined) return [];
    const { ms: costMs } = shareOfKind(from.time, 'collection');
    if (costMs < LONG_MS || (wholeMs !== null && costMs < wholeMs * LARGE_SHARE)) return [];
    // The threads that collect waited for the processor: the machine was late, not the collector.
    if (costMs > cpuUserMs + cpuSystemMs) return [];
    const others = count(concurrent - 1, 'other request');
    const shared = concurrent > 1 ? `; ${others} overlapped with this one` : '';
    const times = collections.length === 1 ? 'once' : count(collections.length, 'time');
    const sentence = `Garbage collection ran ${times} and took ${shareOf(costMs, wholeMs)}${shared}`;
    return [{ severity: 'warn', sentence, anchor: 'gc', costMs }];
  },
};
