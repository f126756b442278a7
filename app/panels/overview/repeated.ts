/** Work that repeats is one step, at its first run, with the marks of the row that sums it up, and what differed from run to run. */
import { addTo } from '../../profiler/group-by.ts';
import type { Field } from '../../profiler/read/rows.ts';
import { shorten } from '../../profiler/read/span.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import type { CodeToken } from '../../view-helpers/code.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { textOf } from '../../view-helpers/value-line.ts';
import { eachText } from '../shared/rows.ts';
import { lineOf, type Step, tokensOf } from './step.ts';

/** From as many runs on, the same work of the same line is one step. */
const FOLDED_FROM = 3;
const MOST_RUNS = 4;
const LONGEST = 280;
/** Runs that ended in another way than most, and the length of each. */
const MOST_ODD = 6;
const LONGEST_ODD = 80;
const MOST_OUTCOMES = 3;
const TRANSACTION = /^T\d+$/;
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
  /** What was asked, as far as all runs share it; null: the first run stands for all. */
  shared: string | null;
}

const OF_CACHE = new Set(['redis', 'cache']);

/** `player:1 ` and `player:3 ` share `player:… `. */
function sharedWord(words: readonly string[]): string {
  const [first = '', ...others] = words;
  if (others.every((word) => word === first)) return first;
  let length = 0;
  while (length < first.length && others.every((word) => word[length] === first[length])) length++;
  return `${first.slice(0, length).replace(/[^:./-]*$/, '')}…${first.endsWith(' ') ? ' ' : ''}`;
}

function sharedText(lines: readonly (readonly CodeToken[])[]): string {
  const longest = Math.max(...lines.map(({ length }) => length));
  const words = Array.from({ length: longest }, (_, at) =>
    sharedWord(lines.map((line) => line[at]?.[1] ?? '')),
  );
  return words
    .join('')
    .trim()
    .replace(/ …(?: …)+$/, ' …');
}

/** What was asked, the reply, or both, as far as they differ. */
function differenceOf(runs: readonly Step[]): Differing {
  const lines = runs.map(tokensOf);
  const splitAt = lines.map((line) => line.findIndex(([, text]) => text === ' → '));
  const asked = lines.map((line, at) => line.slice(0, splitAt[at] === -1 ? undefined : splitAt[at]));
  const replies = lines.map((line, at) => (splitAt[at] === -1 ? '' : textOf(line.slice(splitAt[at])).trim()));
  const isAskedAnew = new Set(asked.map(textOf)).size > 1;
  const isAnsweredAnew = new Set(replies).size > 1;
  const parts = isAskedAnew ? differing(asked) : [];
  return {
    texts: runs.map((_run, at) =>
      [parts[at] ?? '', isAnsweredAnew ? (replies[at] ?? '') : ''].filter((part) => part !== '').join(' '),
    ),
    isAnsweredAnew: isAnsweredAnew && !isAskedAnew,
    shared: isAskedAnew && OF_CACHE.has(runs[0]?.label ?? '') ? sharedText(asked) : null,
  };
}

function transactionOf({ badges = [] }: Step): string | null {
  return badges.find((badge) => TRANSACTION.test(badge)) ?? null;
}

/** `T1–T3`, or each, if one between had none of the runs. */
function transactionsOf(runs: readonly Step[]): string[] {
  const names = [...new Set(runs.map(transactionOf))].filter((name) => name !== null);
  const [first = '', last = ''] = [names[0], names.at(-1)];
  const isWhole = Number(last.slice(1)) - Number(first.slice(1)) === names.length - 1;
  return names.length > 1 && isWhole ? [`${first}–${last}`] : names;
}

/** Of all that are not failed, the one that most have, and how many; null: each may have another one, as the reads of a loop do. */
function usualOutcome(runs: readonly Step[]): { outcome: string | null; times: number } | null {
  const times = new Map<string | null, number>();
  for (const { tone, outcome = null } of runs)
    if (tone !== 'bad') times.set(outcome, (times.get(outcome) ?? 0) + 1);
  const [usual = [null, 0] as const] = [...times].toSorted(([, a], [, b]) => b - a);
  const isUsual = times.size <= MOST_OUTCOMES && usual[1] * 2 > runs.length;
  return isUsual ? { outcome: usual[0], times: usual[1] } : null;
}

/** How a run ended, and in which transaction, as far as another one differs. */
function marksOf(run: Step, than: Pick<Step, 'outcome'>, first: Step): string[] {
  const { tone, outcome = null } = run;
  const isOther = outcome !== (than.outcome ?? null);
  const transaction = transactionOf(run);
  return [
    ...(tone === 'bad' ? ['failed'] : isOther ? [outcome ?? 'no result'] : []),
    ...(transaction === transactionOf(first) ? [] : [transaction ?? 'no transaction']),
  ];
}

