/**
 * The short Markdown of a profile, about 3,000 tokens: the response, what is wrong with the code that caused it, where the time
 * went. Sections that don't fit share the room.
 */
import { dataOf } from '../../panels/shared/panel-data.ts';
import { isRead } from '../../panels/shared/statements.ts';
import { queryNumbers } from '../../panels/shared/query-numbers.ts';
import { errorText } from '../../profiler/error-text.ts';
import { requestText } from '../../panels/shared/request-text.ts';
import type { ExplainedFinding, Finding } from '../../profiler/read/finding.ts';
import type { RuleTexts } from '../../profiler/read/finding-rule.ts';
import type { BesideProfile } from '../../profiler/panel.ts';
import type { Block, Presentation, Row, Section } from '../../profiler/read/rows.ts';
import { hasTail, type RoutePercentiles } from '../../profiler/store/route-summary.ts';
import { presentNamed } from '../../render/present-panel.ts';
import { sectionMarkdown } from '../../render/rows-markdown.ts';
import { historyText } from '../../view-helpers/history.ts';
import { pathText, shownCallers } from '../../view-helpers/call-path.ts';
import { blocks, code, fence, heading, prose } from '../../view-helpers/markdown.ts';
import { count, durationText, timestampText } from '../../view-helpers/numbers.ts';
import { SLOW_MS } from '../../profiler/read/time-ledger.ts';
import { urls } from '../../urls.ts';
import { cutMarkdown, cutSections } from './cut-markdown.ts';
import type { PageServices } from './page-services.ts';
import { readBeside } from './beside-profile.ts';
import { hasContent, OVERVIEW, type ShownProfile } from './profile-model.ts';
import { codeMarkdown, statusOf } from './profile-markdown.ts';

const LONGEST = 12_000;
const LONGEST_BLOCK = 1500;
const SHORTEST_PART = 600;
const SAMPLES = 3;
const LOG_LINES = 12;
/** Its other sections repeat what stands above or below. */
const OF_OVERVIEW = new Set([
  'received', 'asked', 'sent', 'code', 'started', 'differs-here', 'since', 'beside', 'shares', 'worst', 'usual', 'differs', 'summary', 'not-recorded', 'in-full',
]); // prettier-ignore
/** Without time as the question, it is in the panel. */
const OF_TIME = new Set(['shares', 'usual']);
const ROUTES = 30;

interface ShortMarkdownOptions extends ShownProfile {
  beside: BesideProfile;
  routeTimes: RoutePercentiles | null;
  link: string | null;
  rules: RuleTexts;
  longest?: number;
}

function usually({ count: requests, p50Ms, p95Ms }: RoutePercentiles): string {
  if (p50Ms === null || p95Ms === null) return '';
  const most = hasTail(requests) ? `, 95 % within ${durationText(p95Ms)}` : '';
  return ` (usually ${durationText(p50Ms)}${most}, of ${count(requests, 'request')})`;
}

function headOf({ profile, routeTimes, link }: ShortMarkdownOptions): string {
  const { method, url, route, durationMs, startedAt, token, release, error } = profile;
  const time =
    durationMs === null ? '' : `${durationText(durationMs)}${routeTimes === null ? '' : usually(routeTimes)}`;
  const facts = [
    route === null ? 'no route' : `route ${code(route)}`,
    prose(time),
    timestampText(startedAt),
    `token ${code(token)}`,
    release === null ? '' : `release ${code(release)}`,
  ];
  return blocks([
    `# ${code(`${method} ${url}`, 200)}: ${prose(statusOf(profile))}`,
    facts.filter((fact) => fact !== '').join(' · '),
    link === null ? '' : `<${link}>`,
    error === null ? '' : `Thrown: ${code(errorText(error))}`,
  ]);
}

function blockText({ text, language }: Block): string {
  return fence(text.slice(0, LONGEST_BLOCK), language);
}

function blocksNamed(rows: readonly Row[], names: ReadonlySet<unknown>): string[] {
  return rows
    .filter(({ label }) => label !== undefined && names.has(label))
    .flatMap(({ block }) => (block === undefined ? [] : blockText(block)));
}

/** Its step shows it whole. */
function isShort({ line }: Row): boolean {
  return line?.().every(([, text]) => !text.includes('…')) === true;
}

