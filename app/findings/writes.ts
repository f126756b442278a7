/** What a request wrote and should not have: changes of a refused request, fields that nobody sent. */
import type { KeptRequest } from '../panels/request/data.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type UnnamedChanges, unnamedChanges } from '../panels/shared/row-changes.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { givenValue } from '../panels/shared/read-statement.ts';
import { leavesIn, leavesOf, objectsIn } from '../panels/shared/json-leaves.ts';
import { receivedBy, receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { addTo } from '../profiler/group-by.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isSuccess } from './shared/http.ts';
import { type Database, endOf, type Needs, type Query, type Rule } from './shared/kept.ts';
import {
  draftAt,
  kindOf,
  labelOf,
  LEAVES_AS_IS,
  plainSql,
  type Read,
  readsOf,
  sqlOf,
  textOf,
  rolledBack,
  writesBeside,
} from './shared/queries.ts';
import { packagesIn } from './shared/packages.ts';
import { count, duration, excerpt, listOf, singular } from './shared/wording.ts';

type Given = Needs<'request' | 'database'>;

/** Tables that a refused request is meant to change. */
const OF_REFUSAL =
  /audit|attempt|session|token|nonce|quota|outbox|idempoten|metric|histor|(?:^|_)(?:logs?|events?|codes?|otps?|locks?|rates?|limits?|caches?|stats?)(?:_|$)/i;
/** Columns, too: counters of attempts and of use, states, moments. */
const OF_ATTEMPT =
  /fail|attempt|tries|retries|lock|seen|visit|usage|used|hits|calls|requests|status|state|(?:^|_)counte?r?$|^last_|_at$|At$/;
/** Log in, and come back later. */
const NOT_MEANT = new Set([401, 429]);

/** Statements of transactions that were rolled back, and those that ran outside of them meanwhile: they have a finding of their own. */
function ofRollbacks(database: Database): { undone: Set<number>; outside: Set<Query> } {
  const ended = rolledBack(database);
  return {
    undone: new Set(ended.flatMap(({ members }) => members)),
    outside: new Set(ended.flatMap((one) => writesBeside(database, one))),
  };
}

/** An UPDATE or DELETE that changed something, or has not ended. */
function isChange({ read: { verb, table, sets }, query: { rows } }: Read): boolean {
  if ((verb !== 'update' && verb !== 'delete') || table === null || OF_REFUSAL.test(table)) return false;
  return rows !== 0 && (verb === 'delete' || sets.some(({ column }) => !OF_ATTEMPT.test(column)));
}

const refusedButWritten: Rule<Given> = {
  name: 'refused-but-written',
  needs: ['request', 'database'],
  labels: ['written though refused'],
  why: 'The response is a 4xx other than 401 and 429. An UPDATE or DELETE ran after it was sent, or was not rolled back although a later statement found no row. Tables and columns of logs, tokens, attempts and states are ignored.',
  fix: 'Return when you refuse: `return res.status(403).json(…)`. Check everything before you write, or write in a transaction that the refusal rolls back.',
  find({ request, database }, { method, status }) {
    if (method === 'GET' || status === null || status < 400 || status >= 500 || NOT_MEANT.has(status))
      return [];
    const headersAtMs = request.response?.headersAtMs ?? Infinity;
    const { undone, outside } = ofRollbacks(database);
    const missed = database.queries.findLastIndex(
      (query) => query.rows === 0 && query.startMs < headersAtMs && kindOf(database, query) !== 'control',
    );
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { query, index, read } = one;
      if (!isChange(one) || undone.has(index)) return [];
      const label = labelOf(database, query);
      if (query.startMs > headersAtMs) {
        const sentence = `${label} was sent after the ${status}: the code goes on behind the refusal`;
        return [draftAt(one, sentence, 'bad')];
      }
      if (query.rows === null || index >= missed || outside.has(query)) return [];
      const sentence = `${label} changed ${count(query.rows, 'row')} of ${excerpt(read.table ?? '', 40)} before the request was refused with ${status}, and nothing took that back`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

/** Columns that a change of another one empties by design. */
const OF_STATE = /(?:_at|_on|_by|_until|token|code|error|reason|At|On|By|Until)$/;
/** One alone may be emptied on purpose. */
const FEWEST = 2;

/** Names that had a value in a row, with the index of the first statement that found one. */
function namesWithValue({ queries }: Database): Map<string, number> {
  const names = new Map<string, number>();
  queries.forEach((query, index) => {
    for (const row of foundRows(query))
      for (const [name, value] of Object.entries(row))
        if (value !== null && !names.has(name)) names.set(name, index);
  });
  return names;
}

/** Columns that a statement sets to NULL and that the request did not name. */
function emptied({ read, query }: Read, received: ReadonlySet<string>): string[] {
  return read.sets.flatMap(({ column, value }) => {
    const isNull =
      value.kind === 'null' || (value.kind === 'bound' && givenValue(value, query.bindings) === null);
    return !isNull || OF_STATE.test(column) || received.has(sameName(column)) ? [] : [column];
  });
}

const FLAGS: readonly unknown[] = [0, 1, true, false];
/** No moment, hash or text that is made of others. */
const PLAIN_WORD = /^(?!.*\d{4}-\d\d)(?!(?=.*\d)[\w-]{16,}$)[\w .-]{1,40}$/;

function letters(value: unknown): string {
  return String(value).toLowerCase().replace(/\W/g, '');
}

/** `level "skipper" → "beginner"`: columns that the request did not name, with values that it neither received nor read, nor had from a call or a cache. */
function overwritten(kept: Overwriting, { read, query, index }: Read, head: ProfileHead): string[] {
  const { request, database, http_client, cache } = kept;
  const named = new Set(receivedFields(request).map(({ name }) => sameName(name)));
  const rows = database.queries.slice(0, index).flatMap((before) => foundRows(before));
  const known = letters(JSON.stringify([[...receivedBy(head, { request })], rows, http_client, cache]));
  const changed = read.sets.flatMap(({ column, value }) => {
    const now = value.kind === 'bound' ? givenValue(value, query.bindings) : undefined;
    const isWord = typeof now === 'string' && PLAIN_WORD.test(now) && !known.includes(letters(now));
    if (!isWord && !FLAGS.includes(now)) return [];
    if (OF_STATE.test(column) || OF_ATTEMPT.test(column) || named.has(sameName(column))) return [];
    const was = rows.flatMap((row) => row[column] ?? []).at(-1);
    if (was === undefined || was === now || Number(was) === Number(now)) return [];
    return [{ isWord, text: `${excerpt(column, 40)} ${JSON.stringify(was)} → ${JSON.stringify(now)}` }];
  });
  return changed.some(({ isWord }) => isWord) ? changed.map(({ text }) => excerpt(text, 80)) : [];
}

/** More of one request are a job over many rows. */
const MOST_UPDATES = 20;

type Overwriting = Needs<'request' | 'database', 'http_client' | 'cache'>;

const fieldsEmptied: Rule<Overwriting> = {
  name: 'fields-emptied',
  needs: ['request', 'database'],
  labels: ['fields emptied', 'fields overwritten'],
  why: 'A PATCH succeeded. Its UPDATE set two or more columns that the body does not name to NULL, or to other words and flags than they had, which this request neither received nor read. Columns of moments, states, tokens and reasons are ignored.',
  fix: 'Change only the fields that were sent: `if (body.phone !== undefined) member.phone = body.phone`. A schema with defaults adds them to each PATCH: `.partial()` of zod 4 keeps `.default(…)`.',
  find(kept, head) {
    const { method, status } = head;
    if (method !== 'PATCH' || status === null || status >= 300) return [];
    const { request, database } = kept;
    const received = new Set(receivedFields(request).map(({ name }) => sameName(name)));
    const named = [...namesWithValue(database)];
    const updates = readsOf(database).filter(({ read, query }) => read.verb === 'update' && query.rows !== 0);
    return updates.flatMap((one): FindingDraft[] => {
      const columns = emptied(one, received).filter((column) =>
        // Some mappers put the name of the table before it: `Member_phone`.
        named.some(([name, at]) => at < one.index && (name === column || name.endsWith(`_${column}`))),
      );
      const texts = updates.length > MOST_UPDATES ? [] : overwritten(kept, one, head);
      if (texts.length >= FEWEST) {
        const sentence = `${labelOf(database, one.query)} changed ${listOf(texts)}: the body does not name them, and the values come from nothing that this request received or read, so they may be defaults`;
        return [{ ...draftAt(one, sentence, 'bad'), label: 'fields overwritten' }];
      }
      if (columns.length < FEWEST) return [];
      const names = listOf(columns.map((column) => excerpt(column, 40)));
      const sentence = `${labelOf(database, one.query)} set ${names} to NULL, which had values and were not sent: a PATCH keeps what it does not name`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

/** Of one row: a list of rows would have several pairs of brackets. */
const REPLACE =
  /^\s*(?:insert or )?replace\s+(?:low_priority\s+|delayed\s+)?(?:into\s+)?(\S+)(?!.*\)\s*,\s*\()/is;

/** SQLite says 1, whether there was a row or not: the request has read one of the values that it wrote. */
function readBefore(database: Database, index: number, table: string): boolean {
  const values = new Set(database.queries[index]?.bindings.map(({ value }) => value));
  return readsOf(database).some(
    ({ read, query: before, index: at }) =>
      at < index &&
      read.verb === 'select' &&
      read.table?.toLowerCase() === table.replace(/\W/g, '').toLowerCase() &&
      before.rows === 1 &&
      read.where?.some(({ values: [asked] }) => {
        const value = asked === undefined ? null : givenValue(asked, before.bindings);
        return value !== null && value !== undefined && values.has(value);
      }) === true,
  );
}

const rowReplaced: Rule<Needs<'database'>> = {
  name: 'row-replaced',
  needs: ['database'],
  labels: ['row replaced'],
  why: 'A REPLACE of one row deleted the row with the same key: MySQL or MariaDB answered two rows or more, or SQLite changed further rows and the row had been read. Bad if a later read shows other values in columns that it doesn’t name.',
  fix: 'Change the row: `UPDATE`, `ON DUPLICATE KEY UPDATE yard = VALUES(yard)`, or in SQLite `ON CONFLICT (id) DO UPDATE SET yard = excluded.yard`. A REPLACE is right only if it names every column and nothing refers to the row.',
  find({ database }) {
    let all: (UnnamedChanges | null)[] | undefined;
    return database.queries.flatMap((query, index): FindingDraft[] => {
      const { system } = database.statements[query.statement] ?? {};
      const [, table] = REPLACE.exec(plainSql(database, query)) ?? [];
      const also = query.alsoChanged ?? 0;
      if (table !== undefined && also > 0 && readBefore(database, index, table)) {
        const sentence = `${labelOf(database, query)} deleted the row that this request had read, and inserted another: ${count(also, 'further row')} changed with it, by ON DELETE of a foreign key or by a trigger`;
        return [draftAt({ query, index }, sentence, 'warn')];
      }
      if (system !== 'mysql' || table === undefined || (query.rows ?? 0) < 2) return [];
      const deleted = `${labelOf(database, query)} deleted the row that was there, and inserted another`;
      all ??= database.queries.map((_read, at) => unnamedChanges(database, at));
      const changed = all.find((changes, at) => at > index && changes !== null && changes.since < index);
      if (changed) {
        const texts = changed.texts.map((text) => excerpt(text, 100));
        return [draftAt({ query, index }, `${deleted}: ${listOf(texts)}, which it does not name`, 'bad')];
      }
      const sentence = `${deleted}: columns that it does not name have their default, and rows that refer to the old one may be gone (ON DELETE CASCADE)`;
      return [draftAt({ query, index }, sentence, 'warn')];
    });
  },
};

/** A column that is given its own value and more, or less. */
const STEP = /\b(\w+)\s*=\s*(?:coalesce\s*\(\s*)?(?:\w+\.)?\1\b[^,]{0,200}?[+-]\s*\S/i;

const stepTwice: Rule<Needs<'database'>> = {
  name: 'step-twice',
  needs: ['database'],
  labels: ['counted twice'],
  why: 'An UPDATE adds to a column, or takes from it. The same statement with the same values ran a second time for the same row, from another line of your code.',
  fix: 'Find the code that both lines run, and run it once. It may be a hook that runs at create and at update, such as `afterSave` instead of `afterCreate`, or a listener that is registered twice.',
  find({ database }) {
    const steps = readsOf(database).filter(
      ({ read, query }) =>
        read.verb === 'update' &&
        query.rows === 1 &&
        STEP.test(plainSql(database, query)) &&
        query.caller !== null,
    );
    /** By text and values: the first step of each line. */
    const firsts = new Map<string, Read[]>();
    return steps.flatMap((one): FindingDraft[] => {
      const { bindings, caller } = one.query;
      const text = JSON.stringify([sqlOf(database, one.query), bindings.map(({ value }) => value)]);
      const ran = firsts.get(text) ?? [];
      if (!ran.some(({ query }) => query.caller === caller)) addTo(firsts, text, one);
      const before = ran.find(({ query }) => query.caller !== caller);
      if (before === undefined) return [];
      const [, column = ''] = STEP.exec(plainSql(database, one.query)) ?? [];
      const sentence = `${labelOf(database, one.query)} changed ${excerpt(column, 40)} of the same row by the same value as ${before.query.caller} had done ${duration(one.query.startMs - endOf(before.query))} before`;
      return [draftAt(one, sentence, 'warn')];
    });
  },
};

/** What an INSERT does with a row that is there already: the assignments. */
const UPSERT =
  /^insert into (?:\w+\.)?(\w+)(?: as (\w+))?.* on (?:conflict .*?do|duplicate key) update (?:set )?(.*?)(?: where .*| returning .*)?;?$/i;
const GIVEN_ITSELF = /^(\w+) ?= ?(?:(\w+)\.)?\1$/i;
/** They are meant to stay as they are. */
const OF_BIRTH = /^(?:created|inserted|registered|added|first)|^(?:id|uuid)$/i;

/** Columns that are set to what the row has already. */
function setToItself(sql: string): string[] {
  const [, table = '', alias = table, sets = ''] = UPSERT.exec(sql) ?? [];
  return sets.split(/ ?, ?/).flatMap((set) => {
    const [, column, of = alias] = GIVEN_ITSELF.exec(set) ?? [];
    const isOld = of.toLowerCase() === alias.toLowerCase() || of.toLowerCase() === table.toLowerCase();
    return column === undefined || !isOld || OF_BIRTH.test(column) ? [] : [column];
  });
}

const upsertKeeps: Rule<Needs<'database'>> = {
  name: 'upsert-keeps',
  needs: ['database'],
  labels: ['upsert changes nothing'],
  why: 'An INSERT with ON CONFLICT or ON DUPLICATE KEY UPDATE sets two or more columns to their own values in the row that is there. Columns such as `created_at` are ignored.',
  fix: "Take the new value: `set price = excluded.price` in PostgreSQL and SQLite, `price = values(price)` in MySQL. In Drizzle that is `sql.raw('excluded.price')`, not the column.",
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const columns = one.read.verb === 'insert' ? setToItself(plainSql(database, one.query)) : [];
      if (columns.length < FEWEST) return [];
      const names = listOf(columns.map((column) => excerpt(column, 40)));
      const sentence = `${labelOf(database, one.query)} sets ${names} of a row that is there to their own values, so it keeps the old ones`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

const MOST_VALUES = 5000;

/** How many rows an INSERT was sent: a list of rows of mysql2, or the groups after VALUES. */
function rowsSent(database: Database, { query }: Read): number {
  const list = query.bindings.find(({ value }) => Array.isArray(value) && value.every(Array.isArray))?.value;
  const [, values = ''] = / values (.*)$/i.exec(plainSql(database, query)) ?? [];
  return Array.isArray(list) ? list.length : (values.match(/\)\s?,\s?\(/g)?.length ?? 0) + 1;
}

/** Values that a statement has for ids, if each is one more than the one before. */
function countedIds({ query }: Read): number[] {
  const ids = query.bindings.flatMap(({ name, value }) =>
    /(?:^|_)id$|[a-z]Id$/.test(name) ? (Array.isArray(value) ? value : [value]).map(Number) : [],
  );
  return ids.every((id, at) => Number.isInteger(id) && id === (ids[0] ?? 0) + at) ? ids : [];
}

const idsCounted: Rule<Needs<'database' | 'request'>> = {
  name: 'ids-counted',
  needs: ['database', 'request'],
  labels: ['counted ids'],
  why: 'An INSERT that skips rows that are there added fewer than it was sent. A later statement has as many ids, each one more than the one before, or the id 0, and this request neither received nor read one of them.',
  fix: 'Read the ids by a unique column after the insert: `select id from contacts where email in (?)`. `insertId` is the id of the first new row, or 0, and a skipped row has no id.',
  find({ database, request }, head) {
    const reads = readsOf(database);
    const received = [...receivedBy(head, { request })];
    return reads.flatMap((insert): FindingDraft[] => {
      const { query, read, index } = insert;
      const sent = rowsSent(database, insert);
      const isSkipped = read.verb === 'insert' && query.rows !== null && query.rows < sent;
      if (!isSkipped || !LEAVES_AS_IS.test(sqlOf(database, query))) return [];
      const known = database.queries
        .slice(0, index + 1)
        .map(({ bindings }) => bindings.map(({ value }) => value));
      const rows = database.queries.map((each) => foundRows(each));
      const leaves = leavesOf([known, rows], MOST_VALUES).map(({ value }) => String(value));
      const had = new Set([...received, ...leaves]);
      const one = reads.find((later) => {
        const ids = later.index > index ? countedIds(later) : [];
        return ids.length === sent && (sent > 1 || ids[0] === 0) && !ids.some((id) => had.has(String(id)));
      });
      if (one === undefined) return [];
      const sentence = `${labelOf(database, one.query)} has the ids ${listOf(countedIds(one).map(String))}, which this request neither received nor read: they seem to be counted from the insertId of ${labelOf(database, query)}, which added ${count(query.rows ?? 0)} of ${count(sent, 'row')}`;
      return [{ ...draftAt(one, sentence, 'bad'), place: query.caller }];
    });
  },
};

/** `tags` of `POST /plants/:id/tags`, to which one thing is added; empty: it is no list, or a list was received. */
function listAddedTo(request: KeptRequest, { method, route, status }: ProfileHead): string {
  const list = /:\w+\/([\w-]+)$/.exec(route ?? '')?.[1] ?? '';
  const isList = receivedFields(request).some(({ path }) => /(?:^|[.[])\d*(?:[.\]]|$)/.test(path));
  return method === 'POST' && isSuccess(status) && /[a-z]s$/i.test(list) && !isList ? singular(list) : '';
}

/** How an ORM adds one thing to a relation, by its package. */
const ADDING: Readonly<Record<string, string>> = {
  objection:
    "Insert the one row: `await plant.$relatedQuery('tags', trx).insert(tag)`. `upsertGraph` deletes related rows that it is not given, unless it has `{ noDelete: true }`.",
  typeorm:
    'Add to the relation: `createQueryBuilder().relation(Plant, "tags").of(id).add(tag)`. Or load the relation and push to it before you `save`.',
  sequelize: 'Add to the relation: `plant.addTag(tag)` or `plant.createTag(…)`. `setTags` replaces it.',
  '@prisma/client': 'Add to the relation: `tags: { create: … }` or `connect` instead of `set`.',
};

const relationReplaced: Rule<Needs<'database' | 'request'>> = {
  name: 'relation-replaced',
  needs: ['database', 'request'],
  labels: ['relation replaced'],
  why: 'A POST to a list below another thing (`/plants/:id/tags`) received no list. One call of an ORM read the rows of that relation, deleted all of them and added others.',
  fix: 'Add to the relation with the method of your ORM for one more entry, or load the relation and push to it before you save.',
  find({ database, request }, head, { shared }) {
    const list = listAddedTo(request, head);
    const aboveOf = ({ statement }: Pick<Read['query'], 'statement'>): string | undefined =>
      database.statements[statement]?.above;
    const reads = list === '' ? [] : readsOf(database);
    return reads.flatMap((one): FindingDraft[] => {
      const { query, read, index } = one;
      const above = aboveOf(query);
      const table = read.table ?? '';
      if (read.verb !== 'delete' || above === undefined || !singular(table).endsWith(list)) return [];
      const isOf = (other: Read['query']): boolean => aboveOf(other) === above;
      const added = reads.find(
        (other) => other.read.verb === 'insert' && other.read.table === table && isOf(other.query),
      );
      const wasRead = database.queries
        .slice(0, index)
        .some((other) => isOf(other) && foundRows(other).length === query.rows);
      if (added === undefined || !wasRead || query.rows === 0 || query.rows === null) return [];
      const sentence = `${excerpt(above, 60)} deleted the ${count(query.rows, 'row')} of ${excerpt(table, 40)} that it had read, and added ${count(added.query.rows ?? 1)}: it makes the relation exactly what it was given, and this request was to add to it`;
      const [fix, ...others] = packagesIn(shared.configuration).flatMap((name) => ADDING[name] ?? []);
      return [
        { ...draftAt(one, sentence, 'bad'), ...(fix === undefined || others.length > 0 ? {} : { fix }) },
      ];
    });
  },
};

const COUNT_OF_WRITTEN =
  /^(?:rows?_?|total_?|num_?)?(?:imported|inserted|saved|created|stored|written|added)(?:_?(?:count|rows|records|items|total))?$/i;
const COUNT_OF_RECEIVED = /^(?:received|total|rows|lines|records|processed|read|count)$/i;

/** How many things came: entries of the longest list, or lines of a text; 0: not known. */
function sizeReceived({ body }: KeptRequest): number {
  const lists =
    body?.parsed === undefined
      ? []
      : [body.parsed, ...objectsIn(body.parsed).flatMap((one) => Object.values(one))];
  const longest = Math.max(0, ...lists.map((value) => (Array.isArray(value) ? value.length : 0)));
  const isLines = body?.truncated === false && /\b(?:csv|plain|ndjson)\b/i.test(body.contentType ?? '');
  const lines = isLines ? (body.text ?? '').split('\n').filter((line) => line.trim() !== '').length : 0;
  return Math.max(longest, lines);
}

/** Rows that each insert was sent, all into one table; null: it is not known, or something else may have been counted. */
function insertedRows({ database, http_client: client, jobs }: WithCalls) {
  const { queries, unkept, unrun } = database;
  const isElsewhere = client?.calls.some(({ method }) => method !== 'GET') === true || jobs?.items.length;
  if (isElsewhere || unkept !== undefined || unrun !== undefined) return null;
  const writes = queries.filter((query) => kindOf(database, query) === 'write');
  const inserts = readsOf(database).filter(({ read }) => read.verb === 'insert');
  const own = inserts.filter(({ read }) => !OF_REFUSAL.test(read.table ?? ''));
  const [first] = own;
  const table = first?.read.table ?? null;
  if (table === null || writes.length !== inserts.length || own.some(({ read }) => read.table !== table))
    return null;
  // A row that was there already is none for the database, but may be one for whoever counts.
  const rows = own.map((one) => {
    const isKnown = !/\bon (?:conflict|duplicate)\b|\b(?:ignore|replace)\b/i.test(
      plainSql(database, one.query),
    );
    const isList =
      / values /i.test(plainSql(database, one.query)) && !sqlOf(database, one.query).includes('…');
    return one.query.rows === null || !(isKnown || isList)
      ? NaN
      : Math.max(one.query.rows, rowsSent(database, one));
  });
  const all = rows.reduce((sum, one) => sum + one, 0);
  return Number.isNaN(all) ? null : { table, rows, all, last: own.at(-1) };
}

type WithCalls = Needs<'database' | 'request', 'http_client' | 'jobs'>;

const rowsNotInserted: Rule<WithCalls> = {
  name: 'rows-not-inserted',
  needs: ['database', 'request'],
  labels: ['rows not inserted'],
  why: 'The response has a number such as `imported` or `created`, as many things were received, and fewer rows were in all inserts of the request. They went into one table, and nothing else was written, called or put into a queue.',
  fix: 'Write the last batch too, which is not full: `if (batch.length > 0) await save(batch)` after the loop. Await all inserts before you answer, and count the rows that the database inserted.',
  find(kept, { method, status }) {
    const { database, request } = kept;
    const { text = null, truncated = true } = request.response ?? {};
    if (method === 'GET' || !isSuccess(status) || text === null || truncated) return [];
    const leaves = leavesIn(text).filter(({ path }) => !/(?:^|\.)\d+(?:\.|$)/.test(path));
    const counts = leaves.flatMap(({ name, value }) =>
      typeof value === 'number' && Number.isInteger(value) ? [{ name, value }] : [],
    );
    const said = counts.filter(({ name }) => COUNT_OF_WRITTEN.test(name));
    const inserted = said.length === 0 ? null : insertedRows(kept);
    if (inserted?.last === undefined || inserted.all === 0) return [];
    const { table, rows, all, last } = inserted;
    const received = Math.max(
      sizeReceived(request),
      ...counts.filter(({ name }) => COUNT_OF_RECEIVED.test(name)).map(({ value }) => value),
    );
    const found = new Set(
      database.queries.flatMap((query) => foundRows(query).flatMap((row) => Object.values(row).map(textOf))),
    );
    const one = said.find(({ value }) => value > all && value <= received && !found.has(String(value)));
    if (one === undefined) return [];
    const [size = 0] = rows;
    const isFull = size > 1 && rows.every((each) => each === size) && one.value - all < size;
    const batches = isFull
      ? ` (${rows.length} × ${size}): a last batch of ${one.value - all} is missing`
      : '';
    const sentence = `${one.name} ${count(one.value)} was sent, but ${count(all, 'row')} ${all === 1 ? 'was' : 'were'} inserted into ${excerpt(table, 40)}${batches}`;
    return [draftAt(last, sentence, 'bad')];
  },
};

export const writeRules: readonly Rule[] = [
  refusedButWritten,
  fieldsEmptied,
  rowReplaced,
  stepTwice,
  upsertKeeps,
  idsCounted,
  relationReplaced,
  rowsNotInserted,
];
