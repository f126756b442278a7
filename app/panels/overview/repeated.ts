/** Work that repeats is one step, at its first run, with the marks of the row that sums it up, and what differed from run to run. */
import { addTo } from '../../profiler/group-by.ts';
import type { Field } from '../../profiler/read/rows.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import type { CodeToken } from '../../view-helpers/code.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { textOf } from '../../view-helpers/value-line.ts';
import { type Step, tokensOf } from './step.ts';

/** From as many runs on, the same work of the same line is one step. */
const FOLDED_FROM = 3;
const MOST_RUNS = 4;
const LONGEST = 280;
const REPEATED = 'repeated';

/** Without the tokens that all begin and end with. */
function differing(lines: readonly (readonly CodeToken[])[]): string[] {
  const isSame = (at: number): boolean =>
    lines.every((line) => line.at(at) !== undefined && line.at(at)?.[1] === lines[0]?.at(at)?.[1]);
  const shortest = Math.min(...lines.map(({ length }) => length));
  let start = 0;
  while (start < shortest && isSame(start)) start++;
  let end = 0;
  while (end < shortest - start && isSame(-1 - end)) end++;
  return lines.map((line) => textOf(line.slice(start, line.length - end)).trim());
}

interface Differing {
  /** Of each run. */
  texts: string[];
  isAnsweredAnew: boolean;
}

/** What was asked, the reply, or both, as far as they differ; null: nothing does. */
function differenceOf(runs: readonly Step[]): Differing | null {
  const lines = runs.map(tokensOf);
  const splitAt = lines.map((line) => line.findIndex(([, text]) => text === ' → '));
  const asked = lines.map((line, at) => line.slice(0, splitAt[at] === -1 ? undefined : splitAt[at]));
  const replies = lines.map((line, at) => (splitAt[at] === -1 ? '' : textOf(line.slice(splitAt[at])).trim()));
  const isAskedAnew = new Set(asked.map(textOf)).size > 1;
  const isAnsweredAnew = new Set(replies).size > 1;
  if (!isAskedAnew && !isAnsweredAnew) return null;
  const parts = isAskedAnew ? differing(asked) : [];
  return {
    texts: runs.map((run, at) => {
      const reply = isAnsweredAnew ? (replies[at] ?? '') : '';
      const failed = run.tone !== 'bad' ? '' : reply === '' ? '→ failed' : '(failed)';
      const nothing = isAnsweredAnew && reply === '' && failed === '' ? '→ nothing' : '';
      return [parts[at] ?? '', reply, failed, nothing].filter((part) => part !== '').join(' ');
    }),
    isAnsweredAnew: isAnsweredAnew && !isAskedAnew,
  };
}

function fieldsOf(runs: readonly Step[], difference: Differing | null): Field[] {
  if (difference === null) return [];
  const value = difference.texts.slice(1).join(' · ');
  if (runs.length <= MOST_RUNS && value.length <= LONGEST) return [{ label: 'Other runs', value }];
  return [{ label: 'Last run', value: difference.texts.at(-1)?.slice(0, LONGEST) ?? '' }];
}

function isOfAll(token: string | undefined, runs: readonly Step[]): boolean {
  return runs.every(
    ({ fields = [] }) => token === undefined || fields.some((field) => field.token === token),
  );
}

interface Sum {
  times: number;
  badges: readonly string[];
}

/** `query 3–5`: the steps have no other row for those between. */
function labelOf(runs: readonly Step[]): string {
  const label = runs[0]?.label ?? '';
  const last = /^query (\d+)$/.exec(runs.at(-1)?.label ?? '')?.[1];
  return last === undefined ? label : `${label}–${last}`;
}

/** Results that differ: the first is in the note, and the last says how it ended. */
function lastOutcome(runs: readonly Step[]): string {
  const [first, last] = [runs[0]?.outcome, runs.at(-1)?.outcome];
  return last === first || last === undefined || last === null ? '' : `, ${last}`;
}

/** The sum is of all runs, also of those that were only counted. */
function folded(runs: readonly Step[], { times, badges: marks }: Sum): Step {
  const [first = {}] = runs;
  const failed = runs.filter(({ tone }) => tone === 'bad').length;
  const worst = runs.find(({ tone }) => tone === 'bad') ?? first;
  const difference = differenceOf(runs);
  const more = fieldsOf(runs, difference);
  return {
    ...worst,
    label: labelOf(runs),
    text: first.text ?? null,
    line: () => tokensOf(first),
    number: first.number ?? null,
    ...(first.runs === undefined ? {} : { runs: runs.flatMap((run) => run.runs ?? []) }),
    times: Math.max(runs.length, times),
    badges: [...new Set([...(worst.badges ?? []), ...marks])].filter(
      // A poll asks until the reply is another one.
      (badge) => badge !== REPEATED || difference?.isAnsweredAnew !== true,
    ),
    note: noteOf([
      first.note,
      failed > 0 && failed < runs.length
        ? `${count(failed)} failed${worst === first ? '' : `, the first at ${durationText(worst.number)}`}`
        : null,
      `last at ${durationText(runs.at(-1)?.number)}${lastOutcome(runs)}`,
    ]),
    // Of one request only: its label says nothing of which run it is.
    fields: [...more, ...(worst.fields ?? []).filter(({ token }) => isOfAll(token, runs))],
  };
}

function keyOf({ label, within, key, place }: Step): string | null {
  return within === undefined && key === undefined
    ? null
    : `${label?.replace(/ \d+$/, '') ?? ''}\n${within ?? key ?? ''}\n${place ?? ''}`;
}

/** Something else is written between the runs, and few of them can be read in their order. */
function isBroken(runs: readonly Step[], written: readonly Step[]): boolean {
  const [from, to] = [runs[0]?.number ?? 0, runs.at(-1)?.number ?? 0];
  return written.some((step) => !runs.includes(step) && (step.number ?? 0) > from && (step.number ?? 0) < to);
}

export function repeatedSteps(steps: readonly Step[], sumOf: (within: string) => Sum): Step[] {
  const groups = new Map<string, Step[]>();
  for (const step of steps) {
    const key = keyOf(step);
    if (key !== null) addTo(groups, key, step);
  }
  const written = steps.filter(({ isWrite }) => isWrite === true);
  return steps.flatMap((step): Step[] => {
    const runs = groups.get(keyOf(step) ?? '') ?? [];
    if (runs.length < (isBroken(runs, written) ? MOST_RUNS + 1 : FOLDED_FROM)) return [step];
    return runs[0] === step ? [folded(runs, sumOf(step.within ?? ''))] : [];
  });
}
