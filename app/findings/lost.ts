/** What a request received and did not write: a field, members of an object, or anything at all. */
import type { KeptRequest } from '../panels/request/data.ts';
import { changeOf, sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type Leaf, leavesIn, leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { editDistance } from '../profiler/edit-distance.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isRecord, type Json, parseJson } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { pathOf } from '../profiler/request-target.ts';
import { isSuccess, nameOfLayer } from './shared/http.ts';
import type { Database, Kept, Needs, Rule } from './shared/kept.ts';
import { mishap } from './shared/mishap.ts';
import { routeValues, textsIn } from './shared/conditions.ts';
import {
  draftAt,
  isWrite,
  kindOf,
  labelOf,
  LEAVES_AS_IS,
  PRIMARY,
  type Read,
  readsOf,
  sqlOf,
  textOf,
} from './shared/queries.ts';
import { excerpt, listOf } from './shared/wording.ts';
import { clientOf } from '../panels/shared/client.ts';

type Value = Leaf['value'];
type Beside = Partial<Pick<Kept, 'routing' | 'spans'>>;

/** What a client sends back, or must not set: a validator takes it out on purpose. */
const ON_PURPOSE = /(?:At|_at|version|revision)$|^_*id$|role|admin|owner|permission|status|verified|balance/i;

interface Field {
  name: string;
  value: Value;
}

/** Of a JSON body as it came, before a validator took anything out. */
function removedIn({ body }: KeptRequest): [string, Json][] {
  const raw =
    body?.truncated === false && /^\s*\{/.test(body.text ?? '') ? parseBeginning(body.text ?? '') : undefined;
  const { parsed } = body ?? {};
  if (!isRecord(raw?.value) || !isRecord(parsed)) return [];
  return Object.entries(raw.value).filter(([name]) => !Object.hasOwn(parsed, name) && !ON_PURPOSE.test(name));
}

function fieldsOf({ body }: KeptRequest, removed: readonly [string, Json][] = []): Field[] {
  const pairs = body?.fields?.map(({ name, value }): [string, Json] => [name, value]);
  const parsed = [...(isRecord(body?.parsed) ? Object.entries(body.parsed) : []), ...removed];
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
  const fields = fieldsOf(request, removedIn(request));
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

/** Whether a command of a cache got the number or its opposite, or the response has what was read plus or minus it. */
function isCounted({ cache, database }: Partial<Kept>, { name, value }: Field, after: Value): boolean {
  const number = typeof value === 'boolean' || value === '' ? 0 : Number(value);
  if (!Number.isFinite(number) || number === 0 || typeof after === 'boolean') return false;
  const items = cache?.items ?? [];
  const given = new Set([String(number), String(-number)]);
  if (items.some(({ args }) => args.some((arg) => given.has(String(arg.value))))) return true;
  const rows = (database?.queries ?? []).flatMap((query) => foundRows(query));
  return leavesOf([...items.map(({ found }) => found?.value ?? null), ...rows]).some(
    (leaf) =>
      sameName(leaf.name) === sameName(name) &&
      [1, -1].some((sign) => Number(leaf.value) + sign * number === Number(after)),
  );
}

function leafOf(value: Json): Value {
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

function entityOf(sent: Json, fields: readonly Field[]): Record<string, Json> | null {
  if (!isRecord(sent)) return null;
  const names = Object.keys(sent);
  const isEntity =
    names.some((name) => PRIMARY.test(name)) || fields.filter(({ name }) => names.includes(name)).length > 1;
  if (isEntity) return sent;
  const [only, ...others] = Object.values(sent).filter((value) => isRecord(value));
  return only === undefined || others.length > 0 ? null : entityOf(only, fields);
}

const NOT_KEPT = /passw|secret|token|csrf|confirm|hash|pin$/i;

/** A key (`F-600`, `basic`) and a name (`Tele 600 mm`) of one thing are two values, and neither is lost. */
function kindOfValue(value: Value): string {
  if (typeof value === 'boolean') return 'boolean';
  if (Number.isFinite(Number(value))) return 'number';
  const text = String(value);
  return !/\s/.test(text) && /[\d_:/-]|^[a-z]+$|^[A-Z]+$/.test(text) ? 'key' : 'name';
}

/** A field whose new value is in no statement, and of which the response has another value. */
function ignoredField({
  request,
  database,
  cache,
  routing,
  spans,
}: Needs<'request', 'database' | 'cache'> & Beside): Field | null {
  const { response } = request;
  if (!/\bjson\b/i.test(response?.contentType ?? '') || response?.truncated === true) return null;
  const fields = fieldsOf(request, removedIn(request));
  const entity = entityOf(parseBeginning(response?.text ?? '')?.value ?? null, fields);
  if (entity === null) return null;
  const columns = new Set(
    (database?.queries ?? []).flatMap(({ bindings }) => bindings.map(({ name }) => sameName(name))),
  );
  const hasWritten = (database?.queries ?? []).some(
    (query) => database !== undefined && kindOf(database, query) === 'write',
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
      if (isCounted({ cache, database }, { name, value }, after)) return false;
      const isKnown = hasWritten || removerOf({ routing, spans }, name) !== null;
      if (!isKnown && kindOfValue(value) !== kindOfValue(after)) return false;
      return database === undefined || typeof value === 'boolean' || !isBound(database, value);
    }) ?? null
  );
}

interface Remover {
  text: string;
  place?: string | null;
}

/** The middleware or pipe that took it out before the handler. */
function removerOf({ routing, spans }: Beside, name: string): Remover | null {
  const layer = routing?.layers.find(({ removed }) => removed?.includes(name) === true);
  if (layer !== undefined)
    return { text: `${nameOfLayer(layer)} removed it from the body`, place: layer.source };
  const pipe = spans?.items.find(({ removed }) => removed?.names.includes(name) === true);
  if (pipe === undefined) return null;
  const { as = '' } = pipe.removed ?? {};
  return { text: `${pipe.name} removed it${as === '' ? '' : `, as ${as} has no decorator for it`}` };
}

const REMOVED_FIX =
  'Add the field to the schema or class that the body is checked against, with its decorator. Refuse unknown fields, so that clients learn of it: `forbidNonWhitelisted` of ValidationPipe, `.strict()` of Zod, no `stripUnknown` of Joi.';
const SAME_NAME_FIX =
  'Follow the field from the body to the statement: a list of allowed columns, a class or a destructuring left it out.';

const fieldLost: Rule<Needs<'request', 'database' | 'routing' | 'cache' | 'spans'>> = {
  name: 'field-lost',
  needs: ['request'],
  labels: ['field lost'],
  why: 'A field of the body was received; a write bound NULL for the column of this or a similar name, or no statement has it and the response has another value.',
  fix: 'Compare the names of client, handler and table letter by letter (`unitPrice`, `unit_price`). Validate the body, and refuse fields that are not known.',
  find({ request, database, routing, cache, spans }, { method, status }) {
    if (status === null || status < 200 || status >= 400 || method === 'GET' || method === 'HEAD') return [];
    const lost = database === undefined ? null : lostField(request, database);
    if (lost !== null && database !== undefined) {
      const { field, column, one } = lost;
      const remover = removerOf({ routing, spans }, field.name);
      const by = remover === null ? '' : `: ${remover.text}`;
      const sentence = `The body has ${excerpt(field.name, 60)}, but ${labelOf(database, one.query)} got NULL for ${excerpt(column, 60)}${by}`;
      const draft = draftAt(one, sentence, 'bad');
      return [
        remover === null
          ? draft
          : { ...draft, place: remover.place ?? draft.place ?? null, fix: REMOVED_FIX },
      ];
    }
    const ignored = ignoredField({ request, database, cache, routing, spans });
    const remover = ignored === null ? null : removerOf({ routing, spans }, ignored.name);
    // Else a write that was never run explains it.
    if (ignored === null || (remover === null && database?.unrun !== undefined)) return [];
    const stored = remover !== null || database === undefined ? '' : ' no statement has it, and';
    if (remover !== null && ON_PURPOSE.test(ignored.name)) return [];
    const by = remover === null ? '' : ` ${remover.text}, and`;
    const sentence = `The body has ${excerpt(ignored.name, 60)}:${by}${stored} the response has another value`;
    const place = remover?.place ?? routing?.route?.source;
    const severity = method === 'POST' ? 'info' : 'warn';
    const fix = remover === null ? SAME_NAME_FIX : REMOVED_FIX;
    return [{ broke: 'unseen', severity, sentence, anchor: 'response', place, fix }];
  },
};

function nestedIn({ body }: KeptRequest): { name: string; value: Record<string, Json> }[] {
  const parsed = body?.parsed;
  return Object.entries(isRecord(parsed) ? parsed : {}).flatMap(([name, value]) =>
    isRecord(value) && Object.keys(value).length > 0 ? [{ name, value }] : [],
  );
}

function parsedJson(value: Json): Json {
  return typeof value === 'string' && /^\s*\{/.test(value) ? (parseJson(value) ?? value) : value;
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
  /json_?b?_?(?:set|insert|replace|modify|patch|merge\w{0,60})\s{0,20}\(|->|#|(?:deep|recursive)\w{0,60}\s{0,20}\(/i;

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
  if (method !== 'PATCH' || !isSuccess(status)) return false;
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

function asksForOne({ read, query }: Read, ids: ReadonlySet<string>): boolean {
  const given = (read.where ?? []).flatMap((one) => textsIn(one, query));
  const bound = query.bindings.flatMap(({ value }) => textOf(value) ?? []);
  return [...given, ...bound].some((text) => ids.has(text));
}

function isInWrites(database: Database, writes: readonly Read[], value: Value): boolean {
  const word = new RegExp(String.raw`(?<![\w.$])${String(value).replace(/\W/g, String.raw`\$&`)}(?![\w.])`);
  return writes.some(
    ({ query }) =>
      word.test(sqlOf(database, query)) ||
      leavesOf(query.bindings.map((binding) => parsedJson(binding.value))).some(
        (leaf) => changeOf(value, leaf.value, true) !== 'value',
      ),
  );
}

/** An update of the row that was read, without fields that the response has as received: only the object in memory has them. */
function unsavedFields(
  request: KeptRequest,
  { method, status }: ProfileHead,
  database: Database,
): FindingDraft[] {
  const reads = readsOf(database);
  const writes = reads.filter(isWrite);
  const update = writes.find(({ read, query }) => read.verb === 'update' && query.rows !== 0);
  if (update === undefined) return [];
  const had = leavesOf(
    reads
      .filter(({ read, index }) => read.table === update.read.table && index !== update.index)
      .flatMap(({ query }) => foundRows(query)),
  );
  const unsaved = repeatedFields(request).flatMap(({ name, value }) => {
    const of = had.filter((leaf) => sameName(leaf.name) === sameName(name));
    const [first] = of;
    const isOther = of.every((leaf) => changeOf(value, leaf.value, true) === 'value');
    return first === undefined || !isOther || NOT_KEPT.test(name) || isInWrites(database, writes, value)
      ? []
      : [{ name, had: first.value }];
  });
  const [first] = unsaved;
  if (first === undefined) return [];
  const names = listOf(unsaved.map(({ name }) => name));
  const sentence = `${method} answered ${status ?? ''} with ${names} as received, but no statement wrote that: ${labelOf(database, update.query)} sets other columns, and the row that was read has ${excerpt(String(first.had), 40)} for ${excerpt(first.name, 40)}`;
  return [draftAt(update, sentence, 'bad')];
}

const nothingWritten: Rule<Needs<'database' | 'request', 'cache' | 'http_client' | 'jobs' | 'routing'>> = {
  name: 'nothing-written',
  needs: ['database', 'request'],
  labels: ['nothing written'],
  why: 'A PUT, PATCH or DELETE answered with a success, called no other service and added no job. It only read the row of its address; or it wrote, but no statement has fields that the response repeats as received.',
  fix: 'Check that the change is saved: call `save()`, or await the UPDATE or DELETE. Sequelize sees no change inside of a JSON column (`changed("settings", true)`). `on conflict do nothing` changes no row: use `on conflict (…) do update set …`.',
  find(kept, head) {
    const { database, request, routing } = kept;
    const { method, status } = head;
    if (!CHANGES.has(method) || !isSuccess(status)) return [];
    if (database.queries.some(({ error }) => error !== null)) return [];
    // A write that was never run has a finding of its own.
    if (database.unrun !== undefined || database.unkept !== undefined || mayChangeElsewhere(kept)) return [];
    const writes = database.queries.filter((query) => kindOf(database, query) === 'write');
    if (writes.some(({ rows }) => rows !== 0)) return unsavedFields(request, head, database);
    if (writes.length > 0) {
      const ignored = ignoredInsert(request, database);
      if (ignored === null) return [];
      const { one, fields } = ignored;
      const how = excerpt(LEAVES_AS_IS.exec(sqlOf(database, one.query))?.[0] ?? '', 60).toLowerCase();
      const names = listOf(fields.map(({ name }) => name));
      const sentence = `${labelOf(database, one.query)} (${how}) added 0 rows, and nothing else was written, but this request answered ${status} with ${names} as received: the row that is there keeps its values`;
      return [draftAt(one, sentence, 'bad')];
    }
    const ids = routeValues(request);
    const read = readsOf(database).find((one) => one.query.rows !== 0 && asksForOne(one, ids));
    if (read === undefined || hasAll(request, read)) return [];
    const repeated = listOf(repeatedFields(request).map(({ name }) => name));
    const what = repeated === '' ? '' : ` with ${repeated} as received`;
    const sentence = `${method} answered ${status}${what}, but no statement wrote anything: only reads ran, such as ${labelOf(database, read.query)}`;
    const place = routing?.route?.source ?? read.query.caller;
    return [{ ...draftAt(read, sentence, 'warn'), place }];
  },
};

export const lostRules: readonly Rule[] = [fieldLost, membersLost, nothingWritten];
