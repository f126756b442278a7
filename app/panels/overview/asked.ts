/** The steps of a request, in the order in which they were asked for: statements, cache commands, calls, jobs, mails, and work of own panels. */
import type { BesideProfile } from '../../profiler/panel.ts';
import { isRecord, type Json } from '../../profiler/json.ts';
import type { Profile } from '../../profiler/profile.ts';
import { type Field, isInLibrary, type Row } from '../../profiler/read/rows.ts';
import { shorten } from '../../profiler/read/span.ts';
import { isControl } from '../../profiler/transaction-sql.ts';
import type { Steps } from '../../profiler/turns.ts';
import { noteOf, valueText } from '../../view-helpers/amount.ts';
import { bytesText, count, durationText } from '../../view-helpers/numbers.ts';
import type { DatabaseQuery } from '../database/data.ts';
import type { CallBodyEntry, CallEntry } from '../http-client/data.ts';
import { namedHeader, type NamedValue } from '../../profiler/record/raw-headers.ts';
import { hasFailed } from '../shared/failed-call.ts';
import { foundRows } from '../shared/found-rows.ts';
import { addressOf } from '../../render/rows-page.ts';
import type { ComparedValue } from '../shared/compare-values.ts';
import { isPage, pageText } from '../shared/page-text.ts';
import { parseBeginning } from '../shared/json-leaves.ts';
import { dataOf } from '../shared/panel-data.ts';
import { numbersAsText } from '../shared/number-as-text.ts';
import { type ReceivedField, receivedFields } from '../shared/received.ts';
import { queryNumbers } from '../shared/query-numbers.ts';
import { unnamedChanges } from '../shared/row-changes.ts';
import { isByItself, MOST_HEADERS } from './received.ts';
import { repeatedSteps } from './repeated.ts';
import { receivedAs, type Step } from './step.ts';
import type { CodeToken } from '../../view-helpers/code.ts';
import { isRead } from '../shared/statements.ts';
import { textOf, valueLine } from '../../view-helpers/value-line.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { writtenBy } from './written-by.ts';

const MOST = 40;
const MOST_LINES = 6;
/** Facts of steps that are only counted past the recording limit, and not by a row that sums them up. */
const COUNTED = ['cache', 'call', 'view'];
const LOOPS = new Set(['N+1', 'writes in a loop']);
const LONGEST_BODY = 160;
const LONGEST_ARGUMENTS = 120;
const LONGEST_LOCALS = 600;
const LONGEST_FOUND = 360;
const LONGEST_COMMON = 80;
const LONGEST_CHANGED = 160;
/** A shorter statement leaves more room for its rows. */
const LONGEST_STATEMENT = 240;
/** Milliseconds within which steps start together. */
const TOGETHER_MS = 1;
const WORDS: Readonly<Record<string, string>> = {
  cache: 'redis',
  http_client: 'call',
  jobs: 'job',
  mail: 'mail',
  processes: 'process',
  views: 'view',
  graphql: 'graphql',
  spans: 'span',
};

interface Asked {
  steps: Step[];
  left: number;
}

function fieldOf({ fields = [] }: Row, label: string): Field | undefined {
  return fields.find((field) => field.label === label);
}

const SETTING = /^\s*(?:set(?!\s+transaction\b)|pragma)\b/i;

function foundTokens(
  found: Json | undefined,
  {
    left = 0,
    common = {},
    longest = LONGEST_FOUND,
  }: { left?: number; common?: Record<string, Json>; longest?: number } = {},
): CodeToken[] {
  if (found === undefined) return [];
  const json = typeof found === 'string' ? parseBeginning(found) : undefined;
  const each: CodeToken[] =
    Object.keys(common).length === 0
      ? []
      : [['c', ', each with '], ...valueLine(common, { longest: LONGEST_COMMON })];
  const more: CodeToken[] = left > 0 ? [['c', ` and ${count(left, 'more row')}`]] : [];
  const value = valueLine(json?.value ?? found, { longest });
  const isCut = json?.isWhole === false && !textOf(value).endsWith('…');
  const end: CodeToken[] = isCut ? [['c', ', … the rest is not recorded']] : [];
  return [['c', ' → '], ...value, ...end, ...each, ...more];
}

function isTooLong(found: Json, longest: number): boolean {
  return textOf(valueLine(found, { longest })).endsWith('…');
}

