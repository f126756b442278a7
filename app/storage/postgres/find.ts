/**
 * Finds rows. The database narrows a query by its indexes (token, parent, trace, pins, time) and gives rows newest first in small pages;
 * all other filters and orders are those of every store (profiler/store/query-rows.ts), which see only the columns that they need.
 */
import type pg from 'pg';
import { escapedForJson, type TextPlace } from '../../profiler/store/find-text.ts';
import { ASSETS, matcherOf, membersRead, orderOf } from '../../profiler/store/query-rows.ts';
import {
  type FindResult,
  MOST_COUNTED,
  type ProfileQuery,
  type TextSearch,
} from '../../profiler/store/storage.ts';
import type { FindText, Row } from '../../profiler/store/store.ts';
import { inTransaction, type Store as Connection, tableIn, withClient } from '../pool.ts';
import { storable } from '../text.ts';
import { ALL_COLUMNS, rowOf, type Selection, selectionOf, wholeMoment } from './rows.ts';

/** Rows of one page, of some columns and of all: what one turn of the event loop parses. */
const PAGE_ROWS = 1000;
const PAGE_WHOLE_ROWS = 500;
const PAGE_MS = 10_000;
/** A page is read by the index of times, also where the database knows too little of the table: else it would sort all of it for each page. */
const BY_INDEX =
  'set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off';
const PAGE_TEXTS = 100;
/** A search ends after so many milliseconds, and says how far it came. */
const SEARCH_MS = 1000;

const OF_DATABASE: ReadonlySet<string> = new Set([
  'token', 'parent', 'traceId', 'from', 'until', 'isAsset',
] satisfies (keyof ProfileQuery)[]); // prettier-ignore

interface Condition {
  sql: string;
  values: readonly unknown[];
  /** Another index than that of times finds few rows. */
  isNarrow: boolean;
}

function conditionOf(query: ProfileQuery): Condition {
  const values: unknown[] = [];
  const parts = ['true'];
  const add = (sql: string, value: unknown): void => void parts.push(`${sql}$${values.push(value)}`);
  if (query.token !== undefined) add('token = ', query.token);
  if (query.parent !== undefined) add('parent = ', query.parent);
  if (query.traceId !== undefined) add('trace_id = ', query.traceId);
  if (query.from !== undefined) add('started_at >= ', wholeMoment(Math.ceil(query.from)));
  if (query.until !== undefined) add('started_at < ', wholeMoment(Math.ceil(query.until)));
  if (query.isAsset !== undefined) {
    const wanted = query.isAsset ? '' : 'not ';
    parts.push(`${wanted}coalesce(dest = any($${values.push(ASSETS)}::text[]), false)`);
  }
  if (query.pinned === true) parts.push('pinned');
  if (query.isLabelled === false) parts.push('findings is null');
  parts.push(`kind = any($${values.push(query.kinds ?? ['request'])}::text[])`);
  const { token, parent, traceId, pinned, isLabelled } = query;
  const isNarrow = (token ?? parent ?? traceId) !== undefined || pinned === true || isLabelled === false;
  return { sql: parts.join(' and '), values, isNarrow };
}

function restOf(query: ProfileQuery): ProfileQuery {
  const rest = Object.entries(query).filter(([name]) => !OF_DATABASE.has(name));
  return Object.fromEntries(rest) as unknown as ProfileQuery;
}

/** Texts as they are stored. */
function storableQuery<Query extends Partial<ProfileQuery>>(query: Query): Query {
  const texts = Object.entries(query).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' && name !== 'text' ? storable(value) : value,
  ]);
  const stored = Object.fromEntries(texts) as Query;
  return query.not === undefined ? stored : { ...stored, not: query.not.map(storableQuery) };
}

type TextFor = (table: string) => string;

function statementOf(text: TextFor, schema: string, values: readonly unknown[]): pg.QueryArrayConfig {
  return { text: text(tableIn(schema, 'hindsight_profiles')), values: [...values], rowMode: 'array' };
}

export interface Finder {
  find(query: ProfileQuery, findText?: FindText): Promise<FindResult>;
  rows(since: number): AsyncGenerator<readonly Row[]>;
}

