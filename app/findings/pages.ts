/** Pages of a list: rows that are skipped, and limits that count something else. */
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { leavesIn, listsIn } from '../panels/shared/json-leaves.ts';
import { givenValue } from '../panels/shared/read-statement.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { groupBy } from '../profiler/group-by.ts';
import { isRecord, type Json, parseJson } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import type { Database, Needs, OtherRequest, Rule } from './shared/kept.ts';
import { givenText } from './shared/conditions.ts';
import {
  draftAt,
  hasJoinsOf,
  labelOf,
  plainSql,
  type Read,
  readOf,
  readsOf,
  rowOf,
  runsOf,
  sqlOf,
  textOf,
} from './shared/queries.ts';
import { isDeep, isSlow, limitOf, offsetOf } from './shared/statement-reasons.ts';
import { count, excerpt, listOf, requestText, shareOf } from './shared/wording.ts';
import { PRIMARY, primaryKeyOf } from '../panels/shared/primary-key.ts';

const deepOffset: Rule<Needs<'database'>> = {
  name: 'deep-offset',
  needs: ['database'],
  labels: ['deep offset'],
  why: 'The OFFSET of the statement was at least 10,000, or 1,000 if it took 50 ms or more. The database reads the rows that it skips.',
  fix: 'Page by key: remember the last row of a page and ask for those after it (`where id > $1 order by id limit 20`).',
  find({ database }, { durationMs: wholeMs }) {
    return readsOf(database).flatMap(({ query, index, read }): FindingDraft[] => {
      const offset = offsetOf(read, query);
      const ms = query.durationMs ?? 0;
      if (!isDeep(read, query)) return [];
      const sentence = `${labelOf(database, query)} skips ${count(offset, 'row')} (OFFSET)${query.rows === null ? '' : ` to return ${count(query.rows)}`}: ${shareOf(ms, wholeMs)}`;
      const severity = isSlow(query) ? 'warn' : 'info';
      return [{ severity, sentence, anchor: rowOf(index), costMs: ms, place: query.caller }];
    });
  },
  code({ anchor = '' }, { panels }) {
    const data = panels.database?.data as Database;
    const query = data.queries[Number(anchor.slice(1)) - 1];
    const read = query === undefined ? null : readOf(data, query);
    const [, column] = /^(?:[\w"`]+\.)?["`]?(\w+)["`]?(desc|asc)?$/.exec(read?.orderBy ?? '') ?? [];
    if (read?.table === undefined || read.table === null || column === undefined) return null;
    const order = read.orderBy.endsWith('desc') ? '<' : '>';
    return {
      language: 'sql',
      text: `-- instead of OFFSET; $1 is ${column} of the last row of the page before\n… from ${read.table} where ${column} ${order} $1 order by ${read.orderBy} limit …`,
      assumes: `Assumes that ${column} is unique, or that the key is added to the order, and that an index begins with it.`,
    };
  },
};

function listWith(value: Json, items: number): Json[] | null {
  if (Array.isArray(value)) {
    const nested = value.flatMap((entry) =>
      isRecord(entry) ? Object.values(entry).filter((part) => Array.isArray(part)) : [],
    );
    if (nested.reduce((sum, list) => sum + list.length, 0) === items && value.length < items) return value;
  }
  const parts = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return parts.map((part) => listWith(part, items)).find((list) => list !== null) ?? null;
}

/** The name under which a SELECT returns the key of its first table; null if it does not. */
function rootKeyOf(sql: string, { table, alias = table ?? '' }: Read['read']) {
  if (table === null) return null;
  const columns = /^select (.*?) from /i.exec(sql)?.[1] ?? '';
  const [, key, name = key] =
    new RegExp(String.raw`(?:^|, ?)${alias}\.(_?id|uuid)\b(?: as ([\w.]+))? ?(?=,|$)`, 'i').exec(columns) ??
    [];
  return key === undefined || name === undefined ? null : { name, of: `${alias}.${key}`, table };
}

/** Keys of the entries of a list that the response is or has; each entry has another one. */
function listedKeys({ response }: KeptRequest): Set<string>[] {
  return listsIn(response?.text ?? '').flatMap((list) => {
    const keys = list.flatMap((entry) => (isRecord(entry) ? (textOf(primaryKeyOf(entry)) ?? []) : []));
    const unique = new Set(keys);
    return unique.size === list.length && unique.size > 0 ? [unique] : [];
  });
}

/** That rows of the first table repeat in a full page, although the request counts or lists each of them once; null: neither is known. */
function repeatedRows(database: Database, { query, read }: Read, request: KeptRequest): string | null {
  const sql = plainSql(database, query);
  const key = rootKeyOf(sql, read);
  if (key === null) return null;
  const keys = foundRows(query).flatMap((row) => textOf(row[key.name]) ?? []);
  const unique = new Set(keys);
  if (unique.size === keys.length) return null;
  const once = `count(distinct${key.of}`.toLowerCase();
  const isCounted = database.queries.some((other) => {
    const text = plainSql(database, other).toLowerCase();
    return hasJoinsOf(sql, text) && text.replace(/ /g, '').replace('distinct(', 'distinct').includes(once);
  });
  const listed = listedKeys(request).find(
    (list) => list.size < (query.rows ?? 0) && [...unique].every((each) => list.has(each)),
  );
  if (!isCounted && listed === undefined) return null;
  const entries =
    listed === undefined
      ? `the count has each ${key.of} once`
      : `the response has ${count(listed.size, 'entry', 'entries')}`;
  return `${entries}, and rows of ${excerpt(key.table, 40)} repeat in the page`;
}

const limitOfJoined: Rule<Needs<'database' | 'request'>> = {
  name: 'limit-of-joined',
  needs: ['database', 'request'],
  labels: ['short page'],
  why: 'A statement with a join and a LIMIT returned as many rows as the limit. Several of them are one entry: the response has fewer entries with lists, or the response or a `count(distinct …)` has a key once that the rows repeat.',
  fix: 'Limit the entries before you join: a subselect with the LIMIT, or a second statement for the lists. In Sequelize that is `separate: true` without `subQuery: false`; in TypeORM, `skip` and `take` instead of `offset` and `limit`.',
  find({ database, request }) {
    const sent = parseJson(request.response?.text ?? '');
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { query, index, read } = one;
      const limit = limitOf(read, query);
      if (read.verb !== 'select' || read.joins === 0 || read.isAggregated) return [];
      if (limit < 2 || query.rows !== limit) return [];
      const list = sent === undefined ? null : listWith(sent, limit);
      const seen =
        list === null
          ? repeatedRows(database, one, request)
          : `the response has ${count(list.length, 'entry', 'entries')}`;
      if (seen === null) return [];
      const sentence = `${labelOf(database, query)} has LIMIT ${count(limit)}, but ${seen}: the limit counts the joined rows`;
      return [{ broke: 'response', severity: 'warn', sentence, anchor: rowOf(index), place: query.caller }];
    });
  },
};