function evidenceOf(
  { anchor }: Pick<Finding, 'anchor'>,
  { sections }: Presentation,
  isShown: (row: Row) => boolean = isShort,
): string {
  const rows = sections.flatMap(({ rows }) => rows);
  const named = rows.find(({ id }) => anchor !== undefined && id === anchor);
  const members = rows.filter(({ within }) => anchor !== undefined && within === anchor).slice(0, SAMPLES);
  const samples = (members.length > 0 ? members : named === undefined ? [] : [named]).filter(
    (row) => !isShown(row),
  );
  const fields = samples.flatMap((row) => row.fields ?? []);
  const names = new Set<unknown>(fields.map(({ value }) => value));
  const values = fields.filter(({ label, value }) => label === 'Bindings' && value !== null);
  return blocks([
    ...new Set(blocksNamed(rows, names)),
    // A step has what a call sent.
    named?.block === undefined || named.block.language === 'http' ? '' : blockText(named.block),
    values.length === 0
      ? ''
      : `${members.length > 1 ? 'First values' : 'Values'}: ${values.map(({ value }) => code(value, 200)).join('; ')}`,
  ]);
}

/** The lines around a place and around the line that called it, unless the code that ran has them. */
function sourceTexts(evidence: ExplainedFinding['evidence'], code: readonly Row[] = []): string[] {
  const isShown = (place: string): boolean => {
    const [file, line = ''] = place.split(/:(?=\d+$)/);
    const found = code.find(({ label }) => label === file);
    return new RegExp(`^[> ] +${line} \\|`, 'm').test(found?.block?.text ?? '');
  };
  return evidence.flatMap(({ label, block }) =>
    block.language === 'ts' && !isShown(label) ? [blockText(block)] : [],
  );
}

function findingText(
  finding: Finding,
  parts: { fix: string | undefined; within?: string; more?: readonly string[] },
) {
  const { label, severity, sentence } = finding;
  const { fix = '', within = '', more = [] } = parts;
  const place = pathText(finding.place, shownCallers(finding));
  return blocks([
    `**${prose(label)}** (${severity})${within}: ${prose(sentence)}${place === null ? '' : `, at ${code(place)}`}.`,
    fix === '' ? '' : `How to fix it: ${fix}`,
    ...more,
  ]);
}

export function findingParts({
  findings,
  profile,
  panels,
  amendments,
  beside,
}: ShownProfile & { beside?: BesideProfile }): string[] {
  const seen = new Set<string>();
  const overview =
    beside === undefined ? null : presentNamed(panels, OVERVIEW, { profile, amendments, beside });
  const ran = overview?.sections.find(({ id }) => id === 'code')?.rows;
  const all = [...findings.shown, ...findings.folded];
  const proofs = new Map(
    Array.from(new Set(all.map(({ panel }) => panel)), (panel) => [
      panel,
      presentNamed(panels, panel, { profile, amendments }),
    ]),
  );
  return all.map((finding, index) => {
    const { label, panel, code: fixCode, history } = finding;
    const texts = findings.rules.find(({ labels }) => labels.includes(label));
    const evidence = evidenceOf(
      finding,
      proofs.get(panel) ?? { sections: [] },
      beside === undefined ? () => false : isShort,
    );
    const isNew = evidence !== '' && !seen.has(evidence);
    seen.add(evidence);
    const explained = beside?.findings[index];
    const sources =
      explained === undefined ? [] : sourceTexts(explained.evidence, ran).filter((text) => !seen.has(text));
    for (const source of sources) seen.add(source);
    return findingText(finding, {
      fix: finding.fix ?? texts?.fix,
      more: [
        fixCode === undefined ? '' : codeMarkdown(fixCode),
        history === undefined ? '' : prose(historyText(label, history)),
        ...sources,
        isNew ? evidence : '',
      ],
    });
  });
}

/** Faults of requests that led to this one. */
function brokenParts({ beside, rules }: ShortMarkdownOptions): string[] {
  return beside.brokenBefore.map(({ head, finding }) =>
    findingText(finding, {
      within: ` in ${prose(requestText(head))}`,
      fix: finding.fix ?? rules[finding.rule ?? '']?.fix,
    }),
  );
}