export function createFinder(
  withConnection: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>,
): Finder {
  function select(text: TextFor, values: readonly unknown[]): Promise<unknown[][]> {
    return withConnection(async ({ pool, schema }) => {
      const { rows } = await pool.query<unknown[]>(statementOf(text, schema, values));
      return rows;
    });
  }

  function selectByTime(text: TextFor, values: readonly unknown[]): Promise<unknown[][]> {
    return withConnection(({ pool, schema }) =>
      withClient(pool, (client) =>
        inTransaction(
          client,
          PAGE_MS,
          async () => (await client.query<unknown[]>(statementOf(text, schema, values))).rows,
          BY_INDEX,
        ),
      ),
    );
  }

  async function* pages(
    { sql, values, isNarrow }: Condition,
    selection: Selection,
    ascending = false,
  ): AsyncGenerator<readonly Row[]> {
    const most = selection === ALL_COLUMNS ? PAGE_WHOLE_ROWS : PAGE_ROWS;
    let last: Row | undefined;
    const [older, direction] = ascending ? ['>', 'asc'] : ['<', 'desc'];
    const place = values.length;
    for (;;) {
      const after =
        last === undefined
          ? ''
          : ` and started_at ${older}= $${place + 1}::bigint and (started_at ${older} $${place + 1}::bigint or token > $${place + 2})`;
      const found = await (isNarrow ? select : selectByTime)(
        (table) => `select ${selection.sql} from ${table} where ${sql}${after}
          order by started_at ${direction}, token limit ${most}`,
        last === undefined ? values : [...values, last.startedAt, last.token],
      );
      const rows = found.map((one) => rowOf(selection, one));
      if (rows.length > 0) yield rows;
      last = rows.at(-1);
      if (rows.length < most) return;
    }
  }

  async function count({ sql, values }: Condition): Promise<number> {
    const rows = await select((table) => `select count(*)::int from ${table} where ${sql}`, values);
    return Number(rows[0]?.[0] ?? 0);
  }

  async function rowsOf(tokens: readonly string[]): Promise<Pick<FindResult, 'rows' | 'pinned'>> {
    if (tokens.length === 0) return { rows: [] };
    const found = await select(
      (table) => `select ${ALL_COLUMNS.sql}, pinned from ${table} where token = any($1)`,
      [tokens],
    );
    const byToken = new Map(
      found.map((values) => {
        const row = rowOf(ALL_COLUMNS, values);
        return [row.token, { row, isPinned: values.at(-1) === true }];
      }),
    );
    // One of them may have been deleted meanwhile.
    const known = tokens.flatMap((token) => byToken.get(token) ?? []);
    const pinned = known.flatMap(({ row, isPinned }) => (isPinned ? [row.token] : []));
    return { rows: known.map(({ row }) => row), ...(pinned.length === 0 ? {} : { pinned }) };
  }

  async function findPage(query: ProfileQuery, condition: Condition): Promise<FindResult> {
    const { limit, offset, descending = true } = query;
    const place = condition.values.length;
    const found = await select(
      (table) => `select ${ALL_COLUMNS.sql}, pinned from ${table} where ${condition.sql}
        order by started_at ${descending ? 'desc' : 'asc'}, token limit $${place + 1} offset $${place + 2}`,
      [...condition.values, limit, offset],
    );
    const rows = found.map((values) => rowOf(ALL_COLUMNS, values));
    const pinned = found.flatMap((values, at) => (values.at(-1) === true ? [rows[at]?.token ?? ''] : []));
    const isLast = rows.length < limit && (rows.length > 0 || offset === 0);
    const last = offset + rows.length;
    return {
      rows,
      total: isLast ? last : query.counted === false ? last : await count(condition),
      totalIsExact: isLast || query.counted !== false,
      ...(pinned.length === 0 ? {} : { pinned }),
    };
  }

  /** Looks through the rows, the newest first if the order is that of time; then it ends when the page is full and enough are counted. */
  async function scan(query: ProfileQuery, condition: Condition, names: Set<keyof Row>): Promise<FindResult> {
    const { limit, offset, sort = 'startedAt', descending = true, counted } = query;
    const matches = matcherOf(restOf(query));
    const inOrder = sort === 'startedAt';
    const enough = inOrder ? Math.max(offset + limit, counted === false ? 0 : MOST_COUNTED + 1) : Infinity;
    const found: Row[] = [];
    let looked = 0;
    let isWhole = true;
    const selection = selectionOf(names.add('startedAt').add('token').add('kind').add(sort));
    for await (const rows of pages(condition, selection, inOrder && !descending)) {
      looked += rows.length;
      for (const row of rows) if (matches(row)) found.push(row);
      isWhole = found.length < enough;
      if (!isWhole) break;
    }
    if (!inOrder) found.sort(orderOf(query));
    const total =
      isWhole || counted === false
        ? found.length
        : Math.round((found.length / looked) * (await count(condition)));
    const page = found.slice(offset, offset + limit);
    return { total, totalIsExact: isWhole, ...(await rowsOf(page.map(({ token }) => token))) };
  }

  /** Those of the records that hold the text. The database looks first, so that few texts are sent. */
  async function placesOf(
    wanted: string,
    rows: readonly Row[],
    findText: FindText,
  ): Promise<Map<string, TextPlace>> {
    const escaped = escapedForJson(wanted);
    const like = escaped.toLowerCase() === escaped.toUpperCase() ? 'like' : 'ilike';
    const found = await select(
      (table) =>
        `select token, document from ${table}
        where token = any($1) and (document = '' or document ${like} $2 escape '\\')`,
      [rows.map(({ token }) => token), `%${storable(escaped).replace(/[\\%_]/g, '\\$&')}%`],
    );
    const texts = new Map(found as [string, string][]);
    const places = new Map<string, TextPlace>();
    for (const row of rows) {
      const text = texts.get(row.token);
      const place = text === undefined ? null : findText({ row, text }, wanted);
      if (place !== null) places.set(row.token, place);
    }
    return places;
  }

  async function searchText(
    query: ProfileQuery & { text: string },
    condition: Condition,
    { names, findText }: { names: Set<keyof Row>; findText: FindText },
  ): Promise<FindResult> {
    const { limit, offset, text } = query;
    const matches = matcherOf(restOf(query));
    const until = performance.now() + SEARCH_MS;
    const hits: string[] = [];
    const places = new Map<string, TextPlace>();
    const looked: TextSearch = { count: 0, all: true, oldest: null, found: {} };
    const isOver = (): boolean => hits.length > offset + limit || performance.now() > until;
    const selection = selectionOf(names.add('startedAt').add('token').add('kind').add('url').add('error'));
    for await (const rows of pages(condition, selection)) {
      const candidates = rows.filter(matches);
      for (let from = 0; from < candidates.length && looked.all; from += PAGE_TEXTS) {
        const step = candidates.slice(from, from + PAGE_TEXTS);
        const found = await placesOf(text, step, findText);
        for (const { token, startedAt } of step) {
          const place = found.get(token);
          looked.count += 1;
          looked.oldest = startedAt;
          if (place === undefined) continue;
          hits.push(token);
          places.set(token, place);
        }
        looked.all = !isOver();
      }
      if (!looked.all) break;
    }
    const page = await rowsOf(hits.slice(offset, offset + limit));
    const shown = page.rows.flatMap(({ token }) => {
      const place = places.get(token);
      return place === undefined ? [] : [[token, place] as const];
    });
    return {
      ...page,
      total: hits.length,
      totalIsExact: looked.all,
      looked: { ...looked, found: Object.fromEntries(shown) },
    };
  }

  return {
    async find(given, findText) {
      const query = storableQuery(given);
      const condition = conditionOf(query);
      const read = membersRead(restOf(query));
      const names = new Set<keyof Row>(read);
      const { text, sort = 'startedAt' } = query;
      if (text !== undefined && findText !== undefined)
        return searchText({ ...query, text }, condition, { names, findText });
      return read.length === 0 && sort === 'startedAt'
        ? findPage(query, condition)
        : scan(query, condition, names);
    },
    rows(since) {
      const condition = { sql: 'started_at >= $1', values: [wholeMoment(Math.ceil(since))], isNarrow: false };
      return pages(condition, ALL_COLUMNS);
    },
  };
}
