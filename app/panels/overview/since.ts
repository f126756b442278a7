/**
 * Changes since the last request like this: status, fields of the response, rows, and who wrote in between. A change that no write
 * explains, or a write that changed nothing, says where to look.
 */
import type { Json } from '../../profiler/json.ts';
import { isMasked, withoutNumbers } from '../../profiler/masking/redact.ts';
import type { BesideProfile } from '../../profiler/panel.ts';
import type { EarlierRequest, RouteAround } from '../../profiler/read/finding-rule.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { isControl } from '../../profiler/transaction-sql.ts';
import { aboutStatement } from '../shared/about-statement.ts';
import { foundRows } from '../shared/found-rows.ts';
import { type Change, changesOf } from '../shared/json-changes.ts';
import { insertedRows } from '../shared/last-writer.ts';
import type { Kept as AllKept } from '../shared/panel-data.ts';
import { receivedFields } from '../shared/received.ts';
import { bare, isWriting, significant } from '../shared/statements.ts';
import { sentIn } from './differences.ts';
import type { BesideRow } from './step.ts';
import { NAMES_REQUEST, userText } from '../shared/client.ts';
import { groupBy } from '../../profiler/group-by.ts';
import { commonEnds } from '../../profiler/common-ends.ts';

type Other = EarlierRequest<Partial<AllKept>>;
type Query = AllKept['database']['queries'][number];

const MOST_ROWS = 6;
const MOST_WRITES = 2;
const MOST_ASKED = 3;
const MOST_VALUES = 4;
const MOST_IDS = 6;
/** Of each request. */
const MOST_STATEMENTS = 500;
const LONGEST = 60;
/** Milliseconds: a moment so close to its request is when it ran. */
const NOW_MS = 10_000;
const RANDOM = /^(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[\w-]{20,})$/i;

/** Headers that decide about the response. */
const TOLD = /^(?:accept|accept-language|idempotency-key|if-.*|prefer|range|x-.*)$/i;

/** Received values and deciding headers, by name. */
function askedWith({ kept: { request } }: Other): Map<string, string> {
  if (request === undefined) return new Map();
  const told = request.headers.filter(({ name }) => TOLD.test(name) && !NAMES_REQUEST.test(name));
  return new Map([
    ...receivedFields(request).map(({ from, path, value }) => [`${from} ${path}`, shown(value)] as const),
    ...told.map(({ name, value }) => [`header ${name.toLowerCase()}`, shown(value)] as const),
  ]);
}

/** Marks of masked values are numbered in each record anew. */
function lineOf(one: Other): string {
  return withoutNumbers(JSON.stringify([one.head.method, one.head.url, [...askedWith(one)]]));
}

function userOf({ kept: { request } }: Other): string {
  return userText(request ?? {});
}

interface Before {
  before: Other;
  isSame: boolean;
}

/** The newest of this route and user that asked for the same, or else the newest with this status. */
function lastBefore({ own, earlier }: RouteAround<Partial<AllKept>>): Before | null {
  const [line, user] = [lineOf(own), userOf(own)];
  const others = earlier.filter((other) => other.head.method === own.head.method && userOf(other) === user);
  const same = others.find((other) => lineOf(other) === line);
  const before = same ?? others.find(({ head }) => head.status === own.head.status);
  return before === undefined ? null : { before, isSame: same !== undefined };
}

function isOfMoment(value: Json | undefined, { head }: Other): boolean {
  const time = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : NaN;
  return Math.abs(time - head.startedAt) < NOW_MS;
}

/** It is another one for each request: the time of the response, an id drawn at random, a masked value. */
function isVarying({ was, is }: Change, own: Other, before: Other): boolean {
  const texts = [was, is].filter((value) => typeof value === 'string');
  if (texts.some(isMasked)) return true;
  if (isOfMoment(was, before) && isOfMoment(is, own)) return true;
  return texts.length === 2 && texts.every((text) => RANDOM.test(text) && /\d/.test(text));
}

