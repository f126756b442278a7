/** The bars of the strip at the head of a profile: spans of the timeline, those that touch drawn as one. */

export interface StripBar {
  kind: string;
  startMs: number;
  durationMs: number;
}

/** Bars closer than this share of the whole can't be told apart. */
const TOUCHING = 0.001;
const MOST_BARS = 150;

/** `spans` in the order of their start, or nearly so; own code is the ground line and no bar. */
export function stripBars(spans: readonly StripBar[], totalMs: number): StripBar[] {
  const bars: StripBar[] = [];
  const last = new Map<string, StripBar>();
  for (const { kind, startMs, durationMs } of spans) {
    if (kind === 'app' || durationMs <= 0) continue;
    const before = last.get(kind);
    if (
      before !== undefined &&
      startMs - (before.startMs + before.durationMs) < totalMs * TOUCHING &&
      startMs >= before.startMs
    ) {
      before.durationMs = Math.max(before.durationMs, startMs + durationMs - before.startMs);
      continue;
    }
    const bar = { kind, startMs, durationMs };
    last.set(kind, bar);
    bars.push(bar);
  }
  return bars.slice(0, MOST_BARS);
}
