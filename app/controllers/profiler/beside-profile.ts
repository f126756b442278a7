/** The part of the overview that no panel recorded: findings with their fix, and the usual figures of its route. */
import { comparedAsText, valuesByName } from '../../panels/shared/compared-as-text.ts';
import { writerSteps } from '../../panels/shared/last-writer.ts';
import { SESSION, sessionWriter } from '../../panels/shared/session-writer.ts';
import { tableWriters, writesOf } from '../../panels/shared/table-writers.ts';
import { ownRequest } from '../../panels/shared/own-request.ts';
import { dataOf, type Kept } from '../../panels/shared/panel-data.ts';
import type { ExplainedFinding, Finding, ReadFinding } from '../../profiler/read/finding.ts';
import type { EarlierRequest, RuleTexts } from '../../profiler/read/finding-rule.ts';
import type { BesideProfile, Panel, Writer } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { RoutePercentiles } from '../../profiler/store/route-summary.ts';
import type { Row } from '../../profiler/read/rows.ts';
import { inTurns, type Steps } from '../../profiler/turns.ts';
import { presentNamed } from '../../render/present-panel.ts';
import { excerptText } from '../../view-helpers/source.ts';
import type { PageServices } from './page-services.ts';
import { OVERVIEW, type ShownProfile } from './profile-model.ts';
import { ranCode, WRAPPER } from './ran-code.ts';
import { readStarted } from './started.ts';
import { readCalled, readTraceAround } from './trace-around.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';

const FEWEST_TIMES = 5;
const RECENT = 100;
const MOST_EXPLAINED = 4;
/** Around the place of a finding, and around the lines that led there. */
const LINES = { before: 3, after: 2 };
const CALLER_LINES = { before: 1, after: 1 };

export function enoughTimes(percentiles: RoutePercentiles | null): RoutePercentiles | null {
  return percentiles === null || percentiles.count < FEWEST_TIMES ? null : percentiles;
}

type SourceFrom = Pick<Profile, 'startedAt'> & Pick<PageServices, 'sourceAt'>;

/** The lines around a place, unless the file was changed since. */
function sourceOf(
  place: string,
  { startedAt, sourceAt }: SourceFrom,
  { before, after } = LINES,
): ExplainedFinding['evidence'] {
  const source = sourceAt(place);
  if (source === null || (source.changedAt ?? 0) > startedAt) return [];
  const line = Number(/\d+$/.exec(place)?.[0]);
  const from = Math.max(source.excerpt.from, line - before);
  const lines = source.excerpt.lines.slice(
    from - source.excerpt.from,
    line + after - source.excerpt.from + 1,
  );
  return [{ label: place, block: { text: excerptText({ from, lines }, line), language: 'ts' } }];
}

function isIn({ label, block: { text } }: ExplainedFinding['evidence'][number], place: string): boolean {
  const [file, line = ''] = place.split(/:(?=\d+$)/);
  return label.startsWith(`${file}:`) && new RegExp(`^>? *${line} \\|`, 'm').test(text);
}

/** The first line that led there and the one that called it, where the reason often is; none that is shown already. */
function sourceAbove(
  path: readonly string[],
  from: SourceFrom,
  own: ExplainedFinding['evidence'],
): ExplainedFinding['evidence'] {
  const above = path
    .flatMap((place) => sourceOf(place, from, CALLER_LINES))
    .filter(({ block }) => !WRAPPER.test(block.text));
  const shown = [...own];
  for (const one of new Set([...above.slice(0, 1), ...above.slice(-1)]))
    if (!shown.some((other) => isIn(other, one.label))) shown.unshift(one);
  return shown;
}

function explain(
  findings: readonly ReadFinding[],
  rules: RuleTexts,
  seen: (finding: Finding) => ExplainedFinding['evidence'],
): ExplainedFinding[] {
  return findings.map((finding, index) => {
    const { rule = '' } = finding;
    const { why = '', fix = '' } = Object.hasOwn(rules, rule) ? (rules[rule] ?? {}) : {};
    return { fix, ...finding, why, evidence: index < MOST_EXPLAINED ? seen(finding) : [] };
  });
}

function checkedBy(rules: RuleTexts, { panels }: Profile): string[] {
  const recorded = ({ needs = [] }: RuleTexts[string]): boolean =>
    needs.every((name) => (panels[name]?.data ?? null) !== null);
  const names = new Map<RuleTexts[string], string>();
  // A rule that was renamed has two names.
  for (const [name, rule] of Object.entries(rules)) if (!names.has(rule)) names.set(rule, name);
  return [...names].filter(([rule]) => recorded(rule)).map(([, name]) => name);
}