/** Rows of a join repeat the columns of one side: those come once, after the others. */
function commonIn(found: readonly Record<string, Json>[]): Record<string, Json> {
  const [first = {}, ...others] = found;
  const isSame = (name: string, value: Json): boolean =>
    others.every((row) => JSON.stringify(row[name]) === JSON.stringify(value));
  const common =
    others.length === 0 ? [] : Object.entries(first).filter(([name, value]) => isSame(name, value));
  return common.length === Object.keys(first).length ? {} : Object.fromEntries(common);
}

/** Whole rows, as many as fit. */
function rowsTokens(query: DatabaseQuery, statementLength: number): CodeToken[] {
  const longest = LONGEST_FOUND + Math.max(0, LONGEST_STATEMENT - statementLength);
  const found = foundRows(query);
  const { rows } = query;
  const [first] = found;
  if (rows === 1 || first === undefined) return foundTokens(first, { longest });
  const common = isTooLong(found, longest) ? commonIn(found) : {};
  const list = found.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !Object.hasOwn(common, name))),
  );
  // What a single row more takes is hardly longer than that it is left out.
  const room = list.length === rows && !isTooLong(list.slice(0, -1), longest) ? longest * 1.5 : longest;
  let shown = list.length;
  while (shown > 1 && isTooLong(list.slice(0, shown), room)) shown--;
  return foundTokens(list.slice(0, shown), {
    left: (rows ?? list.length) - shown,
    common,
    longest: room,
  });
}

function bodyLeaves(profile: Profile): ReceivedField[] {
  return receivedFields(dataOf(profile, 'request') ?? {}).filter(({ from }) => from === 'body');
}

/** Of a row that was read before, too. */
function alsoChanged(profile: Profile, index: number): Field[] {
  const database = dataOf(profile, 'database');
  const changed = database === null ? null : unnamedChanges(database, index);
  if (database === null || changed === null) return [];
  const texts = shorten(changed.texts.join(' · '), LONGEST_CHANGED);
  const since = queryNumbers(database)[changed.since] ?? '';
  return [{ label: 'Also changed', value: `${texts} since query ${since}, named by no write` }];
}

function queryStep(
  row: Row,
  index: number,
  profile: Profile,
  compared: readonly ComparedValue[],
): Step | null {
  const { statements = [], queries = [] } = dataOf(profile, 'database') ?? {};
  const query = queries[index];
  const { sql = '', above } = statements[query?.statement ?? -1] ?? {};
  if (SETTING.test(sql)) return null;
  const changed = compared.filter(({ bound }) =>
    bound.some((at) => at.query === index && at.change !== null),
  );
  const names = new Set(changed.flatMap(({ bound }) => bound.map(({ field }) => field)));
  const statement: readonly CodeToken[] = row.line?.(names) ?? [['', valueText(row.text)]];
  const tokens =
    query === undefined ? statement : [...statement, ...rowsTokens(query, textOf(statement).length)];
  const isOfTransaction = isControl(sql);
  const number = row.fields?.find(({ label }) => label === 'Query')?.value;
  const asText = isRead(sql) ? numbersAsText(bodyLeaves(profile), { query, queries }) : [];
  return {
    ...row,
    isWrite: !isOfTransaction && !isRead(sql),
    label: isOfTransaction ? 'transaction' : `query ${Number(number)}`,
    text: textOf(tokens),
    line: () => tokens,
    note: isOfTransaction ? null : row.note,
    by: above ?? null,
    badges: (row.badges ?? []).filter((badge) => badge !== 'plan'),
    fields: [...receivedAs(changed, asText), ...alsoChanged(profile, index)],
  };
}

/** `184 B, application/pdf`: bytes are not recorded. */
function bytesTokens(headers: readonly NamedValue[]): CodeToken[] {
  const bytes = Number(namedHeader(headers, 'content-length') ?? 0);
  const type = namedHeader(headers, 'content-type') ?? 'no type';
  return bytes > 0 ? [['c', `${bytesText(bytes)}, ${type.replace(/;.*$/s, '').slice(0, 60)}`]] : [];
}

function bodyTokens(
  body: CallBodyEntry | undefined,
  headers: readonly NamedValue[],
  longest = LONGEST_BODY,
): CodeToken[] {
  if (body === undefined || body.text === null) return bytesTokens(headers);
  const text = body.text ?? '';
  if (text === '') return [];
  const json = parseBeginning(text);
  return json === undefined
    ? [['', (isPage(text) ? pageText(text, LONGEST_BODY) : text.slice(0, LONGEST_BODY)).toWellFormed()]]
    : valueLine(json.value, { longest, isShape: true });
}

