/** Values that are not there: a word in place of one, a field or column without one, a key of no row. */
import type { KeptRequest } from '../panels/request/data.ts';
import { changeOf, sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type Leaf, leavesIn, leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import { editDistance } from '../profiler/edit-distance.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { pathOf } from '../profiler/request-target.ts';
import { clientOf, mediaType, sentHeader } from './shared/http.ts';
import type { Database, Kept, Needs, Rule } from './shared/kept.ts';
import { mishap } from './shared/mishap.ts';
import { textsIn } from './shared/conditions.ts';
import { draftAt, isWrite, kindOf, labelOf, type Read, readsOf, sqlOf, textOf } from './shared/queries.ts';
import { brokeBy, count, excerpt, listOf } from './shared/wording.ts';

type Given = Needs<'request', 'database' | 'routing'>;
type Value = Leaf['value'];

/** Names that stand for a value where something was missing. */
const MISSING = /^(?:undefined|null|NaN|Invalid Date|\[invalid Date\]|\[object Object\])$/;
/** Inside of a short text: as a part of an address, of a name, of an amount. */
const BUILT_FROM =
  /\[object Object\]|(?:^|\/)undefined(?:$|[/?#.])|\bundefined undefined\b|[$€£]\s?(?:NaN|undefined)\b|\bNaN\s?(?:[€£%]|kB|MB)|^%undefined%$/;
const LONGEST_BUILT = 200;

function missingIn(value: Json): string | null {
  if (typeof value !== 'string' || value.length > LONGEST_BUILT) return null;
  if (MISSING.test(value)) return value === '[invalid Date]' ? 'Invalid Date' : value;
  return /undefined|NaN|\[object Object\]/.exec(BUILT_FROM.exec(value)?.[0] ?? '')?.[0] ?? null;
}

/** Text between tags, but where code is shown. */
const IN_TAG =
  /<(?!code|kbd|pre|samp|var|script|style|textarea|option)(\w+)\b[^>]*>\s*([$€£]?\s?(?:undefined|NaN|\[object Object\]|Invalid Date))\s*<\//i;
const IN_ATTRIBUTE = /\s(?:href|src|action)="[^"]*(?:\/undefined|\/NaN|\[object(?: |%20)Object\])["/?#]/;

function missingSent({ response }: KeptRequest): { word: string; where: string } | null {
  const text = response?.text ?? '';
  const type = mediaType(response?.contentType ?? null);
  if (type === 'text/html') {
    const [, tag, word] = IN_TAG.exec(text) ?? [];
    if (tag !== undefined && word !== undefined)
      return { word, where: `in the page as the text of a <${tag}>` };
    const attribute = IN_ATTRIBUTE.exec(text)?.[0];
    return attribute === undefined
      ? null
      : {
          word: /undefined|NaN/.exec(attribute)?.[0] ?? '[object Object]',
          where: 'in the page in an address',
        };
  }
  if (!/\bjson$/.test(type)) return null;
  const leaf = leavesIn(text).find(({ value }) => value !== 'null' && missingIn(value) !== null);
  return leaf === undefined
    ? null
    : { word: missingIn(leaf.value) ?? '', where: `as ${excerpt(leaf.path, 60)}` };
}

/** Somebody may search for the word. */
const SEARCHES = /^(?:q|query|search|term|text|filter|keywords?)$/i;

function inAddress({ routeParams, query }: KeptRequest): { name: string; word: string } | null {
  for (const { name, value } of routeParams) {
    const word = missingIn(value);
    if (word !== null) return { name, word };
  }
  for (const { name, value } of query) {
    const word = missingIn(value);
    if (word !== null && word !== 'null' && !SEARCHES.test(name)) return { name, word };
  }
  return null;
}

/** A driver that refuses it says so. */
function missingGiven(request: KeptRequest, database: Database): FindingDraft | null {
  for (const [index, query] of database.queries.entries()) {
    if (query.error !== null) continue;
    for (const { name, value, type } of query.bindings) {
      const word = type === undefined || type === 'date' ? missingIn(value) : null;
      if (word === null || receivedFields(request).some((one) => one.value === value)) continue;
      const sentence = `${labelOf(database, query)} was given “${word}” for ${excerpt(name, 60)}`;
      return draftAt({ query, index }, sentence, 'bad');
    }
  }
  return null;
}

const notAValue: Rule<Given> = {
  name: 'not-a-value',
  needs: ['request'],
  labels: ['missing value'],
  why: 'The address, a value of a statement, a Location or the response has `undefined`, `NaN`, `null`, `Invalid Date` or `[object Object]` as text in place of a value.',
  fix: 'Check the line that builds the text: the variable had no value there, or was an object. Refuse such a parameter with a 400.',
  find({ request, database, routing }, { status }) {
    const place = routing?.route?.source;
    const address = inAddress(request);
    if (address !== null) {
      const sentence = `The parameter ${excerpt(address.name, 60)} is the text “${address.word}”: the client built the address from something that had no value`;
      return [{ broke: brokeBy(status), severity: 'warn', sentence, place }];
    }
    const given = database === undefined ? null : missingGiven(request, database);
    if (given !== null) return [given];
    if (status === null || status >= 400) return [];
    const location = sentHeader(request, 'location');
    if (
      location !== null &&
      /(?:\/|=)(?:undefined|NaN|\[object(?: |%20)Object\])(?:$|[/?#&])/.test(location.value)
    )
      return [
        {
          broke: 'response',
          severity: 'bad',
          sentence: 'The redirect leads to an address with “undefined”, “NaN” or “[object Object]” in it',
          anchor: location.anchor,
          place,
        },
      ];
    const sent = missingSent(request);
    if (sent === null) return [];
    const sentence = `“${sent.word.trim()}” was sent ${sent.where}`;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'response', place }];
  },
};

interface Field {
  name: string;
  value: Value;
}

function fieldsOf({ body }: KeptRequest): Field[] {
  const pairs = body?.fields?.map(({ name, value }): [string, Json] => [name, value]);
  const parsed = isRecord(body?.parsed) ? Object.entries(body.parsed) : [];
  return (pairs ?? parsed).flatMap(([name, value]) =>
    (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean'
      ? [{ name, value }]
      : [],
  );
}

/** More letters changed make another word. */
const MOST_LETTERS = 2;
const SHORTEST_NAME = 4;

function isNear(a: string, b: string): boolean {
  const [one, other] = [sameName(a), sameName(b)];
  if (one === other) return true;
  // `owner_name` for `owner`.
  const shorter = Math.min(one.length, other.length);
  if (shorter > SHORTEST_NAME && (one.startsWith(other) || other.startsWith(one))) return true;
  return (
    Math.min(one.length, other.length) >= SHORTEST_NAME &&
    editDistance(one, other, MOST_LETTERS) <= MOST_LETTERS
  );
}

/** A field of the body, and the column that got NULL where a field of this or a similar name is used. */
function lostField(request: KeptRequest, database: Database) {
  const fields = fieldsOf(request);
  for (const one of readsOf(database).filter(isWrite)) {
    const { query } = one;
    const bound = new Set(query.bindings.map(({ name }) => sameName(name)));
    for (const { name, value, type } of query.bindings) {
      if ((value !== null && type !== 'undefined') || name.startsWith('$')) continue;
      const field = fields.find(
        (one) =>
          isNear(one.name, name) && (sameName(one.name) === sameName(name) || !bound.has(sameName(one.name))),
      );
      if (field !== undefined && !isBound(database, field.value)) return { field, column: name, one };
    }
  }
  return null;
}

function isBound({ queries, statements }: Database, value: Value): boolean {
  return queries.some(
    ({ bindings, statement }) =>
      bindings.some((binding) => changeOf(value, leafOf(binding.value), true) !== 'value') ||
      (typeof value === 'string' && (statements[statement]?.sql.includes(value) ?? false)),
  );
}

function leafOf(value: Json): Value {
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

function entityOf(sent: Json, fields: readonly Field[]): Record<string, Json> | null {
  if (!isRecord(sent)) return null;
  const names = Object.keys(sent);
  const isEntity =
    names.some((name) => /^_?id$|^uuid$/i.test(name)) ||
    fields.filter(({ name }) => names.includes(name)).length > 1;
  if (isEntity) return sent;
  const [only, ...others] = Object.values(sent).filter((value) => isRecord(value));
  return only === undefined || others.length > 0 ? null : entityOf(only, fields);
}

const NOT_KEPT = /passw|secret|token|csrf|confirm|hash|pin$/i;

/** A field whose new value is in no statement, and of which the response has another value. */
function ignoredField(request: KeptRequest, database: Database | undefined): Field | null {
  const { response } = request;
  if (!/\bjson\b/i.test(response?.contentType ?? '') || response?.truncated === true) return null;
  const fields = fieldsOf(request);
  const entity = entityOf(parseBeginning(response?.text ?? '')?.value ?? null, fields);
  if (entity === null) return null;
  const columns = new Set(
    (database?.queries ?? []).flatMap(({ bindings }) => bindings.map(({ name }) => sameName(name))),
  );
  return (
    fields.find(({ name, value }) => {
      const after = entity[name];
      if (
        after === undefined ||
        typeof after === 'object' ||
        NOT_KEPT.test(name) ||
        columns.has(sameName(name))
      )
        return false;
      if ([value, after].some((one) => typeof one === 'string' && isMasked(one))) return false;
      if (changeOf(value, after, true) !== 'value' || mishap(value, after) !== null) return false;
      return database === undefined || typeof value === 'boolean' || !isBound(database, value);
    }) ?? null
  );
}

const fieldLost: Rule<Given> = {
  name: 'field-lost',
  needs: ['request'],
  labels: ['field lost'],
  why: 'A field of the body was received; a write bound NULL for the column of this or a similar name, or no statement has it and the response has another value.',
  fix: 'Compare the names of client, handler and table letter by letter (`unitPrice`, `unit_price`). Validate the body, and refuse fields that are not known.',
  find({ request, database, routing }, { method, status }) {
    if (status === null || status < 200 || status >= 400 || method === 'GET' || method === 'HEAD') return [];
    const lost = database === undefined ? null : lostField(request, database);
    if (lost !== null && database !== undefined) {
      const { field, column, one } = lost;
      const sentence = `The body has ${excerpt(field.name, 60)}, but ${labelOf(database, one.query)} got NULL for ${excerpt(column, 60)}`;
      return [draftAt(one, sentence, 'bad')];
    }
    const ignored = ignoredField(request, database);
    if (ignored === null) return [];
    const stored = database === undefined ? '' : ' no statement has it, and';
    const sentence = `The body has ${excerpt(ignored.name, 60)}:${stored} the response has another value`;
    const place = routing?.route?.source;
    const severity = method === 'POST' ? 'info' : 'warn';
    return [{ broke: 'unseen', severity, sentence, anchor: 'response', place }];
  },
};

function nestedIn({ body }: KeptRequest): { name: string; value: Record<string, Json> }[] {
  const parsed = body?.parsed;
  return Object.entries(isRecord(parsed) ? parsed : {}).flatMap(([name, value]) =>
    isRecord(value) && Object.keys(value).length > 0 ? [{ name, value }] : [],
  );
}

function parsedJson(value: Json): Json {
  const whole = typeof value === 'string' && /^\s*\{/.test(value) ? parseBeginning(value) : undefined;
  return whole?.isWhole === true ? whole.value : value;
}

function isEqualJson(one: Json | undefined, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function sentObject({ response }: KeptRequest, name: string): Record<string, Json> | null {
  const whole = parseBeginning(response?.text ?? '')?.value ?? null;
  const parts = isRecord(whole) ? [whole, ...Object.values(whole)] : [];
  for (const part of parts) {
    const found = isRecord(part) ? part[name] : undefined;
    if (isRecord(found)) return found;
  }
  return null;
}

/** It merges below the first level, or writes one member. */
const MERGES_DEEP =
  /json_?b?_?(?:set|insert|replace|modify|patch|merge\w*)\s*\(|->|#|\w*(?:deep|recursive)\w*\s*\(/i;

/** A write that got an object of the body as it is, as a value or a member of one. */
function writtenWhole(database: Database, name: string, value: Json): Read | undefined {
  return readsOf(database).find((one) => {
    const { query } = one;
    return (
      isWrite(one) &&
      query.rows !== 0 &&
      !MERGES_DEEP.test(sqlOf(database, query)) &&
      query.bindings.some((binding) => {
        const given = parsedJson(binding.value);
        return isRecord(given)
          ? isEqualJson(given[name], value) ||
              (sameName(binding.name) === sameName(name) && isEqualJson(given, value))
          : false;
      })
    );
  });
}

function isPatchOfObject(
  { request, database }: Pick<Kept, 'request' | 'database'>,
  { method, status }: ProfileHead,
): boolean {
  if (method !== 'PATCH' || status === null || status < 200 || status >= 300) return false;
  return nestedIn(request).some(({ name, value }) => writtenWhole(database, name, value) !== undefined);
}

const membersLost: Rule<Needs<'request' | 'database'>> = {
  name: 'members-lost',
  needs: ['request', 'database'],
  labels: ['shallow merge'],
  why: 'The body of a PATCH has an object, and a write got it as it is. An earlier response for the same address has more members in the object of that name, and they are neither in the write nor in this response.',
  fix: "Merge that object as well: `jsonb_set(settings, '{notifications}', settings->'notifications' || $1)`, `json_merge_patch` of MySQL. `||` of jsonb and `{ ...old, ...changes }` replace the objects inside.",
  compares: isPatchOfObject,
  relates: isPatchOfObject,
  find(kept, head, { earlier, siblings }) {
    const { request, database } = kept;
    if (!isPatchOfObject(kept, head)) return [];
    const before = [...earlier, ...siblings]
      .flatMap(({ head: past, kept: { request: other } }) => {
        const isSame = past.status === 200 && pathOf(past.url) === pathOf(head.url);
        if (!isSame || other === undefined) return [];
        // Without an id, each user has an own one there.
        const isOwn = request.routeParams.length > 0 || clientOf(other) === clientOf(request);
        return isOwn ? [{ head: past, request: other }] : [];
      })
      .toSorted((a, b) => b.head.startedAt - a.head.startedAt);
    return nestedIn(request).flatMap(({ name, value }): FindingDraft[] => {
      const one = writtenWhole(database, name, value);
      const past = before.find(({ request: other }) => sentObject(other, name) !== null);
      if (one === undefined || past === undefined) return [];
      const had = Object.keys(sentObject(past.request, name) ?? {});
      const has = { ...value, ...sentObject(request, name) };
      const lost = had.filter((member) => !(member in has));
      // Another object of that name has other members.
      if (lost.length === 0 || !Object.keys(value).every((member) => had.includes(member))) return [];
      const names = lost
        .slice(0, 3)
        .map((member) => excerpt(member, 40))
        .join(', ');
      const are = lost.length === 1 ? 'is' : 'are';
      const how = sqlOf(database, one.query).includes('||') ? ', as || merges only the top level' : '';
      const sentence = `${labelOf(database, one.query)} got ${excerpt(name, 40)} as it was received: ${names}, which it had in an earlier response (${past.head.token}), ${are} lost${how}`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

const FOREIGN_KEY = /_id$|[a-z]I[dD]$/;

/** `category_id` is a key of `categories`. */
function isKeyOf(key: string, table: string | null): boolean {
  const stem = sameName(key.replace(/_?id$/i, ''));
  return table !== null && sameName(table).includes(stem.slice(0, Math.max(3, stem.length - 2)));
}

/** Of MySQL: it may count a row that it left as it was. */
const ON_DUPLICATE = /\bon\s+duplicate\s+key\s+update\b/i;

const keyOfNothing: Rule<Needs<'database' | 'request'>> = {
  name: 'key-of-nothing',
  needs: ['database', 'request'],
  labels: ['key of nothing'],
  why: 'An insert added no row, or has ON DUPLICATE KEY UPDATE, and a later write bound 0 for the key of that table by its name (`tag_id` of `tags`). No 0 was received for it.',
  fix: 'Do not use `insertId` where the row may be there already (`insert ignore`, `on duplicate key`): it is 0 then. Read the id of that row, or add `id = last_insert_id(id)` to the update.',
  find({ database, request }) {
    const received = receivedFields(request);
    const writes = readsOf(database).filter(isWrite);
    return writes.flatMap((one): FindingDraft[] => {
      const { query } = one;
      const key = query.bindings.find(({ name, value }) => FOREIGN_KEY.test(name) && value === 0)?.name;
      if (key === undefined) return [];
      const empty = writes.findLast(
        (before) =>
          before.read.verb === 'insert' &&
          (before.query.rows === 0 || ON_DUPLICATE.test(sqlOf(database, before.query))) &&
          before.query.startMs < query.startMs &&
          isKeyOf(key, before.read.table),
      );
      if (empty === undefined) return [];
      if (received.some(({ name, value }) => sameName(name) === sameName(key) && Number(value) === 0))
        return [];
      const { warnings = 0 } = empty.query;
      const warned = warnings === 0 ? '' : ` with ${count(warnings, 'warning')} of the database`;
      const did =
        empty.query.rows === 0
          ? `added 0 rows${warned}`
          : 'has ON DUPLICATE KEY UPDATE, which gives no id of a row that is there already';
      const sentence = `${labelOf(database, empty.query)} ${did}, and ${labelOf(database, query)} then bound 0 for ${key}, as if it was the id of a new row`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

const INSERT = /^insert (?:ignore )?into [\w.]+ ?\(([^()]*)\) values ?\((.*)\)(?: returning .*| on .*)?;?$/i;

/** Columns of an insert of several rows that have DEFAULT or NULL in each of them. */
function emptyColumns(database: Database, { query }: Read): { columns: string[]; rows: number } {
  const sql = sqlOf(database, query).replace(/["`]/g, '').replace(/\s+/g, ' ').trim();
  const [, names = '', values = ''] = INSERT.exec(sql) ?? [];
  const columns = names.split(',').map((name) => name.trim());
  const rows = values.split(/\) ?, ?\(/).map((row) => row.split(',').map((value) => value.trim()));
  if (rows.length < 2 || rows.some((row) => row.length !== columns.length)) return { columns: [], rows: 0 };
  let asked = 0;
  const areEmpty = rows.map((row) =>
    row.map((value) => {
      const [, number] = /^\$(\d+)$/.exec(value) ?? [];
      const isBound = number !== undefined || value === '?';
      const at = number === undefined ? asked : Number(number) - 1;
      if (value === '?') asked++;
      const bound = query.bindings[at];
      return isBound
        ? bound !== undefined && (bound.value === null || bound.type === 'undefined')
        : /^(?:default|null)$/i.test(value);
    }),
  );
  return {
    columns: columns.filter((_, at) => areEmpty.every((row) => row[at] === true)),
    rows: rows.length,
  };
}

const columnWithoutValues: Rule<Needs<'database' | 'request'>> = {
  name: 'column-without-values',
  needs: ['database', 'request'],
  labels: ['column without values'],
  why: 'A file was received, an insert of several rows has DEFAULT or NULL for a column in each of them, and an earlier request of this route bound values for it.',
  fix: 'Print the names that the file was read with: Excel writes a byte order mark before the first one. Remove it (`bom: true` of csv-parse, `text.replace(/^\\uFEFF/, "")`), and refuse a file without the columns that you need.',
  compares: ({ database, request }) =>
    (request.body?.files.length ?? 0) > 0 &&
    readsOf(database).some((one) => emptyColumns(database, one).columns.length > 0),
  find({ database, request }, _head, { earlier }) {
    if ((request.body?.files.length ?? 0) === 0) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { columns, rows } = emptyColumns(database, one);
      for (const column of columns) {
        const before = earlier.filter(({ kept }) => {
          const other = kept.database;
          return (
            other !== undefined &&
            readsOf(other).some(
              ({ read, query }) =>
                read.verb === 'insert' &&
                read.table === one.read.table &&
                query.bindings.some(({ name, value }) => name === column && value !== null),
            )
          );
        });
        if (before.length === 0) continue;
        const sentence = `${labelOf(database, one.query)} got no value for ${excerpt(column, 40)} in any of ${count(rows, 'row')}, but had some in ${count(before.length, 'earlier request')}: the file seems to have another name for it, possibly with a byte order mark (U+FEFF) before it`;
        return [draftAt(one, sentence, 'bad')];
      }
      return [];
    });
  },
};

const CHANGES = new Set(['PUT', 'PATCH', 'DELETE']);
const READS_CACHE =
  /^(?:get|mget|hget|hmget|hgetall|exists|ttl|pttl|type|strlen|scan|smembers|lrange|zrange)$/i;

/** Something else than the database may hold what was changed. */
function mayChangeElsewhere({ http_client: calls, cache, jobs }: Partial<Kept>): boolean {
  return (
    (calls?.calls.some(({ method }) => method !== 'GET') ?? false) ||
    (cache?.items.some(({ command }) => !READS_CACHE.test(command)) ?? false) ||
    (jobs?.items.length ?? 0) > 0
  );
}

/** It may be the key of the row that was there before. */
const OF_KEY = /(?:id|mail|name|slug|code|key)$/i;
const LEAVES_AS_IS = /\bon conflict\b[^;]*? do nothing\b|\binsert (?:or )?ignore\b/i;

/** Fields of the body that the response has with the same value. */
function repeatedFields(request: KeptRequest): Field[] {
  const sent = leavesIn(request.response?.text ?? '');
  return fieldsOf(request).filter(({ name, value }) =>
    sent.some(
      (leaf) => sameName(leaf.name) === sameName(name) && changeOf(value, leaf.value, false) === null,
    ),
  );
}

/** An insert that left the row that was there as it is, and the fields of it that the response has as received. */
function ignoredInsert(request: KeptRequest, database: Database): { one: Read; fields: Field[] } | null {
  const reads = readsOf(database);
  const one = reads.find(
    ({ read, query }) =>
      read.verb === 'insert' && query.rows === 0 && LEAVES_AS_IS.test(sqlOf(database, query)),
  );
  const isReadBack = reads.some(
    ({ read, index }) => one !== undefined && read.table === one.read.table && index > one.index,
  );
  if (one === undefined || isReadBack) return null;
  const fields = repeatedFields(request).filter(
    ({ name, value }) =>
      !OF_KEY.test(name) &&
      one.query.bindings.some(
        (binding) => sameName(binding.name) === sameName(name) && textOf(value) === textOf(binding.value),
      ),
  );
  return fields.length === 0 ? null : { one, fields };
}

/** The row that was read has every field of the body as received: there was nothing to write. */
function hasAll(request: KeptRequest, { query }: Read): boolean {
  const fields = fieldsOf(request);
  const had = leavesOf(foundRows(query));
  return (
    fields.length > 0 &&
    fields.every(({ name, value }) =>
      had.some(
        (leaf) => sameName(leaf.name) === sameName(name) && changeOf(value, leaf.value, true) === null,
      ),
    )
  );
}

function asksForOne({ read, query }: Read, ids: ReadonlySet<string | null>): boolean {
  const given = (read.where ?? []).flatMap((one) => textsIn(one, query));
  const bound = query.bindings.flatMap(({ value }) => textOf(value) ?? []);
  return [...given, ...bound].some((text) => ids.has(text));
}

const nothingWritten: Rule<Needs<'database' | 'request', 'cache' | 'http_client' | 'jobs' | 'routing'>> = {
  name: 'nothing-written',
  needs: ['database', 'request'],
  labels: ['nothing written'],
  why: 'A PUT, PATCH or DELETE answered with a success, called no other service and added no job. It only read the row of its address; or its only write is an insert that added no row, and the response repeats the received values.',
  fix: 'Check that the change is saved: call `save()`, or await the UPDATE or DELETE. Sequelize sees no change inside of a JSON column (`changed("settings", true)`). `on conflict do nothing` changes no row: use `on conflict (…) do update set …`.',
  find(kept, { method, status }) {
    const { database, request, routing } = kept;
    if (!CHANGES.has(method) || status === null || status < 200 || status >= 300) return [];
    if (database.queries.some(({ error }) => error !== null)) return [];
    if (database.unkept !== undefined || mayChangeElsewhere(kept)) return [];
    const writes = database.queries.filter((query) => kindOf(database, query) === 'write');
    if (writes.some(({ rows }) => rows !== 0)) return [];
    if (writes.length > 0) {
      const ignored = ignoredInsert(request, database);
      if (ignored === null) return [];
      const { one, fields } = ignored;
      const how = excerpt(LEAVES_AS_IS.exec(sqlOf(database, one.query))?.[0] ?? '', 60).toLowerCase();
      const names = listOf(fields.map(({ name }) => name));
      const sentence = `${labelOf(database, one.query)} (${how}) added 0 rows, and nothing else was written, but this request answered ${status} with ${names} as received: the row that is there keeps its values`;
      return [draftAt(one, sentence, 'bad')];
    }
    const ids = new Set(request.routeParams.map(({ value }) => textOf(value)));
    const read = readsOf(database).find((one) => one.query.rows !== 0 && asksForOne(one, ids));
    if (read === undefined || hasAll(request, read)) return [];
    const repeated = listOf(repeatedFields(request).map(({ name }) => name));
    const what = repeated === '' ? '' : ` with ${repeated} as received`;
    const sentence = `${method} answered ${status}${what}, but no statement wrote anything: only reads ran, such as ${labelOf(database, read.query)}`;
    const place = routing?.route?.source ?? read.query.caller;
    return [{ ...draftAt(read, sentence, 'warn'), place }];
  },
};

export const missingRules: readonly Rule[] = [
  notAValue,
  fieldLost,
  membersLost,
  keyOfNothing,
  columnWithoutValues,
  nothingWritten,
];
