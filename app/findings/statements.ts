/** Faults in the text and the values of a statement: look-ups by nothing, writes that hit no row or all rows, too many rows. */
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type ReceivedField, receivedFields } from '../panels/shared/received.ts';
import { type Comparison, givenValue } from '../panels/shared/read-statement.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isRecord, type Json, parseJson } from '../profiler/json.ts';
import { type Database, type Needs, type Query, type Rule } from './shared/kept.ts';
import { keyedBy, namedIds, routeValues, textsIn } from './shared/conditions.ts';
import {
  draftAt,
  hasValue,
  isLarge,
  kindOf,
  labelOf,
  type Read,
  readOf,
  readsOf,
  rowOf,
  runsOf,
  sqlOf,
  textOf,
} from './shared/queries.ts';
import { isSuccess, receivedHeader } from './shared/http.ts';
import { count, excerpt, shareOf } from './shared/wording.ts';
import { isMasked, maskedType } from '../profiler/masking/redact.ts';

const BY_ORDER = new Set(['=', '<>', '!=', '<', '>', '<=', '>=', 'like', 'ilike', 'not like', 'not ilike']);

function neverTrue(
  one: Comparison,
  { bindings }: Query,
): { what: string; label: string; column: string } | null {
  const { operator, values, column } = one;
  const isNull = values.map((value) => givenValue(value, bindings) === null);
  const label = 'compared with NULL';
  if (BY_ORDER.has(operator) && isNull[0] === true) {
    const [value] = values;
    const which = value?.kind === 'bound' ? ` (value ${value.index + 1} of ${bindings.length})` : '';
    return { label, column, what: `compares ${column} with NULL${which}, which is never true` };
  }
  if (operator === 'not in' && isNull.includes(true))
    return { label, column, what: `asks for ${column} not in a list that has NULL, which is never true` };
  if (operator === 'in' && values.length > 0 && isNull.every(Boolean))
    return { label: 'empty list', column, what: `asks for ${column} in an empty list` };
  return null;
}

/** The request has a value of this name: it was not read from there, or under another name. */
function receivedAs(request: KeptRequest | undefined, column: string): string {
  const names = receivedFields(request ?? {}).filter(({ value }) => value !== null && value !== '');
  const found = names.find(({ name }) => sameName(name) === sameName(column));
  return found === undefined ? '' : `, although ${excerpt(found.name, 60)} was received`;
}

const nullComparison: Rule<Needs<'database', 'request'>> = {
  name: 'null-comparison',
  needs: ['database'],
  labels: ['compared with NULL', 'empty list'],
  why: 'A value in the WHERE was `null`, `undefined` or an empty list, an operator such as `=`, `IN` or `NOT IN` compares a column with it, and no row was found.',
  fix: 'Look for the misspelled or missing parameter that the value comes from, and refuse the request without it. To find NULL, use `IS NULL` or `IS NOT DISTINCT FROM`.',
  find({ database, request }, { status }) {
    for (const { query, index, read } of readsOf(database)) {
      if (query.rows !== 0 || !read.isPlain) continue;
      // Together with IS NULL, the statement was written with NULL in mind.
      if (read.where?.some(({ operator }) => operator === 'is' || operator === '<=>') !== false) continue;
      const found = read.where.map((one) => neverTrue(one, query)).find((one) => one !== null);
      if (found === undefined) continue;
      const isRefused = status !== null && status >= 400;
      // A list without entries is usual.
      if (found.label === 'empty list' && !isRefused) continue;
      return [
        {
          label: found.label,
          severity: 'warn',
          broke: isRefused ? 'response' : 'unseen',
          sentence: `${labelOf(database, query)} ${found.what}: it found no row${receivedAs(request, found.column)}`,
          anchor: rowOf(index),
          place: query.caller,
        },
      ];
    }
    return [];
  },
};

/** Columns by which a row shows that somebody else has changed it since. */
const VERSION = /^(?:row_?|lock_?)?(?:version|revision|rev|etag)(?:_?(?:no|number))?$/i;

