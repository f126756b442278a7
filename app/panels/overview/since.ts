/**
 * Changes since the last request like this: status, fields of the response, rows, and who wrote in between. A change that no write
 * explains, or a write that changed nothing, says where to look.
 */
import type { Json } from '../../profiler/json.ts';
import { isMasked, withoutNumbers } from '../../profiler/masking/redact.ts';
import type { BesideProfile } from '../../profiler/panel.ts';
import type { EarlierRequest, RouteAround } from '../../profiler/read/finding-rule.ts';
import { durationText } from '../../view-helpers/numbers.ts';
import { isControl } from '../../profiler/transaction-sql.ts';
import { aboutStatement } from '../shared/about-statement.ts';
import { foundRows } from '../shared/found-rows.ts';
import { type Change, changesOf } from '../shared/json-changes.ts';
import type { Kept as AllKept } from '../shared/panel-data.ts';
import { receivedFields } from '../shared/received.ts';
import { isWriting } from '../shared/statements.ts';
import { sentIn } from './differences.ts';
import type { BesideRow } from './step.ts';
import { NAMES_REQUEST, userText } from '../shared/client.ts';
import { commonEnds } from '../../profiler/common-ends.ts';

type Other = EarlierRequest<Partial<AllKept>>;
type Query = AllKept['database']['queries'][number];

const MOST_ROWS = 6;
const MOST_WRITES = 2;
const MOST_ASKED = 3;
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
    return [...changesOf(first ?? null, second ?? null)]
      .filter((change) => !isVarying(change, own, before))
      .map((change) => ({ ...changeRow(label, change), place }));
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

function tablesOf(other: Other, isWanted: (sql: string) => boolean): Map<string, string | null> {
  return new Map(
    statementsOf(other).flatMap(({ sql, system, query }) => {
      const { table } = aboutStatement(sql, system);
      const isDone = query.error === null && query.rows !== 0;
      return table !== undefined && isDone && isWanted(sql) ? [[table, query.caller] as const] : [];
    }),
  );
}

/** Requests in between that wrote what this one or those like it read, the newest first. */
function writesBetween(
  own: Other,
  before: Other,
  { others, alike }: Record<'others' | 'alike', readonly Other[]>,
): BesideRow[] {
  const read = new Set(alike.flatMap((one) => [...tablesOf(one, (sql) => !isWriting(sql)).keys()]));
  return others
    .filter(({ head: { startedAt, durationMs } }) => {
      const endedAt = startedAt + (durationMs ?? Infinity);
      return endedAt > before.head.startedAt && startedAt < own.head.startedAt;
    })
    .flatMap((other): BesideRow[] => {
      const { token, method, url } = other.head;
      const [written] = [...tablesOf(other, isWriting)].filter(([table]) => read.has(table));
      if (written === undefined) return [];
      const [table, place] = written;
      const label = `${method} ${url}`.slice(0, 200);
      return [
        {
          token,
          label,
          text: `wrote ${table} in between`,
          place,
          fields: [{ label: 'Token', value: token }],
        },
      ];
    });
}

/** null: it is not known, or no JSON and another one. */
function responseChanges(own: Other, before: Other): BesideRow[] | null {
  const [was, is] = [sentIn(before.kept), sentIn(own.kept)];
  if (was !== undefined && is !== undefined)
    return [...changesOf(was, is)]
      .filter((change) => !isVarying(change, own, before))
      .map((change) => changeRow('response', change));
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
  return tablesOf({ head, kept }, isWriting).size > 0 || (kept.jobs?.items.length ?? 0) > 0;
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
  if (changed.length + ran.length + written.length === 0) return [];
  const { token, startedAt } = before.head;
  const label = `${own.head.method} ${before.head.url}`.slice(0, 200);
  const text = `${durationText(own.head.startedAt - startedAt)} before`;
  return [
    { token, label, text, fields: [{ label: 'Token', value: token }] },
    ...requestChanges(own, before),
    ...[...changed, ...ran].slice(0, MOST_ROWS),
    ...(isSameResponse ? [{ label: 'response', text: 'the same' }] : []),
    ...written.slice(0, MOST_WRITES),
  ];
}
