/** Parts of the sentences of several rules, with numbers formatted as on the pages. */
import type { Finding } from '../../profiler/finding.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';

export const duration = numberHelpers.durationText;

/** `2 rows`, `1,284 rows`. */
export const count = numberHelpers.count;

/** `12.0 ms (4 % of the request)`. No share if the request still runs, or if the time is a sum that exceeds it. */
export function shareOf(partMs: number, wholeMs: number | null): string {
  if (wholeMs === null || wholeMs <= 0 || partMs > wholeMs) return duration(partMs);
  return `${duration(partMs)} (${numberHelpers.percentText(partMs, wholeMs)} of the request)`;
}

/** Adds the place if it is known. */
export function placed(finding: Finding, place: string | null | undefined): Finding {
  return place === null || place === undefined || place === '' ? finding : { ...finding, place };
}

export function costliestFirst(findings: Finding[]): Finding[] {
  return findings.length < 2 ? findings : findings.sort((a, b) => (b.costMs ?? 0) - (a.costMs ?? 0));
}

/** Recorded text as part of a sentence: on one line, truncated. */
export function excerpt(text: string, length = 160): string {
  const line = text
    .slice(0, length * 2)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
