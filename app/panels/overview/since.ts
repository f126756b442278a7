/**
 * What changed since the last request like this: status, fields of the response, rows, and who wrote in between. A change that no write
 * explains, or a write that changed nothing, says where to look.
 */
import { isRecord, type Json } from '../../profiler/json.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import type { BesideProfile } from '../../profiler/panel.ts';
import type { EarlierRequest, RouteAround } from '../../profiler/read/finding-rule.ts';
import { durationText } from '../../view-helpers/numbers.ts';
import { isControl } from '../../profiler/transaction-sql.ts';
import { aboutStatement } from '../shared/about-statement.ts';
import { foundRows } from '../shared/found-rows.ts';
import { parseBeginning } from '../shared/json-leaves.ts';
import type { Kept as AllKept } from '../shared/panel-data.ts';
import { isWriting } from '../shared/statements.ts';
import type { BesideRow } from './step.ts';

type Other = EarlierRequest<Partial<AllKept>>;
type Query = AllKept['database']['queries'][number];

const MOST_ROWS = 6;
const MOST_WRITES = 2;
/** Of each request. */
const MOST_STATEMENTS = 500;
const MOST_DEEP = 8;
const LONGEST = 60;
/** Milliseconds: a moment so close to its request is when it ran. */
const NOW_MS = 10_000;
const RANDOM = /^(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[\w-]{20,})$/i;

/** The newest with the same line and body of the same client. */
function sameBefore({ own, earlier }: RouteAround<Partial<AllKept>>): Other | undefined {
  const asked = ({ head, kept: { request } }: Other): string =>
    JSON.stringify([head.method, head.url, request?.body?.text ?? null, request?.sessionAndUser ?? null]);
  return earlier.find((other) => asked(other) === asked(own));
}

interface Change {
  path: string;
  was: Json | undefined;
  is: Json | undefined;
}

function keyOf(value: Json): Json | undefined {
  return isRecord(value) ? (value.id ?? value._id ?? value.uuid) : undefined;
}

/** Members by name, elements by their id or else by their place. */
function membersOf(value: Json): Map<string, Json> | null {
  if (Array.isArray(value)) {
    const keys = value.map(keyOf);
    const areNamed =
      value.length > 0 && keys.every((key) => key !== undefined) && new Set(keys).size === keys.length;
    return new Map(
      value.map((item, at) => [areNamed ? `[id ${JSON.stringify(keys[at])}]` : `[${at}]`, item]),
    );
  }
  return isRecord(value) ? new Map(Object.entries(value).map(([name, item]) => [`.${name}`, item])) : null;
}

function* changesOf(was: Json, is: Json, path = '', depth = 0): Generator<Change> {
  const [before, now] = [membersOf(was), membersOf(is)];
  if (before === null || now === null || depth > MOST_DEEP) {
    if (JSON.stringify(was) !== JSON.stringify(is)) yield { path, was, is };
    return;
  }
  for (const [step, item] of now) {
    const old = before.get(step);
    if (old === undefined) yield { path: path + step, was: old, is: item };
    else yield* changesOf(old, item, path + step, depth + 1);
  }
  for (const [step, old] of before) if (!now.has(step)) yield { path: path + step, was: old, is: undefined };
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

function sentJson({ kept: { request } }: Other): Json | undefined {
  const isJson = /\bjson\b/i.test(request?.response?.contentType ?? '');
  return isJson ? parseBeginning(request?.response?.text ?? '')?.value : undefined;
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

/** Statements that only one of the two ran, as reads that a cache spares. */
function ranOnce(own: Other, before: Other): BesideRow[] {
  const only = (these: Other, those: Other, text: string): BesideRow[] => {
    const known = new Set(statementsOf(those).map(({ sql }) => sql));
    const once = new Map(statementsOf(these).map((one) => [one.sql, one]));
    return [...once.values()].flatMap(({ sql, system, query }) =>
      known.has(sql) ? [] : [{ label: aboutStatement(sql, system).label, text, place: query.caller }],
    );
  };
  return [...only(before, own, 'did not run this time'), ...only(own, before, 'ran only this time')];
}

function tablesOf(other: Other, isWanted: (sql: string) => boolean): Map<string, string | null> {
  return new Map(
    statementsOf(other).flatMap(({ sql, system, query }) => {
      const { operation, read } = aboutStatement(sql, system);
      const table = (read?.table ?? operation.table)?.toLowerCase();
      const isDone = query.error === null && query.rows !== 0;
      return table !== undefined && isDone && isWanted(sql) ? [[table, query.caller] as const] : [];
    }),
  );
}

/** Requests in between that wrote what this one reads, the newest first. */
function writesBetween(own: Other, before: Other, others: readonly Other[]): BesideRow[] {
  const read = tablesOf(own, (sql) => !isWriting(sql));
  return others
    .filter(({ head }) => head.startedAt > before.head.startedAt && head.startedAt < own.head.startedAt)
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
  const [was, is] = [sentJson(before), sentJson(own)];
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

export function sinceRows(beside: BesideProfile): BesideRow[] {
  const around = beside.around;
  const before = around === null ? undefined : sameBefore(around);
  if (around === null || before === undefined) return [];
  const { own } = around;
  // What writes may respond otherwise each time.
  if (tablesOf(own, isWriting).size > 0) return [];
  const sent = responseChanges(own, before);
  const changed = [
    ...headChanges(own, before),
    ...(sent ?? []),
    ...rowChanges(own, before, { values: sent === null || sent.length === 0 }),
    ...ranOnce(own, before),
  ];
  const written = writesBetween(own, before, beside.before);
  if (changed.length + written.length === 0) return [];
  const { token, startedAt } = before.head;
  const line = `${own.head.method} ${own.head.url}`.slice(0, 200);
  const text = `${durationText(own.head.startedAt - startedAt)} before`;
  return [
    { token, label: line, text, fields: [{ label: 'Token', value: token }] },
    ...changed.slice(0, MOST_ROWS),
    ...(sent?.length === 0 ? [{ label: 'response', text: 'the same' }] : []),
    ...written.slice(0, MOST_WRITES),
  ];
}