function shown(value: Json | undefined): string {
  if (value === undefined) return 'absent';
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

function changeRow(label: string, { path, was, is }: Change): BesideRow {
  return { label, text: `${path.replace(/^\./, '')}: ${shown(was)} → ${shown(is)}`.replace(/^: /, '') };
}

const ITEM = /^(.*)\[id ([^\]]*)\]$/s;

/** The list of an item that came or went; undefined: it is another change. */
function listOf({ path, was, is }: Change): string | undefined {
  return was === undefined || is === undefined ? ITEM.exec(path)?.[1] : undefined;
}

/** `3 new: id 7, 9, 12` */
function itemsText(changes: readonly Change[], word: string): string[] {
  const ids = changes.map(({ path }) => ITEM.exec(path)?.[2] ?? '');
  const more = ids.length > MOST_IDS ? ', …' : '';
  return ids.length === 0 ? [] : [`${ids.length} ${word}: id ${ids.slice(0, MOST_IDS).join(', ')}${more}`];
}

/** Of a list, the items that came and those that went are one row. */
function changeRows(label: string, changes: readonly Change[]): BesideRow[] {
  return [...groupBy(changes, (change) => listOf(change) ?? change.path).values()].map((group) => {
    const [first] = group;
    const list = first === undefined ? undefined : listOf(first);
    if (first !== undefined && (list === undefined || group.length === 1)) return changeRow(label, first);
    const came = itemsText(group.filter(({ was }) => was === undefined), 'new'); // prettier-ignore
    const went = itemsText(group.filter(({ is }) => is === undefined), 'gone'); // prettier-ignore
    return { label, text: `${list?.replace(/^\./, '') || 'items'}: ${[...came, ...went].join('; ')}` };
  });
}

interface Asked {
  sql: string;
  system: string | undefined;
  query: Query;
}

function statementsOf({ kept: { database } }: Other): Asked[] {
  return (database?.queries ?? []).slice(0, MOST_STATEMENTS).flatMap((query) => {
    const { sql = '', system } = database?.statements[query.statement] ?? {};
    return sql === '' || isControl(sql) ? [] : [{ sql, system, query }];
  });
}

/** One row stands for itself. */
function rowsIn(query: Query): Json {
  const rows = foundRows(query);
  return query.rows === 1 ? (rows[0] ?? null) : rows;
}

/** Reads that were given the same: how many rows each got, and with `values` what is in them. */
function rowChanges(own: Other, before: Other, { values }: { values: boolean }): BesideRow[] {
  const asked = ({ sql, query }: Asked): string => JSON.stringify([sql, query.bindings]);
  const old = new Map(statementsOf(before).map((one) => [asked(one), one.query]));
  return statementsOf(own).flatMap((one): BesideRow[] => {
    const { sql, system, query } = one;
    const was = old.get(asked(one));
    old.delete(asked(one));
    if (was === undefined || isWriting(sql)) return [];
    const { label } = aboutStatement(sql, system);
    const { caller: place } = query;
    if (was.rows !== query.rows)
      return [{ label, text: `${was.rows ?? 'no'} → ${query.rows ?? 'no'} rows`, place }];
    if (!values) return [];
    const [first, second] = [was, query].map(rowsIn);
    const changes = [...changesOf(first ?? null, second ?? null)];
    return changeRows(
      label,
      changes.filter((change) => !isVarying(change, own, before)),
    ).map((row) => ({ ...row, place }));
  });
}

/** Operators and values, which belong to the column before. */
const COMPARED = /^(?:[<>=!]+|i?like|in|\(?\?\)?)$/i;

/** Where two texts differ, in whole words. */
function changedPart(was: string, is: string): string {
  const [before, now] = [was.split(' '), is.split(' ')];
  const [first, same] = commonEnds(before, now);
  let last = same;
  while (last > 0 && COMPARED.test(now.at(-last) ?? '')) last--;
  const [old, fresh] = [before, now].map((words) =>
    words
      .slice(first, words.length - last)
      .join(' ')
      .slice(0, LONGEST),
  );
  return `${old || 'nothing'} → ${fresh || 'nothing'}`;
}