const PAGE = /^(?:page(?:_?(?:no|number|index))?|p)$/i;
const PAGING = /page|^p$|offset|skip|cursor|after|before|from|start/i;

function pageSkipped({ read, query }: Read): number {
  const offset = offsetOf(read, query);
  return offset > 1 && offset === limitOf(read, query) ? offset : 0;
}

function asksFirst({ query }: KeptRequest): boolean {
  const page = query.find(({ name }) => PAGE.test(name));
  return page === undefined ? !query.some(({ name }) => PAGING.test(name)) : page.value === '1';
}

const firstPageSkipped: Rule<Needs<'database' | 'request'>> = {
  name: 'first-page-skipped',
  needs: ['database', 'request'],
  labels: ['first page skipped'],
  why: 'The OFFSET is one page although no page was asked for; or it is one page for page 1, and no other of the latest requests of this route had the OFFSET 0.',
  fix: 'Let the first page skip nothing: `offset = (page - 1) * limit` if pages count from 1.',
  compares: ({ database, request }) =>
    asksFirst(request) && readsOf(database).some((one) => pageSkipped(one) > 0),
  find({ database, request }, _head, { earlier }) {
    const page = request.query?.find(({ name }) => PAGE.test(name));
    if (!asksFirst(request)) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const skipped = pageSkipped(one);
      if (skipped === 0) return [];
      const { query, index } = one;
      // Some builders leave out an OFFSET of 0.
      const others = earlier.flatMap(({ kept }) =>
        readsOf(kept.database).filter(({ read }) => read.table === one.read.table && read.limit !== null),
      );
      const isSeen = others.some(({ read, query: other }) => offsetOf(read, other) === 0);
      if (page !== undefined && (isSeen || others.length === 0)) return [];
      const what =
        page === undefined
          ? 'although no page was asked for'
          : `for page 1, and none of ${count(others.length, 'earlier request')} read them: pages seem to be counted from 1 by the client, and from 0 here`;
      const sentence = `${labelOf(database, query)} skips the first ${count(skipped, 'row')} (OFFSET ${count(skipped)}) ${what}`;
      return [draftAt({ query, index }, sentence, 'warn')];
    });
  },
};

