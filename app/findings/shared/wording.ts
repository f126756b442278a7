/** Words that the sentences of several rules are made of. Numbers are written as the pages write them. */
import type { Finding } from '../../profiler/finding.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';

export const duration = numberHelpers.durationText;

/** `2 rows`; `1 284 rows`. */
export const counted = numberHelpers.count;

/** `12.0 ms of 313.6 ms`; without the whole where it is not known. */
export function shareOf(partMs: number, wholeMs: number | null): string {
  return wholeMs === null || wholeMs <= 0 ? duration(partMs) : `${duration(partMs)} of ${duration(wholeMs)}`;
}

/** `place` is left out, not null, where it is not known. */
export function placed(finding: Finding, place: string | null | undefined): Finding {
  return place === null || place === undefined || place === '' ? finding : { ...finding, place };
}

export function dearestFirst(findings: Finding[]): Finding[] {
  return findings.length < 2 ? findings : findings.sort((a, b) => (b.costMs ?? 0) - (a.costMs ?? 0));
}

/** Recorded text as part of a sentence: on one line, and not the whole of it. */
export function excerpt(text: string, length = 160): string {
  const line = text
    .slice(0, length * 2)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