function asksForVersion({ read }: Read): boolean {
  return read.where?.some(({ column }) => VERSION.test(column)) === true;
}

const noRowChanged: Rule<Needs<'database' | 'request'>> = {
  name: 'no-row-changed',
  needs: ['database', 'request'],
  labels: ['no row changed'],
  why: 'An update or delete of the row in the address changed nothing, and the response was a 2xx. Nothing else was written, or its condition asked for a version, which the row no longer had.',
  fix: 'Look at the number of changed rows (`rowCount`, `affectedRows`, `changes`), and answer 404 or 409 if it is 0.',
  find({ database, request }, { status, method }) {
    const keys = routeValues(request);
    if (!isSuccess(status) || keys.size === 0) return [];
    const writes = readsOf(database).filter(({ read }) => read.verb !== 'select');
    const changes = writes.filter(({ query }) => query.rows !== 0);
    const found = writes.find(
      (one) =>
        one.query.rows === 0 &&
        keyedBy(one, keys) !== undefined &&
        (changes.length === 0 ||
          (asksForVersion(one) &&
            !changes.some(({ read, query }) => query.rows === null || read.table === one.read.table))),
    );
    if (found === undefined) return [];
    const { query, index, read } = found;
    const conditions = (read.where ?? []).filter((one) => one !== keyedBy(found, keys));
    // To delete what is gone succeeds, also where a column says that it is.
    const isGone = read.verb === 'delete' || method === 'DELETE';
    if (isGone && status === 204 && conditions.every(({ operator }) => operator === 'is')) return [];
    const others = conditions.map(({ column }) => column);
    const condition =
      others.length === 0 ? '' : ` (its condition also asks for ${others.slice(0, 3).join(', ')})`;
    return [
      draftAt(
        { query, index },
        `${labelOf(database, query)} changed 0 rows${condition}, but this request answered ${status ?? ''}${changes[0] === undefined ? '' : `, after ${labelOf(database, changes[0].query)}`}`,
        changes.length > 0 ? 'bad' : read.verb === 'delete' ? 'info' : 'warn',
      ),
    ];
  },
};

/** A parameter of the query whose value is in no statement, although it looks like a condition. */
function unusedParameter({ query }: KeptRequest, { queries }: Database): string | null {
  const bound = new Set(queries.flatMap(({ bindings }) => bindings.map(({ value }) => textOf(value))));
  return query.find(({ value }) => textOf(value) !== null && !bound.has(textOf(value)))?.name ?? null;
}

const allRowsChanged: Rule<Needs<'database' | 'request'>> = {
  name: 'all-rows-changed',
  needs: ['database', 'request'],
  labels: ['all rows changed'],
  why: 'An update without WHERE changed at least two rows, or a delete without WHERE did although the address names one thing, or has a parameter that no statement has.',
  fix: 'Add the condition. ORMs drop a condition whose value is `undefined`: check the parameter before you pass it.',
  find({ database, request }) {
    const isOne = routeValues(request).size > 0;
    return readsOf(database).flatMap(({ query, index, read }): FindingDraft[] => {
      const rows = query.rows ?? 0;
      if (read.where !== null || read.limit !== null || rows < 2) return [];
      const unasked = read.verb === 'delete' && !isOne ? unusedParameter(request, database) : null;
      if (read.verb !== 'update' && (read.verb !== 'delete' || (!isOne && unasked === null))) return [];
      const names = isOne
        ? ', although the address names one'
        : unasked === null
          ? ''
          : `, and no statement has the parameter ${excerpt(unasked, 40)}`;
      return [
        draftAt(
          { query, index },
          `${labelOf(database, query)} has no WHERE and changed ${count(rows, 'row')}${names}`,
          isOne ? 'bad' : 'warn',
        ),
      ];
    });
  },
};

/** `null`, `{}`, nothing, or objects that hold only those. */
function isNothing(value: unknown, depth = 0): boolean {
  if (value === null) return true;
  if (!isRecord(value) || depth > 2) return false;
  return Object.values(value).every((part) => isNothing(part, depth + 1));
}