const OF_CLIENT = /^(?:accept|accept-.*|content-.*|user-agent|origin|amz-sdk-.*)$/i;

function headersOf(headers: readonly { name: string; value: string }[]): Field[] {
  const deciding = headers.filter(
    ({ name }) => name.toLowerCase() === 'cookie' || !(isByItself(name) || OF_CLIENT.test(name)),
  );
  const texts = deciding
    .slice(0, MOST_HEADERS)
    .map(({ name, value }) => `${name.toLowerCase()}: ${value.slice(0, 80)}`);
  return texts.length === 0 ? [] : [{ label: 'Headers', value: texts.join(' · ').toWellFormed() }];
}

function profileField({ method, url, token }: Profile): Field {
  return { label: 'Its profile', value: `${method} ${pathOf(url)} (${token})`, token };
}

const KEY = 'idempotency-key';

/** The last failed call before that had the same method, address, body and key. */
function retriedNote(calls: readonly CallEntry[], index: number): string | null {
  const call = calls[index];
  const asked = ({ method, url, requestBody, requestHeaders }: CallEntry): string =>
    JSON.stringify([method, url, requestBody?.text ?? null, namedHeader(requestHeaders, KEY) ?? null]);
  const failed =
    call === undefined
      ? undefined
      : calls.slice(0, index).findLast((one) => hasFailed(one) && asked(one) === asked(call));
  return failed === undefined ? null : `again, after the ${failed.status ?? 'error'}`;
}

function callStep(row: Row, index: number, { profile, called }: Omit<StepOf, 'written'>): Step {
  const answeredBy = called?.get(row.id ?? '');
  const { calls = [] } = dataOf(profile, 'http_client') ?? {};
  const { requestBody, responseBody, requestHeaders = [], responseHeaders = [] } = calls[index] ?? {};
  const sent = bodyTokens(requestBody, requestHeaders);
  const got = bodyTokens(responseBody, responseHeaders, LONGEST_FOUND);
  const tokens: CodeToken[] = [
    [
      '',
      `${row.label ?? ''} ${valueText(row.text)
        .replace(/^https?:\/\//, '')
        .replace(/%5B/gi, '[')
        .replace(/%5D/gi, ']')}`,
    ],
    ...(sent.length === 0 ? [] : ([['', ' '], ...sent] as CodeToken[])),
    ...(got.length === 0 ? [] : ([['c', ' → '], ...got] as CodeToken[])),
  ];
  return {
    ...row,
    isWrite: row.label !== 'GET' && row.label !== 'HEAD',
    label: 'call',
    text: textOf(tokens),
    line: () => tokens,
    note: noteOf([retriedNote(calls, index), row.note]),
    fields: [...headersOf(requestHeaders), ...(answeredBy === undefined ? [] : [profileField(answeredBy)])],
  };
}

function dataText({ block }: Row): string {
  if (block?.language !== 'json') return '';
  const json = parseBeginning(block.text);
  return json === undefined ? '' : ` ${textOf(valueLine(json.value, { longest: LONGEST_BODY }))}`;
}

function otherStep(row: Row, panel: { name: string; title: string }): Step {
  const { line: _line, ...plain } = row;
  const { label, text, fields = [] } = row;
  const values = fieldOf(row, 'Arguments')?.value;
  // Of a script, the key is one of the arguments.
  const key = panel.name === 'cache' && SCRIPT.test(label ?? '') && typeof values === 'string' ? null : text;
  const parts = [label, key === undefined || key === null ? undefined : valueText(key)];
  const said = fields.filter(
    ({ label: name, value }) => SAID.has(name) && value !== null && value !== undefined,
  );
  const args =
    panel.name === 'cache' && typeof values === 'string' ? ` ${shorten(values, LONGEST_ARGUMENTS)}` : '';
  return {
    ...plain,
    label: WORDS[panel.name] ?? panel.title.toLowerCase().slice(0, 20),
    text: `${parts.filter((part) => part !== undefined).join(panel.name === 'jobs' ? '/' : ' ')}${args}${dataText(row)}`,
    note: noteOf([
      row.note,
      ...said.map(({ label: name, value, unit }) => `${name.toLowerCase()} ${valueText(value, unit)}`),
    ]),
    fields: [],
  };
}

