/**
 * Where the time went: each millisecond counted once, for the first of its kinds in the order of `SHARES`. What a kind loses to
 * others by this is said beside it, because the kind's own panel shows all of its time.
 */
import type { SpanDraft, SpanKind, WaitReason } from '../../profiler/span.ts';
import type { Share, ShareName } from '../shared/timeline-data.ts';
import { round } from '../shared/rows.ts';

const SHARES: readonly { name: ShareName; kind: SpanKind; label: string }[] = [
  { name: 'blocked', kind: 'wait', label: 'Event loop blocked' },
  { name: 'collection', kind: 'wait', label: 'Garbage collection' },
  { name: 'db', kind: 'db', label: 'Database' },
  { name: 'out', kind: 'out', label: 'Outgoing calls' },
  { name: 'view', kind: 'view', label: 'Views' },
  { name: 'work', kind: 'work', label: 'Other work' },
  { name: 'pool', kind: 'wait', label: 'Connection pool wait' },
  { name: 'idle', kind: 'wait', label: 'Unaccounted' },
  { name: 'app', kind: 'app', label: 'Own code' },
];
const OWN = SHARES.length - 1;
/** Index of a draft in `SHARES`. */
const OF_REASON: Readonly<Record<WaitReason, number>> = { blocked: 0, collection: 1, pool: 6, idle: 7 };
const OF_KIND: Readonly<Record<SpanKind, number>> = { db: 2, out: 3, view: 4, work: 5, app: -1, wait: -1 };

interface Edge {
  at: number;
  share: number;
  step: 1 | -1;
}

function edgesOf(drafts: readonly SpanDraft[], totalMs: number): { edges: Edge[]; counts: number[] } {
  const edges: Edge[] = [];
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
  return { edges: edges.sort((a, b) => a.at - b.at), counts };
}

/** `spent[i][j]`: milliseconds of share i that are counted as share j. */
function sweep(edges: readonly Edge[], totalMs: number): number[][] {
  const spent = SHARES.map(() => SHARES.map(() => 0));
  const running = SHARES.map(() => 0);
  let last = 0;
  const spend = (until: number): void => {
    const first = running.findIndex((count) => count > 0);
    const counted = first === -1 ? OWN : first;
    running.forEach((count, share) => {
      const row = spent[share];
      const ran = count > 0 || (share === OWN && counted === OWN);
      if (row !== undefined && ran) row[counted] = (row[counted] ?? 0) + until - last;
    });
    last = until;
  };
  for (const { at, share, step } of edges) {
    if (at > last) spend(at);
    running[share] = (running[share] ?? 0) + step;
  }
  if (totalMs > last) spend(totalMs);
  return spent;
}

/** Shorter overlaps change no number on the page. */
const SHORTEST_OVERLAP = 0.05;

function overlapOf(row: readonly number[], share: number): Share['overlap'] {
  const others = row.map((ms, index) => ({
    ms: index === share ? 0 : ms,
    label: SHARES[index]?.label ?? '',
  }));
  const most = others.reduce((a, b) => (b.ms > a.ms ? b : a));
  if (most.ms < SHORTEST_OVERLAP) return undefined;
  return { allMs: round(row.reduce((sum, ms) => sum + ms, 0)), label: most.label, ms: round(most.ms) };
}

/** One sweep over begins and ends; what no draft covers is own code. */
export function sharesOf(drafts: readonly SpanDraft[], totalMs: number): Share[] {
  const { edges, counts } = edgesOf(drafts, totalMs);
  const spent = sweep(edges, totalMs);
  return SHARES.map(({ name, kind, label }, index): Share => {
    const row = spent[index] ?? [];
    const overlap = overlapOf(row, index);
    return {
      name,
      kind,
      label,
      ms: round(row[index] ?? 0),
      ...(index === OWN ? {} : { count: counts[index] ?? 0 }),
      ...(overlap === undefined ? {} : { overlap }),
    };
  })
    .filter(({ ms, overlap }) => ms > 0 || overlap !== undefined)
    .sort((a, b) => b.ms - a.ms);
}