function sendsNothing({ response }: KeptRequest): boolean {
  if (response === undefined || !/\bjson\b/i.test(response.contentType ?? 'json')) return false;
  if (response.bytes === 0) return true;
  return !response.truncated && isNothing(parseJson(response.text ?? ''));
}

const foundNothing: Rule<Needs<'database' | 'request'>> = {
  name: 'found-nothing',
  needs: ['database', 'request'],
  labels: ['found nothing'],
  why: 'The read of the row in the address found nothing, and the response was a 200 without a value: `null`, `{}` or no body.',
  fix: 'Answer 404 if there is no row. Clients take 200 for success, and fail later on the value that is not there.',
  find({ database, request }, { status }) {
    const keys = routeValues(request);
    if (status !== 200 || keys.size === 0 || !sendsNothing(request)) return [];
    const reads = readsOf(database).filter(
      (one) => one.read.verb === 'select' && keyedBy(one, keys) !== undefined,
    );
    const [first] = reads;
    if (first === undefined || reads.some(({ query }) => query.rows !== 0)) return [];
    const { query, index } = first;
    const column = keyedBy(first, keys)?.column ?? '';
    return [
      draftAt(
        { query, index },
        `${labelOf(database, query)} found no row for ${column}, but this request answered 200 without a value`,
        'warn',
      ),
    ];
  },
};

/** Methods of ORMs that want one row at most. */
const WANTS_ONE = /\.(?:findOne\w*|findFirst\w*|findUnique\w*|findByPk|first\w*|getOne\w*|takeFirst\w*)$/;
/** Fewer rows are no matter. */
const MANY_FOR_ONE = 20;
const MANY_JOINED = 200;
/** From so many rows for one entry of the response on, most of them were read in vain. */
const TIMES_ENTRIES = 4;
/** Bytes that an entry of a list has at least, as JSON. */
const SHORTEST_ENTRY = 8;

/** Entries of all lists of the response; null if that is not known. */
function entriesOf({ response }: KeptRequest): number | null {
  if (response?.text === null || response === undefined || !/\bjson\b/i.test(response.contentType ?? ''))
    return null;
  if (response.truncated) return Math.floor(response.bytes / SHORTEST_ENTRY);
  const parsed = parseJson(response.text);
  if (parsed === undefined) return null;
  let entries = 0;
  const walk = (value: Json): void => {
    if (Array.isArray(value)) entries += value.length;
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(walk);
  };
  walk(parsed);
  return entries;
}

/** `/customers/:customerId/orders`: the parameter that says whose rows of the table are wanted; null if none does. */
function ownerOf(pattern: string, table: string): string | null {
  const parts = pattern.toLowerCase().split('/');
  const at = parts.indexOf(table.toLowerCase());
  const near = [parts[at + 1], parts[at - 1]].find((part) => part?.startsWith(':') === true);
  return at === -1 || near === undefined ? null : near.slice(1);
}

/** A read of all rows of a table, in a route that names whose; nothing of the database was asked with that name. */
function unfiltered(
  { database, routing, request }: Needs<'database' | 'request' | 'routing'>,
  { query, read }: Read,
): string | null {
  if (
    read.where !== null ||
    read.limit !== null ||
    read.joins > 0 ||
    read.isAggregated ||
    read.table === null
  )
    return null;
  const owner = ownerOf(routing.route?.pattern ?? '', read.table);
  const given = request.routeParams?.find(({ name }) => name.toLowerCase() === owner)?.value;
  const value = textOf(given);
  if (owner === null || value === null || (query.rows ?? 0) < 2) return null;
  const isAsked = database.queries.some(
    ({ bindings, statement }) =>
      bindings.some((binding) => JSON.stringify(binding.value).includes(value)) ||
      (database.statements[statement]?.sql.includes(value) ?? false),
  );
  return isAsked ? null : owner;
}

