/** Garbage collection that took a noticeable part of the request. */
import type { FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { counted, shareOf } from './shared/wording.ts';

/** So long, and so much of the request. */
const LONG_MS = 50;
const LARGE_SHARE = 0.1;

export const garbageCollection: FindingRule<Pick<Kept, 'runtime'>> = {
  name: 'garbage-collection',
  needs: ['runtime'],
  labels: ['garbage collection'],
  known:
    'Node reports each collection with its time; those during the request took 50 ms and a tenth of it or more. They are the process’s, not the request’s own.',
  mends:
    'Keep fewer objects alive at once: smaller pages of rows, streams instead of whole texts, nothing that grows without bound.',
  find({ runtime: { collections, concurrent } }, { durationMs: wholeMs }) {
    if (collections === undefined) return [];
    const costMs = collections.reduce((sum, { durationMs }) => sum + durationMs, 0);
    if (costMs < LONG_MS || (wholeMs !== null && costMs < wholeMs * LARGE_SHARE)) return [];
    const shared = concurrent > 1 ? `, while ${counted(concurrent, 'request')} ran` : '';
    const sentence = `Garbage collection stopped the process ${counted(collections.length, 'time')} for ${shareOf(costMs, wholeMs)}${shared}`;
    return [
      { label: 'garbage collection', severity: 'warn', sentence, panel: 'runtime', anchor: 'gc', costMs },
    ];
  },
};
