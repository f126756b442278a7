/** Two profiles -> their differences, from what each panel offers for comparison. Plain data for page, JSON and Markdown. */
import type {
  Comparable,
  ComparedFigure,
  ComparedValue,
  ComparedWork,
} from '../../../profiler/read/comparable.ts';
import type { Finding } from '../../../profiler/read/finding.ts';
import type { Panel } from '../../../profiler/panel.ts';
import type { Profile } from '../../../profiler/profile.ts';
import { createTurns } from '../../../profiler/turns.ts';
import { rowsComparable } from '../../../render/rows-comparable.ts';
import type { FoundProfile } from '../../../profiler/read/profiles.ts';
import { bodyValues } from './compare-bodies.ts';

export const NOTABLE = 0.1;
const NOTABLE_MS = 0.5;
const LONGEST_VALUE = 200;
const LONGEST_SAME = 60;

type Compared = Pick<FoundProfile, 'profile' | 'amendments'>;

interface Side {
  figures: ComparedFigure[];
  work: ComparedWork[];
  values: ComparedValue[];
}

function comparableOf(
  { profile, amendments }: Compared,
  panel: Panel,
  failed: Set<string>,
): Comparable | null {
  const data = profile.panels[panel.name]?.data ?? null;
  if (data === null || panel.rows === undefined) return null;
  try {
    return rowsComparable(panel.rows(data, { profile, amendments }));
  } catch {
    // Another release may have stored another format.
    failed.add(panel.title);
    return null;
  }
}

async function readSide(compared: Compared, panels: readonly Panel[], failed: Set<string>): Promise<Side> {
  const { profile } = compared;
  const time: ComparedFigure[] =
    profile.durationMs === null
      ? []
      : [{ label: 'Time', value: profile.durationMs, unit: 'ms', cost: true, measured: true }];
  const given: Comparable[] = [];
  const between = createTurns();
  for (const panel of panels) {
    const comparable = comparableOf(compared, panel, failed);
    if (comparable !== null) given.push(comparable);
    await between();
  }
  return {
    figures: [...time, ...given.flatMap(({ figures = [] }) => figures)],
    work: given.flatMap(({ work = [] }) => work),
    values: [...given.flatMap(({ values = [] }) => values), ...bodyValues(profile)],
  };
}

interface Pair<T> {
  a: T | null;
  b: T | null;
  either: T;
}

function pairUp<T>(a: readonly T[], b: readonly T[], keyOf: (item: T) => string): Pair<T>[] {
  const pairs = new Map(
    a.map((item): [string, Pair<T>] => [keyOf(item), { a: item, b: null, either: item }]),
  );
  for (const item of b) {
    const before = pairs.get(keyOf(item));
    pairs.set(keyOf(item), { a: before?.a ?? null, b: item, either: before?.either ?? item });
  }
  return [...pairs.values()];
}

function aroundDifference<Row extends { a: string | null; b: string | null }>({ a, b, ...row }: Row) {
  let same = 0;
  while (a?.[same] !== undefined && a[same] === b?.[same]) same++;
  const from = same > LONGEST_SAME ? same - LONGEST_SAME / 2 : 0;
  const cut = (text: string | null): string | null => {
    if (text === null) return null;
    const rest = text.slice(from);
    const kept = rest.length > LONGEST_VALUE ? `${rest.slice(0, LONGEST_VALUE)}…` : rest;
    return from > 0 ? `…${kept}` : kept;
  };
  return { ...row, a: cut(a), b: cut(b) };
}

/** A missing figure is 0 if the request was recorded in full, except for time and memory, which are then unknown. */
function valueOf(
  figure: ComparedFigure | null,
  { unit, measured }: ComparedFigure,
  whole: boolean,
): number | null {
  if (figure !== null) return figure.value;
  return whole && unit !== 'bytes' && measured !== true ? 0 : null;
}

function figureRow(pair: Pair<ComparedFigure>, [wholeA, wholeB]: [boolean, boolean]) {
  const { label, unit, cost } = pair.either;
  const [a, b] = [valueOf(pair.a, pair.either, wholeA), valueOf(pair.b, pair.either, wholeB)];
  const change = a === null || b === null ? null : b - a;
  const ratio = change === null || a === null || a === 0 ? null : change / a;
  const isSmall = unit === 'ms' && Math.abs(change ?? 0) < NOTABLE_MS;
  const isNotable =
    change !== null && change !== 0 && !isSmall && (ratio === null || Math.abs(ratio) >= NOTABLE);
  const tone: 'good' | 'bad' | 'plain' = !isNotable || cost !== true ? 'plain' : change < 0 ? 'good' : 'bad';
  return { label, unit, a, b, change, ratio, tone };
}

function isWhole({ summary }: Profile): boolean {
  return summary === null;
}

type Amount = Pick<ComparedWork, 'times' | 'ms'> | null;

function amountOf(work: ComparedWork | null): Amount {
  return work === null ? null : { times: work.times, ms: work.ms };
}

function isUnchanged(a: Amount, b: Amount): boolean {
  if (a === null || a.times !== b?.times) return false;
  const change = Math.abs((b.ms ?? 0) - (a.ms ?? 0));
  return change < NOTABLE_MS || change < NOTABLE * (a.ms ?? 0);
}