/** `420 counts.id × 280 photos.id`: two lists of one thing that were joined, so that each entry of one comes with each of the other. */
function productOf({ rows, ids = {} }: Query): string | null {
  const counts = Object.entries(ids);
  const lists = counts.filter(([, one]) => one > 1);
  if (!counts.some(([, one]) => one === 1) || lists.some(([, one]) => one === rows)) return null;
  for (const [at, [name, one]] of lists.entries()) {
    const by = lists.slice(at + 1).find(([, other]) => one * other === rows);
    if (by === undefined) continue;
    const [a, b] = [`${count(one)} ${excerpt(name, 40)}`, `${count(by[1])} ${excerpt(by[0], 40)}`];
    return `${a} × ${b}, which two statements would read as ${count(one + by[1], 'row')}`;
  }
  return null;
}

const PRODUCT_FIX =
  'Read each list with a statement of its own: `include: [{ association: "photos", separate: true }]` in Sequelize, `relationLoadStrategy: "query"` in TypeORM, or two queries. A limit would not help.';

/** What it read beyond what was wanted. */
function readBeyond(
  kept: Needs<'database' | 'request' | 'routing'>,
  one: Read,
  wholeMs: number | null,
): FindingDraft[] {
  const { database, request } = kept;
  const { query, index, read } = one;
  const rows = query.rows ?? 0;
  const { above = '' } = database.statements[query.statement] ?? {};
  if (read.verb !== 'select' || rows < 2) return [];
  const common = { anchor: rowOf(index), place: query.caller };
  const label = labelOf(database, query);
  const owner = unfiltered(kept, one);
  if (owner !== null) {
    const sentence = `${label} has no WHERE and returned ${count(rows, 'row')}; no statement has the parameter ${excerpt(owner, 40)}`;
    return [{ ...common, broke: 'unseen', severity: 'warn', sentence }];
  }
  const costMs = query.durationMs ?? 0;
  if (WANTS_ONE.test(above) && rows >= MANY_FOR_ONE && read.joins === 0) {
    const sentence = `${label} wants one row and read ${count(rows)}, ${shareOf(costMs, wholeMs)}: the statement has no limit`;
    return [{ ...common, severity: 'warn', costMs, sentence }];
  }
  const product = productOf(query);
  if (product !== null) {
    const sentence = `${label} with ${count(read.joins, 'join')} returned ${count(rows, 'row')} in ${shareOf(costMs, wholeMs)}: joined lists multiply each other, ${product}`;
    return [{ ...common, severity: 'warn', costMs, sentence, fix: PRODUCT_FIX }];
  }
  const entries = read.joins < 2 || read.isAggregated || rows < MANY_JOINED ? null : entriesOf(request);
  if (entries === null || rows < entries * TIMES_ENTRIES) return [];
  const sentence = `${label} with ${count(read.joins, 'join')} returned ${count(rows, 'row')} for ${request.response?.truncated === true ? 'at most ' : ''}${count(entries, 'entry', 'entries')} of the response: joined lists multiply each other`;
  return [{ ...common, severity: 'warn', costMs, sentence }];
}

const moreThanWanted: Rule<Needs<'database' | 'request' | 'routing'>> = {
  name: 'more-than-wanted',
  needs: ['database', 'request', 'routing'],
  labels: ['more than wanted'],
  why: 'A method that wants one row got many, joins of several lists gave the product of two of them or at least four times as many rows as the response has entries, or no statement has the parameter whose rows are wanted.',
  fix: 'Let the database choose: a WHERE with the parameter, `limit 1`, and one statement for each list instead of joining two lists (`separate: true`, `relationLoadStrategy`).',
  find(kept, { durationMs: wholeMs }) {
    return readsOf(kept.database).flatMap((one) => readBeyond(kept, one, wholeMs));
  },
};

/** From here on a read without a limit is reported: it grows with the table. */
const UNLIMITED_ROWS = 1000;
/** A read that took less of the request is not why it was slow. */
const LEAST_SHARE = 0.01;
const LIMITS = /\blimit\b|\bfetch\s+(?:first|next)\b|\btop\b/i;

function isUnlimited(database: Database, query: Query): boolean {
  if ((query.rows ?? 0) < UNLIMITED_ROWS) return false;
  return kindOf(database, query) === 'read' && !LIMITS.test(sqlOf(database, query));
}