function runText(text: string, marks: readonly string[]): string {
  return [shorten(text, LONGEST), marks.length === 0 ? '' : `(${marks.join(', ')})`]
    .filter((part) => part !== '')
    .join(' ');
}

/** Few runs are listed; of many the last one, and those that ended in another way than most. */
function fieldsOf(runs: readonly Step[], { texts, shared }: Differing): Field[] {
  const [first = {}] = runs;
  const listed = runs.map((run, at) => runText(texts[at] ?? '', marksOf(run, at === 0 ? {} : first, first)));
  const value = listed
    .slice(shared === null ? 1 : 0)
    .filter((text) => text !== '')
    .join(' · ');
  if (value === '') return [];
  if (runs.length <= MOST_RUNS && value.length <= LONGEST)
    return [{ label: shared === null ? 'Other runs' : 'Runs', value }];
  const usual = usualOutcome(runs);
  const odd = runs.flatMap((run, at) => {
    const isOdd = run.tone === 'bad' || (usual !== null && (run.outcome ?? null) !== usual.outcome);
    const marks = marksOf(run, usual ?? run, first);
    return isOdd ? runText(shorten(texts[at] ?? '', LONGEST_ODD), marks) : [];
  });
  const last = runs.at(-1);
  const isLastOdd = last?.tone === 'bad' || (usual !== null && (last?.outcome ?? null) !== usual.outcome);
  const more = odd.length > MOST_ODD ? ` and ${count(odd.length - MOST_ODD)} more` : '';
  return [
    ...(shared === null ? [] : [{ label: 'First run', value: listed[0] ?? '' }]),
    ...(odd.length === 0
      ? []
      : [{ label: 'Other outcome', value: `${odd.slice(0, MOST_ODD).join(' · ')}${more}` }]),
    ...((texts.at(-1) ?? '') === '' || isLastOdd
      ? []
      : [{ label: 'Last run', value: shorten(texts.at(-1) ?? '', LONGEST) }]),
  ];
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

/** `0 rows in 3 of 6`. */
function outcomeText(runs: readonly Step[]): string | null {
  const usual = usualOutcome(runs);
  if (usual === null)
    return `${runs[0]?.outcome ?? 'no result'} at first, ${runs.at(-1)?.outcome ?? 'no result'} at last`;
  const { outcome, times } = usual;
  return outcome === null || times === runs.length ? outcome : `${outcome} in ${times} of ${runs.length}`;
}

/** The sum is of all runs, also of those that were only counted. */
function folded(runs: readonly Step[], { times, badges: marks }: Sum): Step {
  const [first = {}] = runs;
  const failed = runs.filter(({ tone }) => tone === 'bad');
  const worst = failed[0] ?? first;
  const difference = differenceOf(runs);
  const own = (first.badges ?? []).filter((badge) => badge !== 'failed' && !TRANSACTION.test(badge));
  const badges = [
    ...(failed.length === 0 ? [] : [`${count(failed.length)} failed`]),
    ...transactionsOf(runs),
    ...own,
    ...marks,
  ];
  return {
    ...first,
    tone: worst.tone ?? 'plain',
    href: worst.href ?? null,
    label: labelOf(runs),
    ...(difference.shared === null ? { line: () => tokensOf(first) } : lineOf([['', difference.shared]])),
    ...(first.runs === undefined ? {} : { runs: runs.flatMap((run) => run.runs ?? []) }),
    times: Math.max(runs.length, times),
    // A poll asks until the reply is another one.
    badges: [...new Set(badges)].filter((badge) => badge !== REPEATED || !difference.isAnsweredAnew),
    note: noteOf([
      first.by,
      outcomeText(runs),
      eachText(runs.flatMap(({ took }) => took ?? [])),
      `last at ${durationText(runs.at(-1)?.number)}`,
    ]),
    // Of one request only: its label says nothing of which run it is.
    fields: [
      ...fieldsOf(runs, difference),
      ...(worst.fields ?? []).filter(({ token }) => isOfAll(token, runs)),
    ],
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
  return written.some((step) => (step.number ?? 0) > from && (step.number ?? 0) < to && !runs.includes(step));
}

export function repeatedSteps(steps: readonly Step[], sumOf: (within: string) => Sum): Step[] {
  const groups = new Map<string, Step[]>();
  for (const step of steps) {
    const key = keyOf(step);
    if (key !== null) addTo(groups, key, step);
  }
  const written = steps.filter(({ isWrite }) => isWrite === true);
  const repeated = new Set(
    [...groups.values()].filter(
      (runs) => runs.length > MOST_RUNS || (runs.length >= FOLDED_FROM && !isBroken(runs, written)),
    ),
  );
  return steps.flatMap((step): Step[] => {
    const runs = groups.get(keyOf(step) ?? '') ?? [];
    if (!repeated.has(runs)) return [step];
    return runs[0] === step ? [folded(runs, sumOf(step.within ?? ''))] : [];
  });
}
