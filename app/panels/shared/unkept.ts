/** Facts of a panel past the recording limit: count, duration and time. The panel's totals include them. */
import { round, type SpanDraft, type SpanKind } from '../../profiler/read/span.ts';
import type { BeyondFacts, Counted, Stretch } from '../../profiler/record/beyond-limit.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';

export interface Unkept extends Omit<Counted, 'slowestMs'> {
  stretches: Stretch[];
}

export function unkeptOf(beyond: BeyondFacts | undefined): Unkept | null {
  if (beyond === undefined) return null;
  const unkept: Unkept = { count: beyond.count, durationMs: 0, failed: 0, rows: 0, stretches: [] };
  for (const { durationMs, failed, rows } of beyond.byKey.values()) {
    unkept.durationMs += durationMs;
    unkept.failed += failed;
    unkept.rows += rows;
  }
  unkept.durationMs = round(unkept.durationMs);
  unkept.stretches = beyond.stretches.map(({ startMs, durationMs }) => ({
    startMs: round(startMs),
    durationMs: round(durationMs),
  }));
  return unkept;
}

/** `1,000 kept`, beside a number that includes more; undefined if all were stored. */
export function keptNote(kept: number, unkept: Pick<Unkept, 'count'> | undefined): string | undefined {
  return unkept === undefined ? undefined : `${numberHelpers.count(kept)} kept`;
}

export function unkeptSpans(
  unkept: Unkept | undefined,
  { kind, noun, panel, isSync = false }: { kind: SpanKind; noun: string; panel: string; isSync?: boolean },
): SpanDraft[] {
  const [first] = unkept?.stretches ?? [];
  const last = unkept?.stretches.at(-1);
  if (unkept === undefined || first === undefined || last === undefined) return [];
  const durationMs = last.startMs + last.durationMs - first.startMs;
  return [
    {
      kind,
      label: `${numberHelpers.count(unkept.count, noun, noun)} past the recording limit`,
      startMs: first.startMs,
      durationMs,
      ...(isSync ? { ranMs: durationMs } : {}),
      panel,
      pieces: unkept.stretches,
      count: unkept.count,
    },
  ];
}