/** The rows belong to several things, and the path names one: `meter_id` of `/meters/:id`. The first rows are recorded. */
function ofSeveral(
  { read, query }: Read,
  request: KeptRequest | undefined,
  route: string | null,
): (Pick<FindingDraft, 'fix'> & { text: string }) | null {
  if (read.where !== null || read.limit !== null || read.isAggregated || request === undefined) return null;
  const rows = foundRows(query);
  for (const { id, of, column } of namedIds(route, request)) {
    const name = Object.keys(rows[0] ?? {}).find((one) => sameName(one) === sameName(column));
    const values = new Set(rows.flatMap((row) => textOf(row[name ?? '']) ?? []));
    if (name === undefined || values.size < 2 || isMasked(id)) continue;
    return {
      text: `without a condition: the path asks for ${excerpt(of, 40)} ${excerpt(id, 40)}, and the first ${count(rows.length, 'row')} have ${count(values.size)} different ${excerpt(name, 40)}`,
      fix: `Add the condition on ${excerpt(name, 40)} to the statement, with an index on its column. A limit would leave out rows that are wanted.`,
    };
  }
  return null;
}

const largeResult: Rule<Needs<'database', 'request' | 'routing'>> = {
  name: 'large-result',
  needs: ['database'],
  labels: ['large result'],
  why: 'The driver reported that the statement returned 5,000 rows or more, or 1,000 without a limit.',
  fix: 'Read one page at a time (`limit` with a key), aggregate in the database, or stream the rows.',
  find({ database, request, routing }, { durationMs: wholeMs, route }) {
    const { queries, totals } = database;
    const isBeyond = (query: Query, index: number): boolean => {
      const read = readOf(database, query);
      if (read === null || request === undefined || routing === undefined) return false;
      return readBeyond({ database, request, routing }, { query, index, read }, wholeMs).length > 0;
    };
    if (totals.rows < UNLIMITED_ROWS) return [];
    return (
      queries
        .map((query, index) => ({ query, index, rows: query.rows ?? 0 }))
        .filter(({ query }) => isLarge(database, query) || isUnlimited(database, query))
        // It has a finding that explains more.
        .filter(({ query, index }) => !isBeyond(query, index))
        .sort((a, b) => b.rows - a.rows)
        .map(({ query, index, rows }) => {
          const ms = query.durationMs ?? 0;
          const read = readOf(database, query);
          const several = read === null ? null : ofSeveral({ query, index, read }, request, route);
          const without = several?.text ?? (isUnlimited(database, query) ? 'without a limit' : '');
          const sentence = `${labelOf(database, query)} returned ${count(rows, 'row')} in ${shareOf(ms, wholeMs)}${without === '' ? '' : `, ${without}`}`;
          const anchor = rowOf(index);
          const isSlow = wholeMs === null || ms >= wholeMs * LEAST_SHARE;
          const severity = isLarge(database, query) && isSlow ? 'warn' : 'info';
          const fix = several === null ? {} : { fix: several.fix };
          return { severity, sentence, anchor, costMs: ms, place: query.caller, ...fix };
        })
    );
  },
};

const wildcardReceived: Rule<Needs<'database' | 'request'>> = {
  name: 'wildcard-received',
  needs: ['database', 'request'],
  labels: ['LIKE wildcard'],
  why: 'A received text with `%` in it is in the pattern of a LIKE as it came, without an escape. It found rows.',
  fix: 'Escape it before you build the pattern: `text.replace(/[\\\\%_]/g, "\\\\$&")`. Otherwise `%` and `_` of a client match any text.',
  find({ database, request }) {
    const received = receivedFields(request).filter(
      ({ value }) => typeof value === 'string' && (value.includes('%') || /^_+$/.test(value)),
    );
    if (received.length === 0) return [];
    return readsOf(database).flatMap(({ query, index, read }): FindingDraft[] => {
      if (query.rows === null || query.rows === 0) return [];
      for (const one of read.where ?? []) {
        if (!/^i?like$/.test(one.operator)) continue;
        const pattern = textsIn(one, query)[0]?.replace(/^%|%$/g, '');
        const field = received.find(({ value }) => value === pattern);
        if (field === undefined) continue;
        const sentence = `${labelOf(database, query)} found ${count(query.rows, 'row')} by a pattern in which the wildcards of ${excerpt(field.name, 40)} are not escaped: they match any ${one.column}`;
        return [draftAt({ query, index }, sentence, 'warn')];
      }
      return [];
    });
  },
};