/** Statements that only one of the two ran: one that differs in its conditions, or a read that a cache spared. */
function ranOnce(own: Other, before: Other): BesideRow[] {
  const shapes = (other: Other): Map<string, BesideRow> =>
    new Map(
      statementsOf(other).map(({ sql, system, query: { caller: place } }) => {
        const { shape, label } = aboutStatement(sql, system);
        return [shape, { label, place }];
      }),
    );
  const [was, is] = [shapes(before), shapes(own)];
  const gone = [...was].filter(([shape]) => !is.has(shape));
  return [
    ...[...is].flatMap(([shape, row]): BesideRow[] => {
      if (was.has(shape)) return [];
      const at = gone.findIndex(([, { label, place }]) => label === row.label && place === row.place);
      const [[old] = [null]] = at === -1 ? [] : gone.splice(at, 1);
      return [{ ...row, text: old === null ? 'ran only this time' : changedPart(old, shape) }];
    }),
    ...gone.map(([, row]) => ({ ...row, text: 'did not run this time' })),
  ];
}

/** All tables that it reads, those of its subselects, too. */
function readTables(other: Other): Set<string> {
  const tables = new Set<string>();
  for (const { sql, system, query } of statementsOf(other)) {
    if (isWriting(sql) || query.error !== null) continue;
    const { table } = aboutStatement(sql, system);
    const tokens = significant(sql, system).map(([, text]) => bare(text).toLowerCase());
    const named = tokens.flatMap((text, at) => {
      if (text !== 'from' && text !== 'join') return [];
      // `join (labels join …)`
      const first = tokens[at + 1] === '(' ? at + 2 : at + 1;
      return tokens[tokens[first + 1] === '.' ? first + 2 : first] ?? [];
    });
    for (const one of [table, ...named]) if (one !== undefined) tables.add(one);
  }
  return tables;
}

interface Written extends Asked {
  table: string;
}

function writesOf(other: Other): Written[] {
  return statementsOf(other).flatMap((one) => {
    const { table } = aboutStatement(one.sql, one.system);
    const isDone = one.query.error === null && one.query.rows !== 0;
    return table !== undefined && isDone && isWriting(one.sql) ? [{ ...one, table }] : [];
  });
}

interface OwnAsked {
  /** Its statements. */
  text: string;
  /** What they were given, as text. */
  values: ReadonlySet<string>;
}

/** Of an INSERT of several rows: the one with most of the values that this request asked with, and how many there are. */
function writtenRow({ bindings }: Query, asked: OwnAsked): { values: Map<string, Json>; rows: number } {
  const rows = insertedRows(bindings);
  const sharedBy = (row: typeof bindings): number =>
    row.filter(({ value }) => asked.values.has(JSON.stringify(value))).length;
  const [most = []] = rows.toSorted((a, b) => sharedBy(b) - sharedBy(a));
  return { values: new Map(most.map(({ name, value }) => [name, value])), rows: rows.length };
}

/**
 * `: guide_id null, day "2027-01-14"`: first what the statements name. Of a new row also the columns that a later read of it shows as NULL, or
 * what was written there after that.
 */
function valuesText(other: Other, written: Written, asked: OwnAsked): string {
  const { sql, query, table } = written;
  const { values, rows } = writtenRow(query, asked);
  const later = statementsOf(other).filter(
    (one) => one.query.startMs >= query.startMs && aboutStatement(one.sql, one.system).table === table,
  );
  const isNew = /^\s*insert\b/i.test(sql);
  const setLater = new Map(
    later.flatMap((one) =>
      one.query === query || !isWriting(one.sql)
        ? []
        : one.query.bindings.map(({ name, value }) => [name, value] as const),
    ),
  );
  for (const one of isNew ? later : []) {
    const [row, ...others] = foundRows(one.query);
    if (others.length > 0) continue;
    for (const [name, value] of Object.entries(row ?? {}))
      if (value === null && !values.has(name)) values.set(name, setLater.get(name) ?? null);
  }
  const rank = (name: string): number =>
    name === 'id' ? -1 : Number(new RegExp(`\\b${name.replace(/\W/g, '.')}\\b`, 'i').test(asked.text));
  const texts = [...values]
    .filter(([name, value]) => /^\w+$/.test(name) && !(typeof value === 'string' && isMasked(value)))
    .toSorted(([a], [b]) => rank(b) - rank(a))
    .slice(0, MOST_VALUES)
    .map(([name, value]) => `${name} ${shown(value)}`);
  const more = rows > 1 ? `, and ${count(rows - 1, 'more row')}` : '';
  const lists = /\bunnest\b/i.test(sql) ? [...values.values()].filter((value) => Array.isArray(value)) : [];
  const given = Math.max(rows, ...lists.map(({ length }) => length));
  // Those that were there already are left out `on conflict do nothing`.
  const isPart = isNew && query.rows !== null && query.rows < given;
  const inserted = isPart ? `, ${query.rows} of ${given} rows inserted` : '';
  return texts.length === 0 ? '' : `: ${texts.join(', ')}${more}${inserted}`;
}

