/**
 * Idle gaps: times of the request in which neither recorded work nor a middleware's function ran. They are own code after an `await`,
 * or a wait that no observer records (a timer, a file, the client sending its body).
 */
import type { SpanDraft } from '../../profiler/span.ts';
import { endOf } from '../shared/timeline-data.ts';

interface Times {
  startMs: number;
  durationMs: number;
}

/** Shorter gaps are between any two pieces of work. */
const SHORTEST = 1;
/** Share of the request; smaller gaps are not worth a row. */
const SMALLEST_SHARE = 0.01;
/** Layers that read the body: while they wait, it arrives. */
const BODY_READERS = /^(?:json|urlencoded|text|raw)Parser$|^multerMiddleware$/;

export interface IdleGapOptions {
  totalMs: number;
  /** When the headers were sent; null before. */
  headersMs: number | null;
  layers: readonly SpanDraft[];
}

/** Begins and ends, each sorted: when as many have ended as have begun, nothing runs. */
function gapsOf(times: readonly Times[], totalMs: number): Times[] {
  const begins = new Float64Array(times.length);
  const ends = new Float64Array(times.length);
  for (const [index, time] of times.entries()) {
    begins[index] = time.startMs;
    ends[index] = endOf(time);
  }
  begins.sort();
  ends.sort();
  const gaps: Times[] = [];
  for (let index = 0; index <= times.length; index++) {
    const until = Math.max(0, index === 0 ? 0 : (ends[index - 1] ?? 0));
    const startMs = Math.min(begins[index] ?? totalMs, totalMs);
    if (startMs > until) gaps.push({ startMs: until, durationMs: startMs - until });
  }
  return gaps;
}

/** The part of a gap after the headers were sent is sending the response. */
function splitAt(gap: Times, at: number): Times[] {
  return [
    { startMs: gap.startMs, durationMs: at - gap.startMs },
    { startMs: at, durationMs: endOf(gap) - at },
  ];
}

export function idleGaps(
  taken: readonly Times[],
  { totalMs, headersMs, layers }: IdleGapOptions,
): SpanDraft[] {
  const shortest = Math.max(SHORTEST, totalMs * SMALLEST_SHARE);

  function labelOf({ startMs }: Times): string {
    if (headersMs !== null && startMs >= headersMs) return 'sending response';
    if (startMs < (layers[0]?.startMs ?? 0)) return 'before the first middleware';
    const running = layers.findLast((layer) => layer.startMs <= startMs && endOf(layer) > startMs);
    return running !== undefined && BODY_READERS.test(running.label)
      ? 'receiving the body'
      : 'unaccounted: code or waiting';
  }

  const drafts: SpanDraft[] = [];
  for (const gap of gapsOf(taken, totalMs)) {
    if (gap.durationMs < shortest) continue;
    const isSplit = headersMs !== null && headersMs > gap.startMs && headersMs < endOf(gap);
    for (const { startMs, durationMs } of isSplit ? splitAt(gap, headersMs) : [gap])
      if (durationMs >= shortest)
        drafts.push({
          startMs,
          durationMs,
          kind: 'wait',
          label: labelOf({ startMs, durationMs }),
          reason: 'idle',
        });
  }
  return drafts;
}