/** A condition of the page by a bound value whose column the count has nowhere. */
function lackingIn(database: Database, count: Read, page: Read): { column: string; value: string } | null {
  const sql = plainSql(database, count.query);
  for (const { column, operator, values, wrapped } of page.read.where ?? []) {
    const [value] = values;
    const isBound = value?.kind === 'bound' && operator === '=' && wrapped === null;
    const given = isBound ? givenText(value, page.query) : null;
    if (given !== null && !new RegExp(String.raw`\b${column}\b`, 'i').test(sql))
      return { column, value: given };
  }
  return null;
}

const countWithoutCondition: Rule<Needs<'database' | 'request'>> = {
  name: 'count-without-condition',
  needs: ['database', 'request'],
  labels: ['count of others'],
  why: 'The only count of a table lacks a condition that the page of the same table has with a bound value. It counted more rows than the page has, and the response has that number, or that number of pages.',
  fix: 'Build the conditions once, and give both statements the same ones: `const mine = knex("vehicles").where(filter)`, then `mine.clone().count()` and `mine.clone().limit(20)`.',
  find({ database, request }) {
    const sent = new Set(leavesIn(request.response?.text ?? '').map(({ value }) => value));
    const reads = readsOf(database).filter(
      ({ read }) => read.verb === 'select' && read.joins === 0 && read.isPlain,
    );
    const counts = reads.filter(({ query }) =>
      /^select count ?\([^()]*\)(?: as \w+)? from /i.test(plainSql(database, query)),
    );
    return reads.flatMap((page): FindingDraft[] => {
      const limit = limitOf(page.read, page.query);
      const [one, ...others] = counts.filter(({ read }) => read.table === page.read.table);
      if (one === undefined || others.length > 0 || page.read.isAggregated || limit < 2) return [];
      const asked = new Set(page.read.where?.map(({ column }) => column));
      if (one.read.where?.every(({ column }) => asked.has(column)) === false) return [];
      const total = Number(Object.values(foundRows(one.query)[0] ?? {})[0]);
      const lacking = lackingIn(database, one, page);
      const isSent = sent.has(total) || (total > limit && sent.has(Math.ceil(total / limit)));
      if (lacking === null || !isSent || !(total > (page.query.rows ?? Infinity))) return [];
      const { column, value } = lacking;
      const sentence = `The count of ${excerpt(page.read.table ?? 'rows', 40)} (${count(total)}) lacks ${column} = ${excerpt(value, 40)}, by which ${labelOf(database, page.query)} reads the page: it counts rows of any ${column}`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

/** The columns of ORDER BY; empty if one is no plain column. */
function orderOf(database: Database, { query }: Read): { column: string; side: '<' | '>' }[] {
  const [, order = ''] =
    / order by (.+?)(?: (?:limit|offset|fetch|for) |;|$)/i.exec(plainSql(database, query)) ?? [];
  const columns = order.split(',').map((part) => {
    const [, column, descending] = /^ ?(?:\w+\.)?(\w+)( desc)?(?: asc)?(?: nulls \w+)?$/i.exec(part) ?? [];
    return { column: column ?? '', side: descending === undefined ? ('>' as const) : ('<' as const) };
  });
  return columns.some(({ column }) => column === '') ? [] : columns;
}

/** The columns of ORDER BY by which a page goes on; null if it is not sorted by a column and then by the key. */
function sortedBy(database: Database, one: Read): { column: string; key: string; side: string } | null {
  const [first, second, ...others] = orderOf(database, one);
  if (first === undefined || second === undefined || !PRIMARY.test(second.column) || others.length > 0)
    return null;
  return { ...first, key: second.column };
}

function isSameValue(one: Json | undefined, other: Json | undefined): boolean {
  const [a, b] = [textOf(one), textOf(other)];
  const isTime = [a, b].every((text) => text !== null && /^\d{4}-\d\d-\d\d[T ]/.test(text));
  return a !== null && (a === b || (isTime && Date.parse(a) === Date.parse(b ?? '')));
}

/** A page that goes on after the last value of a column, without the key by which it is sorted as well. */
function cursorOf(database: Database, one: Read) {
  const { read, query } = one;
  const sorted = read.verb === 'select' && limitOf(read, query) > 1 ? sortedBy(database, one) : null;
  if (sorted === null || read.isAggregated) return null;
  const [, where = ''] = / where (.+) order by /i.exec(plainSql(database, query)) ?? [];
  if (new RegExp(String.raw`\b${sorted.key}\b`, 'i').test(where)) return null;
  const compared = (read.where ?? []).filter(({ column }) => column === sorted.column);
  const [value] = compared.find(({ operator }) => operator === sorted.side)?.values ?? [];
  const after = givenValue(value, query.bindings);
  return textOf(after) === null ? null : { ...sorted, after };
}

const cursorWithoutKey: Rule<Needs<'database' | 'request'>> = {
  name: 'cursor-without-key',
  needs: ['database', 'request'],
  labels: ['rows skipped'],
  why: 'A page is sorted by a column and then by the key, and its WHERE has only the column, with a value that an earlier page of this route ended with or had.',
  fix: 'Compare both, in the order of the sort: `where (created_at, id) < ($1, $2) order by created_at desc, id desc`, and put both into the cursor.',
  compares: ({ database }) => readsOf(database).some((one) => cursorOf(database, one) !== null),
  find({ database, request }, _head, { earlier }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const cursor = cursorOf(database, one);
      if (cursor === null) return [];
      const { column, key, side, after } = cursor;
      const own = leavesIn(request.response?.text ?? '').map(({ value }) => String(value));
      for (const { head, kept } of earlier) {
        const sent = leavesIn(kept.request?.response?.text ?? '');
        const found = runsOf(kept.database, sqlOf(database, one.query))
          .flatMap((query) => foundRows(query))
          .filter((row) => isSameValue(row[column], after));
        if (found.length === 0) continue;
        const all = new Set([...own, ...sent.map(({ value }) => String(value))]);
        const lost = found.map((row) => textOf(row[key])).find((id) => id !== null && !all.has(id));
        const such =
          lost === undefined || lost === null
            ? ''
            : `, such as ${key} ${excerpt(lost, 40)}, which the page before (${head.token}) read and did not send either`;
        const sentence = `${labelOf(database, one.query)} is sorted by ${column}, ${key}, but goes on after the last row by ${column} ${side} … alone: other rows of the same ${column} are skipped${such}`;
        return [draftAt(one, sentence, lost === undefined ? 'warn' : 'bad')];
      }
      return [];
    });
  },
};

/** At most milliseconds, as a `Date` has them. */
const MILLISECONDS = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,3})?(?![.\d])/;

