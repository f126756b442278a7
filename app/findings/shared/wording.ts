/** Parts of the sentences of several rules, with numbers formatted as on the pages. */
import { sameName } from '../../panels/shared/compare-values.ts';
import type { ProfileHead } from '../../profiler/profile.ts';
import type { FindingDraft } from '../../profiler/read/finding-rule.ts';
import { excerpt } from '../../panels/shared/request-text.ts';
import { numberHelpers, durationText, percentText } from '../../view-helpers/numbers.ts';

export { excerpt, LONGEST_NAME, requestText } from '../../panels/shared/request-text.ts';

export const duration = durationText;

export const count = numberHelpers.count;

/** `12.0 ms (4 % of the request)`. No share if the request still runs, or if the time is a sum that exceeds it. */
export function shareOf(partMs: number, wholeMs: number | null): string {
  if (wholeMs === null || wholeMs <= 0 || partMs > wholeMs) return duration(partMs);
  return `${duration(partMs)} (${percentText(partMs, wholeMs)} of the request)`;
}

/** ` (src/list.ts:22)`: within a sentence that says what ran there. */
export function bracketed(place: string | null): string {
  return place === null ? '' : ` (${place})`;
}

export function placeText(place: string | null): string {
  return place === null ? '' : ` at ${place}`;
}

/** What a failure broke: a response that reports success hides it. */
export function brokeBy(status: number | null): NonNullable<FindingDraft['broke']> {
  return status !== null && status < 400 ? 'unseen' : 'response';
}

/** 206 and 207 say that a part is missing, or that parts failed. */
export function isPartial(status: number): boolean {
  return status === 206 || status === 207;
}

interface Failure {
  what: string;
  /** It ended after the headers were sent, so the response could not tell. */
  isLate: boolean;
  /** The application logged it, or may well have expected it. */
  isKnown: boolean;
}

/** A failure of what the request used, by whether its response reports it; null: the response could not, and the log does. */
export function failureOf(
  { what, isLate, isKnown }: Failure,
  { status, outcome }: Pick<ProfileHead, 'status' | 'outcome'>,
): Pick<FindingDraft, 'broke' | 'sentence' | 'label' | 'severity'> | null {
  // A response that was not finished reports no success.
  const broke = outcome === 'aborted' ? 'response' : brokeBy(status);
  if (broke === 'response') return { broke, sentence: what, severity: 'warn' };
  if (isLate && isKnown) return null;
  const sentence = `${what}${isLate ? ' after the response was sent' : `, but this request still answered ${status ?? ''}`}`;
  return { broke, sentence, label: 'failure ignored', severity: isLate || isKnown ? 'info' : 'warn' };
}

/** `a, b and c`, each once. */
export function listOf(names: readonly string[]): string {
  const all = [...new Set(names)].map((name) => excerpt(name, 40));
  return [all.slice(0, -1).join(', '), ...all.slice(-1)].filter((part) => part !== '').join(' and ');
}

/** `pinCode` -> `pin_Code` */
export function snakeCase(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1_$2');
}

/** `note` of `notes`, `category` of `categories` */
export function singular(name: string): string {
  return sameName(name).replace(/ies$/, 'y').replace(/s$/, '');
}
