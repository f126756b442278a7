/** The bars of a request's time, one after the other: slices of the ledger, close ones of one kind joined. */

export interface TimeBar {
  kind: string;
  startMs: number;
  durationMs: number;
}

/** Bars closer than this share of the whole can't be distinguished. */
const TOUCHING = 0.001;
const MOST_BARS = 150;

function joined(slices: readonly TimeBar[], gapMs: number): TimeBar[] {
  const bars: TimeBar[] = [];
  const last = new Map<string, TimeBar>();
  for (const { kind, startMs, durationMs } of slices) {
    const before = last.get(kind);
    if (before !== undefined && startMs - (before.startMs + before.durationMs) < gapMs) {
      before.durationMs = Math.max(before.durationMs, startMs + durationMs - before.startMs);
      continue;
    }
    const bar = { kind, startMs, durationMs };
    last.set(kind, bar);
    bars.push(bar);
  }
  return bars;
}

/** If there are too many, close ones are joined. What shows between the others is drawn first. */
export function barsOf(slices: readonly TimeBar[], totalMs: number): TimeBar[] {
  let touching = TOUCHING;
  let bars = joined(slices, totalMs * touching);
  while (bars.length > MOST_BARS && touching < 1) {
    touching *= 2;
    bars = joined(slices, totalMs * touching);
  }
  return bars.slice(0, MOST_BARS);
}