interface Cursor {
  column: string;
  key: string;
  after: string;
  afterKey: string;
  /** Other values that each row of the page has. */
  given: { name: string; value: Json }[];
}

/** A page that goes on after a moment in milliseconds and a key, by which it is sorted. */
function momentCursor(database: Database, one: Read): Cursor | null {
  const { read, query } = one;
  const sorted = read.verb === 'select' && limitOf(read, query) > 1 ? sortedBy(database, one) : null;
  if (sorted === null || read.isAggregated) return null;
  const { column, key } = sorted;
  const valueOf = (wanted: string): string | null =>
    textOf(query.bindings.find(({ name }) => name === wanted)?.value);
  const [after, afterKey] = [valueOf(column), valueOf(key)];
  if (after === null || afterKey === null || !MILLISECONDS.test(after)) return null;
  const others = new Set([column, key, 'limit']);
  return { column, key, after, afterKey, given: query.bindings.filter(({ name }) => !others.has(name)) };
}

/** A row of the cursor’s millisecond that neither this page nor the one before it has. */
function lostAfter(
  cursor: Cursor,
  own: { table: string | null; rows: readonly Record<string, Json>[]; request: KeptRequest },
  others: readonly OtherRequest[],
): { id: string; head: ProfileHead } | null {
  const { column, key, after, afterKey, given } = cursor;
  const isOfMoment = (row: Record<string, Json> | undefined): boolean => {
    const text = textOf(row?.[column]);
    return text !== null && MILLISECONDS.test(text) && isSameValue(text, after);
  };
  const rowsOf = ({ database }: OtherRequest['kept']): Record<string, Json>[][] =>
    database === undefined
      ? []
      : readsOf(database).flatMap(({ read, query }) => (read.table === own.table ? [foundRows(query)] : []));
  const sentIds = ({ response }: KeptRequest): Set<string> =>
    new Set(leavesIn(response?.text ?? '').map(({ value }) => String(value)));
  const before = others.find(({ kept }) => {
    const { request } = kept;
    if (request?.response === undefined || request.response.truncated) return false;
    // It has all of that millisecond that come before.
    return (
      sentIds(request).has(afterKey) && rowsOf(kept).some(([first, second]) => second && !isOfMoment(first))
    );
  })?.kept.request;
  if (before === undefined || own.rows.length === 0 || own.rows.some(isOfMoment)) return null;
  const sent = new Set([...sentIds(before), ...sentIds(own.request)]);
  const isOfPage = (row: Record<string, Json>): boolean =>
    given.every(({ name, value }) => name in row && textOf(row[name]) === textOf(value));
  for (const { head, kept } of others) {
    const row = rowsOf(kept)
      .flat()
      .find((one) => isOfMoment(one) && isOfPage(one) && !sent.has(textOf(one[key]) ?? ''));
    const id = textOf(row?.[key]);
    if (id !== null) return { id, head };
  }
  return null;
}

