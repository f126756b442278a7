/** Where the time went: each millisecond counted once, for the first of its kinds in the order of `SHARES`. */
import type { SpanDraft, SpanKind, WaitReason } from '../../profiler/span.ts';
import type { Share } from './data.ts';
import { round } from '../shared/rows.ts';

const SHARES: readonly { kind: SpanKind; label: string }[] = [
  { kind: 'wait', label: 'Event loop blocked' },
  { kind: 'wait', label: 'Garbage collection' },
  { kind: 'db', label: 'Database' },
  { kind: 'out', label: 'Outgoing calls' },
  { kind: 'view', label: 'Views' },
  { kind: 'work', label: 'Other work' },
  { kind: 'wait', label: 'Connection pool wait' },
  { kind: 'wait', label: 'Unaccounted' },
];
/** Index of a draft in `SHARES`. */
const OF_REASON: Readonly<Record<WaitReason, number>> = { blocked: 0, collection: 1, pool: 6, idle: 7 };
const OF_KIND: Readonly<Record<SpanKind, number>> = { db: 2, out: 3, view: 4, work: 5, app: -1, wait: -1 };

/** One sweep over begins and ends; time that no draft covers is own code. */
export function sharesOf(drafts: readonly SpanDraft[], totalMs: number): Share[] {
  const edges: { at: number; share: number; step: 1 | -1 }[] = [];
  const counts = SHARES.map(() => 0);
  for (const draft of drafts) {
    const { kind, reason, pieces = [draft], count = 1 } = draft;
    const share = reason === undefined ? OF_KIND[kind] : OF_REASON[reason];
    if (share === -1) continue;
    let ran = false;
    for (const { startMs, durationMs } of pieces) {
      const from = Math.min(totalMs, Math.max(0, startMs));
      const to = Math.min(totalMs, startMs + durationMs);
      if (to <= from) continue;
      ran = true;
      edges.push({ at: from, share, step: 1 }, { at: to, share, step: -1 });
    }
    if (ran) counts[share] = (counts[share] ?? 0) + count;
  }
  edges.sort((a, b) => a.at - b.at);
  const running = SHARES.map(() => 0);
  const spent = SHARES.map(() => 0);
  let last = 0;
  for (const { at, share, step } of edges) {
    const now = running.findIndex((count) => count > 0);
    if (now !== -1) spent[now] = (spent[now] ?? 0) + at - last;
    last = at;
    running[share] = (running[share] ?? 0) + step;
  }
  const own = totalMs - spent.reduce((sum, ms) => sum + ms, 0);
  return [
    ...SHARES.map(({ kind, label }, index): Share => ({
      kind,
      label,
      ms: round(spent[index] ?? 0),
      count: counts[index] ?? 0,
    })),
    { kind: 'app' as const, label: 'Own code', ms: round(Math.max(0, own)) },
  ]
    .filter(({ ms }) => ms > 0)
    .sort((a, b) => b.ms - a.ms);
}