function cacheStep(row: Row, index: number, profile: Profile): Step {
  const { found, system } = dataOf(profile, 'cache')?.items[index] ?? {};
  const other = otherStep(row, { name: 'cache', title: '' });
  const step = system === 'memory' ? { ...other, label: 'cache' } : other;
  // A word each: runs of a group differ in some.
  const words = valueText(step.text).split(/(?<= )/);
  const tokens = [...words.map((word): CodeToken => ['', word]), ...foundTokens(found?.value)];
  return { ...step, text: textOf(tokens), line: () => tokens };
}

function viewStep(row: Row): Step {
  // How long its partials took is theirs to say.
  const other = otherStep({ ...row, note: null }, { name: 'views', title: '' });
  const file = fieldOf(row, 'File')?.value;
  const step = { ...other, note: noteOf([other.note, typeof file === 'string' ? file : null]) };
  const locals = fieldOf(row, 'Locals')?.value;
  if (!isRecord(locals) || Object.keys(locals).length === 0) return step;
  const tokens: CodeToken[] = [
    ['', `${valueText(step.text)} `],
    ...valueLine(locals, { longest: LONGEST_LOCALS }),
  ];
  return { ...step, text: textOf(tokens), line: () => tokens };
}

const SCRIPT = /^(?:EVAL|FCALL)/;
const SAID = new Set([
  'Own id',
  'Reply',
  'Lifetime',
  'Delay',
  'Cc',
  'Bcc',
  'Attached',
  'Refused',
  'Exit code',
]);

/** It keeps sessions or counts for itself; a statement of another library is the application's, although its line is lost. */
const IN_STORE = /node_modules\/(?:@[^/]+\/)?[^/]*(?:session|connect-|rate-?limit)[^/]*\//;

interface StepOf {
  panel: { name: string; title: string };
  profile: Profile;
  compared: readonly ComparedValue[];
  called: BesideProfile['called'] | undefined;
  written: ReadonlyMap<string, Field>;
}

function madeStep(row: Row, index: number, of: Omit<StepOf, 'written'>): Step | null {
  const { panel, profile, compared } = of;
  switch (panel.name) {
    case 'database':
      return queryStep(row, index, profile, compared);
    case 'http_client':
      return callStep(row, index, of);
    case 'cache':
      return cacheStep(row, index, profile);
    case 'views':
      return viewStep(row);
    default:
      return otherStep(row, panel);
  }
}

/** How long it waited before it was sent; a command of Redis starts before its wait. */
function waitedMs(index: number, name: string, profile: Profile): number {
  const database = name === 'database' ? dataOf(profile, 'database') : undefined;
  const query = database?.queries[index];
  // A wait that no statement followed starts when it began.
  return query === undefined || database?.statements[query.statement]?.sql === '' ? 0 : query.waitMs;
}

/** Work of which several may run at once, and that somebody waits for. */
const AWAITED = new Set(['database', 'http_client', 'jobs']);

function stepOf(row: Row, index: number, { written, ...of }: StepOf): Step | null {
  const { panel, profile } = of;
  const startMs = fieldOf(row, 'Start')?.value;
  if (typeof startMs !== 'number') return null;
  // What a library asks to do its work, such as a queue of Redis, says less than that it was asked. A call leaves the process.
  const isShown =
    panel.name === 'http_client' || (panel.name === 'database' && !IN_STORE.test(row.place ?? ''));
  if (isInLibrary(row.place) && !isShown) return null;
  const error = fieldOf(row, 'Error')?.value;
  const made = madeStep(row, index, of);
  if (made === null) return null;
  const took = row.number === null || row.number === undefined ? 'not finished' : durationText(row.number);
  // Of a cache in the process.
  const storer = fieldOf(row, 'Stored by');
  const { detail: _detail, block: _block, within, ...step } = made;
  const writer = written.get(`${panel.name} ${index}`);
  const askedMs = Math.max(0, startMs - waitedMs(index, panel.name, profile));
  return {
    ...step,
    place: isInLibrary(step.place) ? null : step.place,
    ...(within === undefined ? {} : { within: `${panel.name} ${within}` }),
    // A cache that has not got a value is nothing to warn of.
    tone: made.tone === 'bad' ? 'bad' : 'plain',
    number: askedMs,
    ...(AWAITED.has(panel.name) ? { runs: [{ askedMs, endMs: startMs + (row.number ?? Infinity) }] } : {}),
    depth: 0,
    outcome: made.note ?? null,
    took: { startMs, durationMs: row.number ?? null },
    note: noteOf([made.by, made.note, row.number === 0 ? null : took]),
    fields: [
      ...(made.fields ?? []),
      ...[writer ?? storer ?? []].flat(),
      ...(error === null || error === undefined ? [] : [{ label: 'Error', value: error }]),
    ],
    href:
      row.id === undefined
        ? addressOf(panel.name, {})
        : `${addressOf(panel.name, { open: row.id })}#${row.id}`,
  };
}