const cursorRounded: Rule<Needs<'database' | 'request'>> = {
  name: 'cursor-rounded',
  needs: ['database', 'request'],
  labels: ['rows skipped'],
  why: 'A page goes on after a moment in milliseconds and a key. Another request read a row of the same millisecond that fits, and neither this page nor the one before has it: the column has more digits than the value.',
  fix: 'Keep all digits in the cursor: select the column as text (`created_at::text`), or go on after the key alone. A `Date` of JavaScript has milliseconds, a `timestamptz` microseconds.',
  compares: ({ database }) => readsOf(database).some((one) => momentCursor(database, one) !== null),
  relates: ({ database }) => readsOf(database).some((one) => momentCursor(database, one) !== null),
  find({ database, request }, _head, { earlier, siblings }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const cursor = momentCursor(database, one);
      const own = { table: one.read.table, rows: foundRows(one.query), request };
      const lost = cursor === null ? null : lostAfter(cursor, own, [...earlier, ...siblings]);
      if (cursor === null || lost === null) return [];
      const { column, key, after } = cursor;
      const sentence = `${labelOf(database, one.query)} goes on after ${column} ${excerpt(after, 40)}, which has milliseconds, and skips ${key} ${excerpt(lost.id, 40)} of the same millisecond, which ${requestText(lost.head)} read: the column has more digits`;
      return [{ ...draftAt(one, sentence, 'bad'), broke: 'response' }];
    });
  },
};

/** Rows of a page: all that were sent, else the first ones that were read. */
function rowsOfPage({ query }: Read, request: KeptRequest | undefined): Record<string, Json>[] {
  const sent = listsIn(request?.response?.text ?? '').find(
    (list) => list.length === query.rows && list.every((row) => isRecord(row) && 'id' in row),
  );
  return (sent as Record<string, Json>[] | undefined) ?? foundRows(query);
}

/** The same for all pages of one list. */
function listOfPage(database: Database, { read, query }: Read): string {
  const { offset, limit } = read;
  const at = [offset, limit].map((value) => (value?.kind === 'bound' ? value.index : -1));
  const given = query.bindings.filter((_one, index) => !at.includes(index)).map(({ value }) => value);
  return JSON.stringify([plainSql(database, query).replace(/ (?:limit|offset) .*$/i, ''), given]);
}

/** Rows of a page by what it is sorted by, if several are equal: those of the largest group first. */
function tiesOf(rows: readonly Record<string, Json>[], columns: readonly string[]): Tie[] {
  const keyOf = (row: Record<string, Json>): (string | null)[] =>
    columns.map((column) => {
      const name = Object.keys(row).find((one) => sameName(one) === sameName(column));
      return name === undefined ? null : textOf(row[name]);
    });
  if (rows.some((row) => keyOf(row).includes(null))) return [];
  return [...groupBy(rows, (row) => keyOf(row).join(', '))]
    .filter(([, equal]) => equal.length > 1)
    .map(([value, equal]) => ({ value, rows: equal, isWhole: equal.length === rows.length }))
    .toSorted((one, other) => other.rows.length - one.rows.length);
}

interface Tie {
  value: string;
  rows: readonly Record<string, Json>[];
  isWhole: boolean;
}

interface Page {
  /** undefined: of this request. */
  head: OtherRequest['head'] | undefined;
  one: Read;
  request: KeptRequest | undefined;
}