const NO_WORK = new Set(['request', 'routing', 'runtime', 'cpu', 'timeline']);

function isOfWork({ name, recorded }: Panel): boolean {
  return recorded?.spans !== undefined && !NO_WORK.has(name);
}

/** It read what others may have written, is a job that another one added, or its address led nowhere. */
function mayNameOthers(profile: Profile): boolean {
  const hasRead = dataOf(profile, 'database') !== null || dataOf(profile, 'cache') !== null;
  const hasSession = dataOf(profile, 'request')?.sessionAndUser?.mark !== undefined;
  return (
    profile.summary === null &&
    (hasRead || hasSession || profile.kind === 'job' || (profile.status ?? 0) >= 400)
  );
}

/** A finding at a handler has no path: the first step of that file leads to the function that it called. */
function firstCalled(
  { place }: Finding,
  work: readonly Panel[],
  rowsOf: (name: string) => readonly Row[],
): string | undefined {
  const file = place?.replace(/:\d+$/, ':');
  if (file === undefined) return undefined;
  for (const { name } of work)
    for (const row of rowsOf(name))
      if (row.path?.at(-1)?.startsWith(file) === true) return row.path.at(-2) ?? row.place ?? undefined;
  return undefined;
}

/** Requests whose failures are shown. */
const MOST_BROKEN = 3;

function writerOf({ startedAt }: Profile, { head, kept }: EarlierRequest<Partial<Kept>>): Writer {
  const { headersAtMs, sentFrom = null } = kept.request?.response ?? {};
  return {
    head,
    isDeleted: false,
    beforeMs: startedAt - head.startedAt - (headersAtMs ?? 0),
    place: sentFrom,
    path: undefined,
  };
}

function* writersOf(
  profile: Profile,
  own: EarlierRequest<Partial<Kept>>,
  { before, overlapping }: Pick<BesideProfile, 'before' | 'overlapping'>,
): Steps<BesideProfile['writers']> {
  const others = new Map([...before, ...overlapping].map((other) => [other.head.token, other]));
  const written = yield* writerSteps(own, [...others.values()]);
  const writers = new Map(
    Array.from(written, ([at, { request, ...how }]) => [at, { head: request.head, ...how }]),
  );
  const ofSession = sessionWriter(own, before);
  if (ofSession !== null) writers.set(SESSION, writerOf(profile, ofSession));
  return writers;
}

/** Findings about time are left out: they explain no value. So are those of a table's writer that are not of its write. */
async function readBroken(
  profiles: PageServices['profiles'],
  { parent, findings }: Profile,
  { writers, tableWriters: ofTables, before }: Pick<BesideProfile, 'writers' | 'tableWriters' | 'before'>,
): Promise<BesideProfile['brokenBefore']> {
  // This one says it itself.
  const own = new Set(findings.map(({ rule, place }) => `${rule} ${place}`));
  const wrote = new Set(Array.from(writers.values(), ({ head }) => head.token));
  const ignored = (before as readonly EarlierRequest<Partial<Kept>>[]).filter(({ kept }) =>
    kept.jobs?.items.some(({ ownId }) => wrote.has(ownId?.doneIn ?? '')),
  );
  const heads = [
    ...ignored.map(({ head }) => head),
    ...Array.from(writers.values(), ({ head }) => head),
    ...before.flatMap(({ head }) => (head.token === parent ? [head] : [])),
  ];
  const known = new Map<string, Pick<Writer, 'head' | 'place'>>();
  for (const one of [...heads.map((head) => ({ head, place: null })), ...ofTables])
    if (!known.has(one.head.token)) known.set(one.head.token, one);
  const named = [...known.values()].slice(0, MOST_BROKEN);
  const broken = await Promise.all(
    named.map(async ({ head, place: at }) => {
      const found = await profiles.read(head.token).catch(() => null);
      const finding = found?.profile.findings.find(
        ({ broke, rule, place = null }) =>
          broke !== undefined && !own.has(`${rule} ${place}`) && (at === null || at === place),
      );
      return finding === undefined ? [] : [{ head, finding }];
    }),
  );
  return broken.flat();
}

/** The condition before the line that sent a refusal, unless the file was changed since. */
function refusedByText(
  profile: Profile,
  sourceAt: PageServices['sourceAt'],
): BesideProfile['comparedAsText'] {
  const place = dataOf(profile, 'request')?.response?.sentFrom;
  if (place === undefined || (profile.status ?? 0) < 400) return null;
  const source = sourceAt(place);
  if (source === null || (source.changedAt ?? 0) > profile.startedAt) return null;
  const line = Number(/\d+$/.exec(place)?.[0]);
  return comparedAsText(source.excerpt, line, valuesByName(ownRequest(profile).kept));
}