/** `asked for before query 2 was answered`: it did not wait for the step above, and did not start with it. */
function overlapNote(step: Step, above: Step | undefined): string | null {
  const askedMs = step.runs?.[0]?.askedMs;
  const running = above?.runs?.filter((run) => run.askedMs <= (askedMs ?? 0) && run.endMs > (askedMs ?? 0));
  if (above === undefined || askedMs === undefined || running === undefined || running.length === 0)
    return null;
  if (step.isWrite === false && above.isWrite === false) return null;
  const isTogether = running.every((run) => askedMs - run.askedMs < TOGETHER_MS);
  if (isTogether && (step.isWrite === above.isWrite || step.place === above.place)) return null;
  const { times = 1, label = '' } = above;
  if (times === 1) return `asked for before ${label} was answered`;
  const some = running.length < times ? `${count(running.length)} of ` : '';
  return `asked for before ${some}the ${count(times)} above were answered`;
}

function lineSteps(profile: Profile): Step[] {
  return (dataOf(profile, 'logs')?.lines ?? [])
    .flatMap((line, at) => (line.level === 'error' || line.level === 'warn' ? [{ line, at }] : []))
    .slice(0, MOST_LINES)
    .map(({ line: { level, message, atMs, caller, path }, at }) => ({
      label: `log ${level}`,
      text: message.slice(0, 300).toWellFormed(),
      number: atMs,
      tone: level === 'error' ? ('bad' as const) : ('warn' as const),
      place: caller,
      path,
      href: `${addressOf('logs', { open: `l${at + 1}` })}#l${at + 1}`,
    }));
}

export function* askedSteps(
  profile: Profile,
  { beside, compared }: { beside: BesideProfile | undefined; compared: readonly ComparedValue[] },
): Steps<Asked> {
  const summaries = new Map<string, Row>();
  const found = new Set(profile.findings.map(({ label }) => label));
  const steps: Step[] = [];
  const written = beside === undefined ? new Map<string, Field>() : writtenBy(beside);
  yield;
  for (const panel of beside?.work ?? [])
    for (const row of panel.rows()) {
      if (row.id !== undefined) summaries.set(`${panel.name} ${row.id}`, row);
      const index = Number(/^[a-z](\d+)$/.exec(row.id ?? '')?.[1] ?? NaN) - 1;
      const step = stepOf(row, index, { panel, profile, compared, called: beside?.called, written });
      if (step !== null) steps.push(step);
      yield;
    }
  const all = repeatedSteps(
    [...steps, ...lineSteps(profile)].toSorted((a, b) => (a.number ?? 0) - (b.number ?? 0)),
    (within) => {
      const { times = 0, badges = [] } = summaries.get(within) ?? {};
      return { times, badges: badges.filter((badge) => !LOOPS.has(badge) || found.has(badge)) };
    },
  ).map((step, at, list) => ({ ...step, note: noteOf([step.note, overlapNote(step, list[at - 1])]) }));
  const failed = new Set(all.filter(({ tone }) => tone === 'bad').slice(0, MOST / 2));
  let room = MOST - failed.size;
  const shown = all.filter((step) => failed.has(step) || room-- > 0);
  const failedJobs = (beside?.started ?? []).filter(({ isFailed }) => isFailed).map(({ what }) => what);
  const withOutcome = (step: Step): Step =>
    step.label === 'job' &&
    failedJobs.some((what) => `${what} `.startsWith(`JOB ${valueText(step.text).split(' ', 1)[0] ?? ''} `))
      ? { ...step, tone: 'bad', badges: [...(step.badges ?? []), 'failed later'] }
      : step;
  return {
    steps: shown.map(
      (
        { within: _within, runs: _runs, isWrite: _isWrite, by: _by, outcome: _outcome, took: _took, ...step },
        at,
      ) => withOutcome({ ...step, id: `a${at + 1}` }),
    ),
    left: all.length - shown.length + COUNTED.reduce((sum, name) => sum + (profile.dropped[name] ?? 0), 0),
  };
}