function pageTies({ one, request }: Page, columns: readonly string[]): Tie[] {
  const ties = tiesOf(rowsOfPage(one, request), columns);
  return ties.length > 0 ? ties : tiesOf(foundRows(one.query), columns);
}

/** Ids of its tied rows. */
function tiedIds(page: Page, columns: readonly string[]): Set<string> {
  return new Set(pageTies(page, columns).flatMap(({ rows }) => rows.flatMap(({ id }) => textOf(id) ?? [])));
}

/** Of the ids, those that another page has. */
function idsOn({ one, request }: Page, tied: ReadonlySet<string>): string[] {
  return rowsOfPage(one, request).flatMap(({ id }) => {
    const text = textOf(id);
    return text !== null && tied.has(text) ? [text] : [];
  });
}

/** Two pages of one list that share rows, this one's first. */
function sharing(pages: readonly Page[], columns: readonly string[]) {
  for (const [at, first] of pages.entries()) {
    const tied = tiedIds(first, columns);
    for (const second of pages.slice(at + 1)) {
      if (!areApart(first.one, second.one) && !areApart(second.one, first.one)) continue;
      const ids = idsOn(second, tied);
      if (ids.length > 0) return { first, second, ids };
    }
  }
  return null;
}

const MOST_NAMED = 3;
/** Fewer rows are equal by chance. */
const WHOLE_PAGE = 5;

function isPaged({ read }: Read): boolean {
  return read.verb === 'select' && read.offset !== null && read.limit !== null && !read.isAggregated;
}

/** The first ends where the second begins, or before. */
function areApart(first: Read, second: Read): boolean {
  const end = offsetOf(first.read, first.query) + limitOf(first.read, first.query);
  return end <= offsetOf(second.read, second.query);
}

const pageOrderTies: Rule<Needs<'database', 'request'>> = {
  name: 'page-order-ties',
  needs: ['database'],
  labels: ['order of pages'],
  why: 'Several rows of a page with LIMIT and OFFSET are equal in all columns of its ORDER BY. In addition, one row was on two pages of the list, or all rows of a full page are equal.',
  fix: 'Add a unique column to the order: `order by priority desc, id`. Among rows that are equal in ORDER BY, a database may choose another order for each page.',
  compares: ({ database }) => readsOf(database).some(isPaged),
  find({ database, request }, _head, { earlier }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const columns = orderOf(database, one).map(({ column }) => column);
      if (!isPaged(one) || columns.length === 0 || columns.some((column) => PRIMARY.test(column))) return [];
      const own: Page = { head: undefined, one, request };
      const [tie] = pageTies(own, columns);
      if (tie === undefined) return [];
      const by = columns.map((column) => excerpt(column, 40)).join(', ');
      const what = `${labelOf(database, one.query)} is sorted by ${by} alone, in which ${count(tie.rows.length)} of the rows are equal (${excerpt(tie.value, 40)})`;
      const list = listOfPage(database, one);
      const others = earlier.flatMap(({ head, kept: { database: theirs, request: asked } }): Page[] => {
        const page = readsOf(theirs).find(
          (other) => theirs !== undefined && isPaged(other) && listOfPage(theirs, other) === list,
        );
        return page === undefined ? [] : [{ head, one: page, request: asked }];
      });
      const shared = sharing([own, ...others], columns);
      if (shared !== null) {
        const { first, second, ids } = shared;
        const named =
          ids.length > MOST_NAMED ? `${ids.slice(0, MOST_NAMED).join(', ')} and others` : listOf(ids);
        const page = first.head === undefined ? 'this page' : `the page of ${requestText(first.head)}`;
        const again = second.head === undefined ? '' : requestText(second.head);
        const sentence = `${what}: rows of ${page} were also on that of ${again}, with id ${named}`;
        return [draftAt(one, sentence, 'bad')];
      }
      const { system } = database.statements[one.query.statement] ?? {};
      const isFull = one.query.rows === limitOf(one.read, one.query) && one.query.rows >= WHOLE_PAGE;
      if (!tie.isWhole || !isFull || system === 'sqlite') return [];
      return [draftAt(one, `${what}: they may be on another page as well, and others on none`, 'warn')];
    });
  },
};

export const pageRules: readonly Rule[] = [
  limitOfJoined,
  firstPageSkipped,
  countWithoutCondition,
  cursorWithoutKey,
  cursorRounded,
  pageOrderTies,
  deepOffset,
];