function workRow({ a: left, b: right, either }: Pair<ComparedWork>) {
  const [a, b] = [amountOf(left), amountOf(right)];
  const where: 'a' | 'b' | 'both' = left === null ? 'b' : right === null ? 'a' : 'both';
  return {
    label: either.label,
    tokens: either.tokens ?? null,
    mark: left?.mark ?? right?.mark ?? null,
    in: where,
    a,
    b,
    unchanged: isUnchanged(a, b),
  };
}

function weightOf({ a, b }: WorkRow): number {
  return Math.abs((b?.ms ?? 0) - (a?.ms ?? 0));
}

function layersLast(left: string, right: string): number {
  return Number(left === 'Middleware') - Number(right === 'Middleware');
}

function sectionsOf(a: readonly ComparedWork[], b: readonly ComparedWork[]) {
  const titles = new Set([...a, ...b].map(({ section }) => section));
  return [...titles].sort(layersLast).map((title) => {
    const inIt = ({ section }: ComparedWork): boolean => section === title;
    const rows = pairUp(a.filter(inIt), b.filter(inIt), ({ key }) => key)
      .map(workRow)
      .sort((left, right) => weightOf(right) - weightOf(left));
    const count = (where: WorkRow['in']): number => rows.filter((row) => row.in === where).length;
    return { title, onlyA: count('a'), onlyB: count('b'), both: count('both'), rows };
  });
}

function keyOfFinding({ label, panel, place, sentence }: Finding): string {
  // The place of what blocked the process is an estimate: the same block may be put at the handler once, at a function of it the other time.
  if (panel === 'runtime') return JSON.stringify([label, panel]);
  return JSON.stringify([label, panel, place ?? sentence.replace(/\d+(?:\.\d+)?/g, '#')]);
}

export interface FindingChange {
  word: 'Gone' | 'Still there' | 'New' | 'only in A' | 'only in B' | 'in both';
  findings: readonly Finding[];
  side: 'a' | 'b';
}

/** `repeated`: which of the two is the other one, sent again; null: neither. The gone ones come first, if it was sent again. */
export function findingChanges(
  { gained, lost, stayed }: Comparison['findings'],
  repeated: 'A' | 'B' | null,
): FindingChange[] {
  const onlyA = { findings: lost, side: 'a' as const };
  const onlyB = { findings: gained, side: 'b' as const };
  const both = { findings: stayed, side: 'b' as const };
  if (repeated === null)
    return [
      { word: 'only in B', ...onlyB },
      { word: 'only in A', ...onlyA },
      { word: 'in both', ...both },
    ];
  const [gone, come] = repeated === 'B' ? [onlyA, onlyB] : [onlyB, onlyA];
  return [
    { word: 'New', ...come },
    { word: 'Still there', ...both },
    { word: 'Gone', ...gone },
  ];
}

const MOST_LABELS = 3;

export function verdictOf(changes: readonly FindingChange[]): string {
  const parts = changes.flatMap(({ word, findings }) => {
    const labels = [...new Set(findings.map(({ label }) => label))];
    if (labels.length === 0) return [];
    const more = labels.length > MOST_LABELS ? ` and ${labels.length - MOST_LABELS} more` : '';
    return [`${word}: ${labels.slice(0, MOST_LABELS).join(', ')}${more}`];
  });
  return parts.length === 0 ? 'Requested again: no findings before or after' : parts.toReversed().join('. ');
}

export async function compareProfiles(one: Compared, other: Compared, panels: readonly Panel[]) {
  const failed = new Set<string>();
  const [a, b] = [one.profile, other.profile];
  const left = await readSide(one, panels, failed);
  const right = await readSide(other, panels, failed);
  const values = pairUp(left.values, right.values, ({ section, name }) =>
    JSON.stringify([section, section.endsWith('header') ? name.toLowerCase() : name]),
  ).map(({ a: one, b: other, either: { section, name } }) => ({
    section,
    name,
    a: one?.value ?? null,
    b: other?.value ?? null,
  }));
  const findings = pairUp(a.findings, b.findings, keyOfFinding);
  const stayed = findings.flatMap((pair) => (pair.a === null ? [] : (pair.b ?? [])));
  return {
    figures: pairUp(left.figures, right.figures, ({ label }) => label).map((pair) =>
      figureRow(pair, [isWhole(a), isWhole(b)]),
    ),
    work: sectionsOf(left.work, right.work),
    values: values.filter((row) => row.a !== row.b).map(aroundDifference),
    valuesAlike: values.filter((row) => row.a === row.b).length,
    findings: {
      gained: findings.flatMap((pair) => (pair.a === null ? [pair.either] : [])),
      lost: findings.flatMap((pair) => (pair.b === null ? [pair.either] : [])),
      stayed,
      both: stayed.length,
    },
    failed: [...failed],
  };
}

export type Comparison = Awaited<ReturnType<typeof compareProfiles>>;
export type FigureRow = ReturnType<typeof figureRow>;
export type WorkSection = ReturnType<typeof sectionsOf>[number];
export type WorkRow = ReturnType<typeof workRow>;
export type ValueRow = Comparison['values'][number];