export async function readBeside(
  services: Pick<PageServices, 'profiles' | 'rules' | 'sourceAt' | 'definitions'>,
  { profile, amendments, panels, findings }: ShownProfile,
): Promise<BesideProfile> {
  const { profiles, rules } = services;
  const rowsBy = new Map<string, readonly Row[]>();
  function rowsOf(name: string): readonly Row[] {
    const known = rowsBy.get(name);
    if (known !== undefined) return known;
    const { sections } = presentNamed(panels, name, { profile, amendments });
    const rows = sections.flatMap((section) => section.rows);
    rowsBy.set(name, rows);
    return rows;
  }

  const work = panels.filter(
    (panel) => isOfWork(panel) && (profile.panels[panel.name]?.data ?? null) !== null,
  );

  function seen(finding: Finding): ExplainedFinding['evidence'] {
    const { place } = finding;
    const named = place === undefined ? [] : rowsOf(finding.panel).filter(({ label }) => label === place);
    const recorded = named.flatMap(({ label = '', block }) =>
      block?.language === 'ts' ? [{ label, block }] : [],
    );
    const from = { ...services, startedAt: profile.startedAt };
    const shown = recorded.length > 0 ? recorded.slice(0, 1) : sourceOf(finding.place ?? '', from);
    const evidence = sourceAbove(finding.path ?? [], from, shown);
    const called = finding.path === undefined ? firstCalled(finding, work, rowsOf) : undefined;
    return called === undefined ? evidence : sourceAbove([called], from, evidence).toReversed();
  }

  async function readUsual(): Promise<BesideProfile['usual']> {
    const percentiles = enoughTimes(await profiles.routePercentiles(profile));
    const { route, method, startedAt: until } = profile;
    if (percentiles === null || route === null) return null;
    const { rows: recent } = await profiles.find({ route, method, until, counted: false, limit: RECENT });
    return { percentiles, recent };
  }

  async function readCalls(): Promise<Pick<BesideProfile, 'called' | 'started'>> {
    const called = await readCalled(services, profile, await readTraceAround(services, profile));
    return { called, started: await readStarted(services, profile, called) };
  }

  const isSummary = profile.summary !== null;
  const [usual, calls, around, overlapping, before] = await Promise.all([
    readUsual(),
    isSummary ? { called: new Map<string, Profile>(), started: [] } : readCalls(),
    isSummary ? null : profiles.aroundRoute(profile),
    (dataOf(profile, 'runtime')?.concurrent ?? 1) === 1 ? [] : profiles.overlapping(profile),
    mayNameOthers(profile) ? profiles.before(profile) : [],
  ]);
  const own = ownRequest(profile);
  const writers = await inTurns(writersOf(profile, own, { before, overlapping }));
  const ofTables = tableWriters(own, before, new Set(writers.keys()));
  const beside: BesideProfile = {
    findings: explain([...findings.shown, ...findings.folded], rules, seen),
    checked: checkedBy(rules, profile),
    work: work.map(({ name, title }) => ({ name, title, rows: () => rowsOf(name) })),
    ...calls,
    around,
    usual,
    overlapping,
    before,
    writers,
    tableWriters: ofTables,
    brokenBefore: await readBroken(profiles, profile, { writers, tableWriters: ofTables, before }),
    comparedAsText: isSummary ? null : refusedByText(profile, services.sourceAt),
    codeOf: (ran) =>
      ranCode({ ...ran, tables: [...writesOf(own).keys()] }, { ...services, startedAt: profile.startedAt }),
  };
  const overview = panels.find(({ name }) => name === OVERVIEW);
  const made = overview?.prepare?.(profile.panels[OVERVIEW]?.data ?? null, { profile, amendments, beside });
  // One that fails does so again where it is shown.
  if (made !== undefined && !isSummary) await inTurns(made).catch(() => undefined);
  return beside;
}

/** Most profiles name no child and added no job, which saves the query. */
export async function childrenOf(
  { profiles }: Pick<PageServices, 'profiles'>,
  { token, child, panels }: Profile,
): Promise<readonly ProfileIndex[]> {
  const hasJobs = (panels.jobs?.data ?? null) !== null;
  return child === null && !hasJobs ? [] : profiles.children(token);
}