/** `; also entry_labels`: other tables of those that it wrote. */
function alsoWritten(writes: readonly Written[], first: Written): string {
  const tables = [...new Set(writes.map(({ table }) => table))].filter((table) => table !== first.table);
  return tables.length === 0 ? '' : `; also ${tables.slice(0, MOST_WRITES).join(', ')}`;
}

/** Requests in between that wrote what this one or those like it read, the newest first. */
function writesBetween(
  own: Other,
  before: Other,
  { others, alike }: Record<'others' | 'alike', readonly Other[]>,
): BesideRow[] {
  const read = new Set(alike.flatMap((one) => [...readTables(one)]));
  const statements = statementsOf(own);
  const asked = {
    text: statements.map(({ sql }) => sql).join('\n'),
    values: new Set(
      statements.flatMap(({ query }) => query.bindings.map(({ value }) => JSON.stringify(value))),
    ),
  };
  return others
    .filter(({ head: { startedAt, durationMs } }) => {
      const endedAt = startedAt + (durationMs ?? Infinity);
      return endedAt > before.head.startedAt && startedAt < own.head.startedAt;
    })
    .flatMap((other): BesideRow[] => {
      const { token, method, url } = other.head;
      const writes = writesOf(other).filter(({ table }) => read.has(table));
      const [written] = writes;
      if (written === undefined) return [];
      return [
        {
          token,
          label: `${method} ${url}`.slice(0, 200),
          text: `wrote ${written.table} in between${valuesText(other, written, asked)}${alsoWritten(writes, written)}`,
          place: written.query.caller,
          fields: [{ label: 'Token', value: token }],
        },
      ];
    });
}

const ORDER = /\border by\b.*?(?=\blimit\b|\boffset\b|\bfetch\b|\bfor\b|$)/gis;

/** What both requests asked the database for; without the order, which rows are meant. */
function conditionsOf(other: Other, isOrdered: boolean): string {
  const asked = statementsOf(other).map(({ sql, query }) => [
    isOrdered ? sql : sql.replace(ORDER, ''),
    query.bindings.map(({ value }) => value),
  ]);
  const calls = (other.kept.http_client?.calls ?? []).map(({ url, requestBody }) => [url, requestBody?.text]);
  return JSON.stringify([asked, calls, other.kept.cache?.items.length ?? 0]);
}

/** Parameters that are new or another one, although no statement has another condition, and no value of it. */
function withoutEffect(own: Other, before: Other, isSameResponse: boolean): BesideRow[] {
  const statements = statementsOf(own);
  if (statements.length === 0 || conditionsOf(own, false) !== conditionsOf(before, false)) return [];
  // The code may have chosen from what it read.
  if (conditionsOf(own, true) === conditionsOf(before, true) && !isSameResponse) return [];
  const was = askedWith(before);
  const text = statements.map(({ sql }) => sql.toLowerCase()).join('\n');
  const names = [...askedWith(own)].flatMap(([name, value]) => {
    const [, parameter] = /^query (.*)$/s.exec(name) ?? [];
    const plain = value.replace(/^"|"$/g, '').toLowerCase();
    const isUsed = plain === '' || text.includes(plain);
    return parameter === undefined || isUsed || was.get(name) === value ? [] : [parameter.slice(0, LONGEST)];
  });
  return names.length === 0
    ? []
    : [{ label: 'request', text: `${names.slice(0, MOST_ASKED).join(', ')} changed no condition` }];
}