/** Whether a value is a number or a text, or a mark of one. */
function typeOf(value: Json | undefined): string {
  return maskedType(value) ?? typeof value;
}

function numbersOf(request: KeptRequest): ReceivedField[] {
  return receivedFields(request).filter(({ from, value }) => from === 'body' && typeOf(value) === 'number');
}

const comparedAsNumber: Rule<Needs<'database' | 'request'>> = {
  name: 'compared-as-number',
  needs: ['database', 'request'],
  labels: ['compared as number'],
  why: 'MySQL or MariaDB compared a column with a number of the body. Earlier requests of this route compared it with a text. The statement found rows.',
  fix: 'Refuse a body whose field has the wrong type, or bind `String(value)`. A text column that is compared with a number is converted to one: `7SALE` is 7, and a text that begins with no digit is 0.',
  compares: ({ database, request }) =>
    numbersOf(request).length > 0 && database.statements.some(({ system }) => system === 'mysql'),
  find({ database, request }, _head, { earlier }) {
    const received = numbersOf(request);
    return readsOf(database).flatMap(({ query, index, read }): FindingDraft[] => {
      if (database.statements[query.statement]?.system !== 'mysql' || query.rows === 0) return [];
      const sql = sqlOf(database, query);
      for (const { operator, values, column } of read.where ?? []) {
        const [value] = values;
        const given = value?.kind === 'bound' ? query.bindings[value.index]?.value : undefined;
        if (operator !== '=' || value?.kind !== 'bound' || !received.some((one) => one.value === given))
          continue;
        const texts = earlier.filter(({ kept }) =>
          runsOf(kept.database, sql).some(
            ({ bindings }) => typeOf(bindings[value.index]?.value) === 'string',
          ),
        );
        if (texts.length === 0) continue;
        const sentence = `${labelOf(database, query)} compares ${column} with a number, and with a text in ${count(texts.length, 'earlier request')}: MySQL converts each ${column} to a number, by the digits with which it begins`;
        return [draftAt({ query, index }, sentence, 'bad')];
      }
      return [];
    });
  },
};

const idempotencyKeyLost: Rule<Needs<'database' | 'request', 'cache'>> = {
  name: 'idempotency-key-lost',
  needs: ['database', 'request'],
  labels: ['key not stored'],
  why: 'The request has an Idempotency-Key, a read asked for it and found nothing, and the request wrote rows, but no write or cache command has the key.',
  fix: 'Store the key together with the result, under a unique index, in the transaction of the work.',
  find({ database, request, cache }) {
    const key = receivedHeader(request, 'idempotency-key');
    if (key === null) return [];
    const has = ({ query }: Read): boolean => hasValue(database, query, key);
    const reads = readsOf(database);
    const asked = reads.find((one) => one.read.verb === 'select' && one.query.rows === 0 && has(one));
    const writes = reads.filter(({ read, query }) => read.verb !== 'select' && query.rows !== 0);
    const [first] = writes;
    if (asked === undefined || first === undefined || writes.some(has)) return [];
    if (cache?.items.some(({ key: stored }) => stored?.includes(key) === true) === true) return [];
    const sentence = `${labelOf(database, asked.query)} asked for the Idempotency-Key, but ${labelOf(database, first.query)} does not store it: a repetition of this request does the work again`;
    return [draftAt(first, sentence, 'bad')];
  },
};

export const statementRules: readonly Rule[] = [
  wildcardReceived,
  comparedAsNumber,
  idempotencyKeyLost,
  nullComparison,
  noRowChanged,
  allRowsChanged,
  foundNothing,
  moreThanWanted,
  largeResult,
];
