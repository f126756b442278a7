/** The bars of the strip at the head of a profile: spans of the timeline, touching ones joined. */

export interface StripBar {
  kind: string;
  startMs: number;
  durationMs: number;
}

/** Bars closer than this share of the whole can't be distinguished. */
const TOUCHING = 0.001;
const MOST_BARS = 150;

/** Spans of one kind, in the order of their start, joined if they are closer than `gapMs`. */
function joined(spans: readonly StripBar[], gapMs: number): StripBar[] {
  const bars: StripBar[] = [];
  const last = new Map<string, StripBar>();
  for (const { kind, startMs, durationMs } of spans) {
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

/** Own code is the background, not a bar. If there are too many bars, close ones are joined. */
export function stripBars(spans: readonly StripBar[], totalMs: number): StripBar[] {
  const drawn = spans
    .filter(({ kind, durationMs }) => kind !== 'app' && durationMs > 0)
    .sort((a, b) => a.startMs - b.startMs);
  let touching = TOUCHING;
  let bars = joined(drawn, totalMs * touching);
  while (bars.length > MOST_BARS && touching < 1) {
    touching *= 2;
    bars = joined(bars, totalMs * touching);
  }
  return bars.slice(0, MOST_BARS);
}