function sectionParts(
  { profile, panels, amendments, beside }: ShortMarkdownOptions,
  name: string,
  pick: (section: Section) => Section | null,
): string[] {
  if (!hasContent(profile, name)) return [];
  return presentNamed(panels, name, { profile, amendments, beside })
    .sections.map(pick)
    .map((section) => (section === null ? '' : sectionMarkdown(section).replace(/^### /, '## ')))
    .filter((text) => text !== '');
}

/** A message of thousands of characters must not push out the place and the source below it. */
function withShortBlocks(section: Section): Section {
  const rows = section.rows.map((row): Row => {
    const { block } = row;
    if (block === undefined || block.text.length <= LONGEST_BLOCK) return row;
    const more = count(block.text.length - LONGEST_BLOCK, 'more character');
    return { ...row, block: { ...block, text: `${block.text.slice(0, LONGEST_BLOCK)}…\n${more}` } };
  });
  return { ...section, rows };
}

const lastRows = (most: number) => (section: Section) => ({
  ...section,
  rows: section.rows.slice(-most),
  left: (section.left ?? 0) + Math.max(0, section.rows.length - most),
});

function nothingFound(options: ShortMarkdownOptions): string {
  const { profile, panels, amendments, beside } = options;
  const { sections } = presentNamed(panels, OVERVIEW, { profile, amendments, beside });
  return blocks([
    sections.find(({ id }) => id === 'wrong')?.none ?? 'No rule checked this request.',
    lastStatements(options),
  ]);
}

/** A note of what was done is no write that the request is about, and the last of several may be one. */
const MOST_WRITES = 3;

/** The last writes, else the last read: the whole texts of statements that the steps cut. */
function lastStatements({ profile, panels, amendments }: ShortMarkdownOptions): string {
  const { queries = [], statements = [] } = dataOf(profile, 'database') ?? {};
  const numbers = queryNumbers({ queries, statements });
  const work = queries.flatMap(({ statement }, index) => {
    const sql = statements[statement]?.sql ?? '';
    return sql === '' || numbers[index] === null ? [] : [{ statement, index, isWrite: !isRead(sql) }];
  });
  const last = new Map(work.map(({ statement, index }) => [statement, index]));
  const writes = work.filter(({ statement, index, isWrite }) => isWrite && last.get(statement) === index);
  const shown = writes.length === 0 ? work.slice(-1) : writes.slice(-MOST_WRITES);
  if (shown.length === 0) return '';
  const page = presentNamed(panels, 'database', { profile, amendments });
  return blocks(
    shown.map(({ index, isWrite }) => {
      const evidence = evidenceOf({ anchor: `q${index + 1}` }, page);
      const what = isWrite ? (shown.length === 1 ? 'The last write' : 'A write') : 'The last read';
      return evidence === '' ? '' : blocks([`${what} (query ${numbers[index]}):`, evidence]);
    }),
  );
}

function whatIsWrong(options: ShortMarkdownOptions): string[] {
  const [first, ...others] = [...findingParts(options), ...brokenParts(options)];
  // What names another request is said by the finding of that one.
  const isOwn = ({ fields = [] }: Row): boolean => fields.every(({ token }) => token === undefined);
  const leads = sectionParts(options, OVERVIEW, (section) =>
    section.id === 'leads' ? { ...section, rows: section.rows.filter(isOwn) } : null,
  );
  if (first === undefined) return [...leads, nothingFound(options)];
  return [blocks([heading(2, 'Findings'), first]), ...others, ...leads];
}

function shortMarkdown(options: ShortMarkdownOptions): string {
  const { profile, panels, longest = LONGEST } = options;
  const isSlow = (profile.durationMs ?? Infinity) >= SLOW_MS;
  const first = blocks([
    headOf(options),
    ...sectionParts(options, 'exception', (section) =>
      section.id.endsWith('-trace') ? null : withShortBlocks(section),
    ),
    ...whatIsWrong(options),
  ]);
  const sections = [
    ...(profile.route === null ? sectionParts(options, 'routing', lastRows(ROUTES)) : []),
    ...sectionParts(options, OVERVIEW, (section) =>
      OF_OVERVIEW.has(section.id) && (isSlow || !OF_TIME.has(section.id)) ? section : null,
    ),
    ...sectionParts(options, 'logs', lastRows(LOG_LINES)),
  ];
  const lead = cutMarkdown(first, longest).trimEnd();
  const room = longest - lead.length;
  const recorded = panels.filter(({ name }) => hasContent(profile, name)).map(({ name }) => code(name));
  return `${blocks([
    lead,
    room >= SHORTEST_PART
      ? cutSections(blocks(sections), room, '').trimEnd()
      : sections.length === 0
        ? ''
        : `Left out to keep this short: ${count(sections.length, 'section')}.`,
    `In full by panel: ${recorded.join(', ')}.`,
  ])}\n`;
}

export async function readShortMarkdown(
  services: PageServices,
  shown: ShownProfile,
  { origin, longest }: { origin: string | null; longest?: number },
): Promise<string> {
  const beside = await readBeside(services, shown);
  return shortMarkdown({
    ...shown,
    beside,
    rules: services.rules,
    routeTimes: beside.usual?.percentiles ?? null,
    link: origin === null ? null : `${origin}${urls.profile(shown.profile.token, OVERVIEW)}`,
    ...(longest === undefined ? {} : { longest }),
  });
}
