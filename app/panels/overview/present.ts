/** The overview: one model, from which page, Markdown, JSON and agents have the same rows. */
import type { ExplainedFinding } from '../../profiler/read/finding.ts';
import type { PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { Field, Presentation, Row, Section } from '../../profiler/read/rows.ts';
import { atOnce, type Steps } from '../../profiler/turns.ts';
import { valueText } from '../../view-helpers/amount.ts';
import { historyText } from '../../view-helpers/history.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { besideSections } from './beside.ts';
import { type Difference, type Differences, differencesOf } from './differences.ts';
import { type Measure, type Usual, usualOf } from './usual.ts';
import { SLOW_MS } from '../../profiler/read/time-ledger.ts';
import { WHY_SUMMARY } from '../../profiler/record/recording-limit.ts';
import { summarySections } from './summary.ts';
import { type WorkRow, workOf } from './work.ts';
import { NOBODY, type OverviewData, type Ran } from './ran.ts';
import { answeredRow, comparedRow, changedRows, type Verdict, verdictOf } from './verdict.ts';
import { shareRow, sharesNote, timelineOf } from '../shared/timeline-data.ts';
import { type ComparedValue, compareValues } from '../shared/compare-values.ts';
import { thrownAt } from '../shared/kept-panels.ts';
import { dataOf } from '../shared/panel-data.ts';
import { isRead } from '../shared/statements.ts';
import { askedSteps } from './asked.ts';
import { receivedSteps } from './received.ts';
import { sentSteps } from './sent.ts';
import { type Step, withoutForm } from './step.ts';
import { totalRow } from './total.ts';
import { brokenBeforeRows, otherRows, originSteps, sessionSteps } from './written-by.ts';

export interface Exchange {
  sections: Section[];
  /** The functions that ran. */
  code: Section;
  changed: ComparedValue[];
}

function section(id: string, title: string, rows: readonly Row[], more: Partial<Section> = {}): Section {
  return {
    id,
    title,
    unit: 'at',
    columns: { number: 'At', label: 'What', text: 'Value', place: 'Line' },
    rows,
    ...more,
  };
}

function inOrder(steps: readonly Step[]): Step[] {
  return steps.toSorted((a, b) => (a.number ?? 0) - (b.number ?? 0));
}

const NUMBERED_MARK = /\[masked \d+, /g;
const OF_MARKS = 'Masked values with the same number are equal.';

function rowNamed(sections: readonly Section[], name: string): Row[] {
  return sections.flatMap(({ rows }) => rows.filter(({ label }) => label === name));
}

function* exchangeOf(
  { profile, beside }: Pick<PresentFrom, 'profile' | 'beside'>,
  ran: Ran,
): Steps<Exchange> {
  const all = compareValues({
    request: dataOf(profile, 'request'),
    database: dataOf(profile, 'database'),
  });
  const compared = all.map(withoutForm);
  const asked = yield* askedSteps(profile, { beside, compared });
  const session = beside === undefined ? [] : sessionSteps(profile, beside);
  const sections = [
    section('received', 'Received', [
      ...session,
      ...originSteps(profile, beside?.before ?? []),
      ...inOrder(receivedSteps(profile, { ran, compared })),
    ]),
    section('asked', 'Steps', asked.steps, { left: asked.left }),
    section('sent', 'Sent', sentSteps(profile, { ran, compared, isAsRead: session.length > 0 })),
  ].filter(({ rows }) => rows.length > 0);
  const marks = sections.map(({ rows }) =>
    rows.flatMap(({ text }) => (typeof text === 'string' ? (text.match(NUMBERED_MARK) ?? []) : [])),
  );
  const found = beside?.findings.map(({ label, place, path }) => ({ label, place, path })) ?? [];
  const thrown = thrownAt(profile);
  const code =
    beside === undefined
      ? []
      : yield* beside.codeOf({
          steps: [
            ...asked.steps,
            ...rowNamed(sections, 'status'),
            ...found,
            ...(found.some(({ place }) => place === thrown) ? [] : [{ label: 'thrown', place: thrown }]),
          ],
          others: otherRows(beside),
          handlers: rowNamed(sections, 'handler').flatMap(({ place }) => place ?? []),
          reached: ran.handler?.handler ?? null,
          middleware: ran.registered,
        });
  const masked = new Set(marks.flat()).size < 2 ? -1 : marks.findIndex((of) => of.length > 0);
  return {
    sections: sections.map((one, at) => (at === masked ? { ...one, note: OF_MARKS } : one)),
    code: { id: 'code', title: 'Code', rows: code },
    changed: all.filter(({ change }) => change === 'value' || change === 'type'),
  };
}

function workRow({ label, durationMs, startMs, badges, after, outside }: WorkRow): Row {
  return {
    text: label,
    number: durationMs,
    badges: badges.map((badge) => badge.label),
    note: after ? 'after the response' : outside ? 'outside of the request’s time' : null,
    fields: [{ label: 'Start', value: startMs, unit: 'at' }],
  };
}

function measureRow({ label, unit, value, p50, p95, tone }: Measure): Row {
  const fields: Field[] = [
    { label: 'This one', value: valueText(value, unit) },
    { label: 'Median', value: valueText(p50, unit) },
    ...(p95 === null ? [] : [{ label: 'p95', value: valueText(p95, unit) }]),
  ];
  return { label, tone, fields };
}

function usualSections(usual: Usual | null): Section[] {
  if (usual === null) return [];
  const { count, compared, measures, differences } = usual;
  return [
    {
      id: 'usual',
      title: 'Usual for this route',
      note: `last ${numberHelpers.count(count, 'request')}`,
      columns: { label: 'What' },
      rows: measures.map(measureRow),
    },
    {
      id: 'differs',
      title: 'Different this time',
      note: `compared with the last ${numberHelpers.count(compared)}`,
      rows: differences.map(({ text }) => ({ text })),
    },
  ];
}

function findingsOf({
  profile,
  beside,
}: Pick<PresentFrom, 'profile' | 'beside'>): readonly ExplainedFinding[] {
  return (
    beside?.findings ?? profile.findings.map((finding) => ({ ...finding, why: '', fix: '', evidence: [] }))
  );
}

const COST_MS = 10;
const COST_SHARE = 0.1;

/** Whether time is the question: a finding says that it was lost, and none that the response is wrong. */
function isOfTime({ profile }: PresentFrom, findings: readonly ExplainedFinding[]): boolean {
  const durationMs = profile.durationMs ?? 0;
  const isCostly = findings.some(
    ({ severity, costMs = 0 }) => severity !== 'info' && costMs >= Math.max(COST_MS, durationMs * COST_SHARE),
  );
  return isCostly && durationMs >= SLOW_MS && findings.every(({ broke }) => broke !== 'response');
}

export interface Overview {
  findings: readonly ExplainedFinding[];
  verdict: Verdict;
  leads: Row[];
  exchange: Exchange;
  usual: Usual | null;
  beside: Section[];
  isOfTime: boolean;
}

/** Work that a success rarely leaves out on purpose. An empty list spares reads, and another view than usual is no less work. */
function isMissed({ kind, text }: Difference): boolean {
  if (kind === 'query') return !isRead(text);
  return kind === 'call' ? !text.startsWith('GET ') : kind === 'job' || kind === 'middleware';
}

/** null: it ran everything that it usually runs, or a refusal did not come to it. */
function unusualText({ status }: Profile, differences: Differences | null): string | null {
  if (differences === null || !differences.missing.some(isMissed)) return null;
  if (differences.count === 0) return 'Similar routes run middleware that this one does not.';
  return (status ?? 500) < 400 ? 'It did less than this route usually does.' : null;
}

/** By what stands beside a profile, which each reading has of its own: a page shows several parts of one. */
const known = new WeakMap<object, Overview>();

export function* overviewSteps(data: OverviewData, from: PresentFrom): Steps<Overview> {
  const made = known.get(from.beside ?? data) ?? (yield* makeOverview(data, from));
  if (from.beside !== undefined) known.set(from.beside, made);
  return made;
}

export function overviewOf(data: OverviewData, from: PresentFrom): Overview {
  return atOnce(overviewSteps(data, from));
}

function* makeOverview({ ran = NOBODY }: OverviewData, from: PresentFrom): Steps<Overview> {
  const findings = findingsOf(from);
  const exchange = yield* exchangeOf(from, ran);
  const usual = usualOf(from.profile, from.beside);
  const differences = yield* differencesOf(from.beside?.around ?? null);
  const changes = changedRows(from, exchange.changed);
  const beside = besideSections(from, differences);
  yield;
  const broken = from.beside === undefined ? [] : brokenBeforeRows(from.beside);
  const leads = [
    ...answeredRow(from, ran),
    ...comparedRow(from),
    ...changes,
    ...totalRow(from.profile),
    ...broken,
  ];
  return {
    findings,
    verdict: verdictOf(from, {
      changes: changes.length,
      broken: broken.length,
      unusual: leads.length > 0 ? null : unusualText(from.profile, differences),
    }),
    leads,
    exchange,
    usual,
    beside,
    isOfTime: isOfTime(from, findings),
  };
}

export function presentOverview(data: OverviewData, from: PresentFrom): Presentation {
  const { profile } = from;
  if (data.summary !== undefined && profile.summary !== null)
    return { lead: [WHY_SUMMARY[profile.summary]], sections: summarySections(profile, data.summary) };
  const { findings, verdict, leads, exchange, usual, beside, isOfTime: isTime } = overviewOf(data, from);
  const timeline = timelineOf(profile);
  return {
    sections: [
      {
        id: 'wrong',
        title: 'Findings',
        columns: { label: 'Finding', text: 'What', note: 'How to fix it' },
        rows: findings.map(({ label, severity, sentence, place, fix, history }): Row => ({
          label,
          text: sentence,
          tone: severity === 'info' ? 'plain' : severity,
          place: place ?? null,
          note: fix,
          ...(history === undefined
            ? {}
            : { fields: [{ label: 'History', value: historyText(label, history) }] }),
        })),
        none: verdict.text,
      },
      { id: 'leads', title: 'Stands out', columns: { label: 'What' }, rows: leads },
      ...beside,
      ...exchange.sections,
      exchange.code,
      {
        id: 'shares',
        title: 'Where the time went',
        columns: { text: 'What' },
        ...(timeline === null ? {} : { note: sharesNote(timeline) }),
        rows: timeline === null ? [] : timeline.shares.map((share) => shareRow(share, timeline.totalMs)),
      },
      {
        id: 'worst',
        title: 'Failed and slow',
        columns: { text: 'What', number: 'Duration' },
        rows: isTime ? (workOf(profile, findings)?.rows ?? []).map(workRow) : [],
      },
      ...usualSections(usual),
    ],
  };
}