/** null: it is not known, or no JSON and another one. */
function responseChanges(own: Other, before: Other): BesideRow[] | null {
  const [was, is] = [sentIn(before.kept), sentIn(own.kept)];
  if (was !== undefined && is !== undefined)
    return changeRows(
      'response',
      [...changesOf(was, is)].filter((change) => !isVarying(change, own, before)),
    );
  const [text, now] = [before, own].map(({ kept }) => kept.request?.response?.text ?? null);
  return text !== null && text === now ? [] : null;
}

function headChanges(own: Other, before: Other): BesideRow[] {
  return (['release', 'status'] as const).flatMap((label) =>
    before.head[label] === own.head[label]
      ? []
      : [{ label, text: `${before.head[label] ?? 'none'} → ${own.head[label] ?? 'none'}` }],
  );
}

function requestChanges(own: Other, before: Other): BesideRow[] {
  const [was, is] = [askedWith(before), askedWith(own)];
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => withoutNumbers(was.get(name) ?? '') !== withoutNumbers(is.get(name) ?? ''))
    .map((name) => ({
      label: 'request',
      text: `${name}: ${was.get(name) ?? 'absent'} → ${is.get(name) ?? 'absent'}`,
    }))
    .slice(0, MOST_ASKED);
}

/** A request that writes may respond otherwise each time. */
function isWrite({ head, kept }: Other): boolean {
  if (/^(?:PUT|PATCH|DELETE)$/.test(head.method)) return true;
  return writesOf({ head, kept }).length > 0 || (kept.jobs?.items.length ?? 0) > 0;
}

function sameChanges(own: Other, before: Other): { changed: BesideRow[]; isSameResponse: boolean } {
  const sent = responseChanges(own, before);
  const isSameResponse = sent?.length === 0;
  const values = sent === null || isSameResponse;
  return {
    isSameResponse,
    changed: [...headChanges(own, before), ...(sent ?? []), ...rowChanges(own, before, { values })],
  };
}

function firstOf(rows: readonly BesideRow[], most: number, noun: string): BesideRow[] {
  const left = rows.length - most;
  const more = { label: 'more', text: `${count(left, noun)} left out` };
  return [...rows.slice(0, most), ...(left > 0 ? [more] : [])];
}

export function sinceRows({ around, before: all }: BesideProfile): BesideRow[] {
  const found = around === null || isWrite(around.own) ? null : lastBefore(around);
  if (around === null || found === null) return [];
  const { own, earlier, siblings } = around;
  // A request that reads nothing is not shown with all requests before it.
  const others = all.length > 0 ? all : siblings;
  const { before, isSame } = found;
  const { changed, isSameResponse } = isSame
    ? sameChanges(own, before)
    : { changed: [], isSameResponse: false };
  const line = lineOf(own);
  const alike = [own, ...earlier.filter((other) => lineOf(other) === line)];
  const written = isSame ? writesBetween(own, before, { others, alike }) : [];
  const ran = ranOnce(own, before);
  const ignored = isSame ? [] : withoutEffect(own, before, responseChanges(own, before)?.length === 0);
  if (changed.length + ran.length + written.length + ignored.length === 0) return [];
  const { token, startedAt } = before.head;
  const label = `${own.head.method} ${before.head.url}`.slice(0, 200);
  const text = `${durationText(own.head.startedAt - startedAt)} before`;
  return [
    { token, label, text, fields: [{ label: 'Token', value: token }] },
    ...requestChanges(own, before),
    ...ignored,
    ...firstOf([...changed, ...ran], MOST_ROWS, 'difference'),
    ...(isSameResponse ? [{ label: 'response', text: 'the same' }] : []),
    ...firstOf(written, MOST_WRITES, 'write'),
  ];
}
