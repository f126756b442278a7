/** In how many requests to its route a finding was seen, as one sentence for pages and for Markdown. */
import type { FindingHistory } from '../profiler/read/finding.ts';
import { numberHelpers } from './numbers.ts';
import { markup, type SafeHtml } from './safe-html.ts';

const { clock, clockText, count } = numberHelpers;

type Part = string | { at: number | null };

function withoutIt({ count: times, release }: FindingHistory['before'], when: string): string {
  if (times === 0) return '';
  const which = times === 1 ? 'the one' : `the ${count(times)}`;
  return `; not in ${which} ${when}${release === null ? '' : ` (release ${release})`}`;
}

function partsOf(label: string, history: FindingHistory): Part[] {
  const { of, seen, firstAt, lastAt, before, after } = history;
  const route = `the last ${count(of, 'request')} to this route`;
  if (seen === 0) return [`“${label}” is not in ${route}.`];
  const share = seen === of ? `all of ${route}` : `${count(seen)} of ${route}`;
  const isGone = after.count > 0;
  return [
    `“${label}” in ${share}, `,
    ...(firstAt === lastAt
      ? ['at ', { at: lastAt }]
      : isGone
        ? ['from ', { at: firstAt }, ' to ', { at: lastAt }]
        : ['since ', { at: firstAt }]),
    `${withoutIt(before, 'before')}${withoutIt(after, 'since')}.`,
  ];
}

export function historyText(label: string, history: FindingHistory): string {
  return partsOf(label, history)
    .map((part) => (typeof part === 'string' ? part : `${clockText(part.at)} UTC`))
    .join('');
}

export const historyHelpers = {
  history: (label: string, history: FindingHistory): SafeHtml =>
    markup`${partsOf(label, history).map((part) => (typeof part === 'string' ? part : clock(part.at)))}`,
  historyText,
} as const;
