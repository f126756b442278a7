/** Values that changed on their way from the request to a statement or to the response. Sentences have names, never values. */
import type { KeptRequest } from '../panels/request/data.ts';
import { changeOf, compareValues, type FieldAt, sameName } from '../panels/shared/compare-values.ts';
import { type Leaf, leavesIn, leavesOf } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { addTo, groupBy } from '../profiler/group-by.ts';
import type { Json } from '../profiler/json.ts';
import type { Database, Kept, Needs, OtherRequest, Rule } from './shared/kept.ts';
import { mishap } from './shared/mishap.ts';
import { movedDays } from './shared/moved-days.ts';
import { givenText, textsIn } from './shared/conditions.ts';
import { draftAt, hasValue, isWrite, labelOf, type Read, readOf, readsOf, sqlOf } from './shared/queries.ts';
import { count, excerpt, listOf, requestText, snakeCase } from './shared/wording.ts';
import { maskedType } from '../profiler/masking/redact.ts';

type Value = Leaf['value'];

type Given = Needs<'request', 'database' | 'routing'>;

const valueChanged: Rule<Given> = {
  name: 'value-changed',
  needs: ['request'],
  labels: ['value changed'],
  why: 'A field was received, and bound to a statement or sent under the same name with another value, in a way that is known to lose something.',
  fix: 'Check a value before you convert it (`Number`, a schema), keep identifiers and long numbers as text, and send dates without a time as text.',
  find({ request, database, routing }) {
    const moved = database === undefined ? [] : movedDays({ request, database }).map(({ name }) => name);
    const changes = compareValues({ request, ...(database === undefined ? {} : { database }) }).flatMap(
      ({ name, received, bound, sent }) => {
        const find = (places: readonly FieldAt[]) =>
          places.flatMap((at) => {
            const what = mishap(received.value, at.value);
            return what === null ? [] : [{ name, what, at: at.query ?? null }];
          })[0];
        const found = find(bound) ?? find(sent);
        // A DATE of the database that moved has a finding of its own.
        return found === undefined || (found.at === null && moved.includes(name)) ? [] : [found];
      },
    );
    return [...groupBy(changes, ({ what, at }) => `${at ?? ''} ${what}`).values()].flatMap(
      (alike): FindingDraft[] => {
        const [first] = alike;
        if (first === undefined) return [];
        const query = database?.queries[first.at ?? -1];
        const where =
          database === undefined || query === undefined ? 'the response' : labelOf(database, query);
        const sentence = `${listOf(alike.map(({ name }) => name))} changed between the request and ${where}: ${first.what}`;
        if (query !== undefined) return [draftAt({ query, index: first.at ?? 0 }, sentence, 'warn')];
        const place = routing?.route?.source;
        return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'response', place }];
      },
    );
  },
};

/** What `||` takes for missing. */
function isFalsy(value: Value): boolean {
  return value === 0 || value === false || value === '';
}

interface Past {
  token: string;
  given: Value | undefined;
  bound: Json;
}

/** What earlier requests received for a field, and what the same kind of statement bound for it. */
function pastOf(earlier: readonly OtherRequest[], name: string, { read }: Read): Past[] {
  return earlier.flatMap(({ head, kept: { request, database } }): Past[] => {
    if (request === undefined) return [];
    const given = receivedFields(request).find((one) => sameName(one.name) === sameName(name));
    return readsOf(database)
      .filter((one) => one.read.verb === read.verb && one.read.table === read.table)
      .flatMap(({ query }) => query.bindings.filter((one) => sameName(one.name) === sameName(name)))
      .map(({ value }) => ({ token: head.token, given: given?.value, bound: value }));
  });
}

/** Whether an earlier response of the same address had this value. */
function wasSent(before: readonly OtherRequest[], request: KeptRequest, name: string, value: Value): boolean {
  return before.some(({ kept }) => {
    const other = kept.request;
    if (JSON.stringify(other?.routeParams) !== JSON.stringify(request.routeParams)) return false;
    return leavesIn(other?.response?.text ?? '').some(
      (leaf) => sameName(leaf.name) === sameName(name) && leaf.value === value,
    );
  });
}

function overridden({ request, database }: Pick<Kept, 'request' | 'database'>) {
  return compareValues({ request, database }).flatMap(({ name, received, bound }) => {
    const { field, value } = received;
    if (!field.startsWith('body ') || !isFalsy(value)) return [];
    return bound.flatMap((at) => {
      const one = readsOf(database).find(({ index }) => index === at.query);
      // 1 may be a minimum.
      const isMinimum = value === 0 && at.value === 1;
      if (one === undefined || !isWrite(one) || at.change !== 'value' || at.value === null || isMinimum)
        return [];
      return [{ name, value, bound: at.value, one }];
    });
  });
}

const falsyOverridden: Rule<Needs<'request' | 'database'>> = {
  name: 'falsy-overridden',
  needs: ['request', 'database'],
  labels: ['taken for missing'],
  why: 'The body has 0, `false` or an empty text for a field, and a write bound another value: the one that it binds without the field, the old one, or, of a number, one that is no minimum, because a smaller one was bound before.',
  fix: 'Use `??` in place of `||`: `req.body.volume ?? device.volume`. `||` takes 0, `false` and `""` for missing.',
  compares: (kept) => overridden(kept).length > 0,
  relates: (kept) => overridden(kept).length > 0,
  find(kept, { method }, { earlier, siblings }) {
    const { request, database } = kept;
    const isChange = method === 'PATCH' || method === 'PUT';
    return overridden(kept)
      .flatMap(({ name, value, bound, one }): FindingDraft[] => {
        const past = pastOf(earlier, name, one);
        const received = past.filter(({ given }) => given !== undefined && !isFalsy(given));
        // The server decides by itself.
        if (
          received.some((before) => changeOf(before.given ?? null, before.bound as Value, true) === 'value')
        )
          return [];
        const without = past.find((before) => before.given === undefined && before.bound === bound);
        const isOld = isChange && wasSent([...earlier, ...siblings], request, name, bound);
        const isNoMinimum =
          typeof bound === 'number' &&
          received.some((before) => typeof before.bound === 'number' && before.bound < bound);
        const isProven = value === '' ? isOld && without !== undefined : isOld || without !== undefined;
        if (!isProven && !(value === 0 && isNoMinimum)) return [];
        const got = isOld
          ? 'the old value'
          : without === undefined
            ? 'another value'
            : `what it gets without one (request ${without.token})`;
        const what = value === '' ? 'an empty text' : String(value);
        const sentence = `${excerpt(name, 40)} was received as ${what}, but ${labelOf(database, one.query)} got ${got}: || takes ${what} for missing`;
        return [draftAt(one, sentence, 'bad')];
      })
      .slice(0, 1);
  },
};

const PASSWORD = /^(?:\w+_)?(?:password|passwd|pwd|passphrase|passcode|pin|pincode)(?:_?\d)?$/i;
const OF_HASH = /(?:^|_)(?:\w*hash|digest)$/i;
/** The database hashes it. */
const HASHES = /\b(?:crypt|digest|sha\d*|md5|hmac|encrypt|pgp_\w+|hashbytes|standard_hash)\s*\(/i;
/** They have to be known again, to sign in somewhere else. */
const OF_OTHERS =
  /smtp|imap|mail|ftp|wifi|network|integration|connection|credential|server|device|door|lock/i;

const passwordStored: Rule<Needs<'request' | 'database'>> = {
  name: 'password-stored',
  needs: ['request', 'database'],
  labels: ['plain password'],
  why: 'The body has a password or PIN, and a write bound the same value, by its mark, for a column named like a password, a PIN, a hash or a digest.',
  fix: 'Hash it before it is stored (`scrypt`, `argon2`, `bcrypt`). Hooks of an ORM that hash don’t run for each method: `Model.update()` of Sequelize skips `beforeSave` unless `individualHooks` is set, and TypeORM’s `update()` skips `@BeforeUpdate`.',
  find({ request, database }) {
    const received = receivedFields(request).filter(
      ({ name, from, value }) =>
        (from === 'body' || from === 'form') && PASSWORD.test(snakeCase(name)) && maskedType(value) !== null,
    );
    if (received.length === 0) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      if (!isWrite(one) || query.rows === 0 || OF_OTHERS.test(read.table ?? '')) return [];
      if (HASHES.test(sqlOf(database, query))) return [];
      const set = new Set(read.sets.map(({ column }) => column));
      for (const { name, value } of query.bindings) {
        const column = snakeCase(name);
        const field = received.find((other) => other.value === value);
        const isStored = read.verb === 'insert' || set.has(name);
        if (field === undefined || !isStored || !(PASSWORD.test(column) || OF_HASH.test(column))) continue;
        const sentence = `${labelOf(database, query)} stored ${excerpt(field.name, 40)} in ${excerpt(name, 40)} as it was received, not hashed`;
        return [draftAt(one, sentence, 'bad')];
      }
      return [];
    });
  },
};

/** People write them with capitals, and nobody stores them so. */
const ANY_CASE = /mail|user|login|slug|search|^q$/i;

const caseChanged: Rule<Needs<'request' | 'database'>> = {
  name: 'case-changed',
  needs: ['request', 'database'],
  labels: ['other letters'],
  why: 'A value was received and bound with other capital letters, the statement compares it by `=`, and found nothing.',
  fix: 'Bind the value as the column has it, or compare both in one form (`where lower(status) = lower($1)`). Refuse a value that is none of the known ones.',
  find({ request, database }, { status }) {
    if (status === null || status >= 300) return [];
    return compareValues({ request, database }).flatMap(({ name, bound }): FindingDraft[] => {
      const changed = bound.filter(({ change }) => change === 'case');
      const at = changed[0]?.query;
      const query = database.queries[at ?? -1];
      if (at === undefined || query?.rows !== 0 || ANY_CASE.test(name)) return [];
      // It is stored in these letters: the read asked whether it is there already.
      const isInserted = readsOf(database).some(
        ({ read, index }) => read.verb === 'insert' && changed.some((one) => one.query === index),
      );
      if (isInserted) return [];
      const read = readOf(database, query);
      const isEqual = read?.where?.some(
        ({ column, operator, wrapped }) =>
          operator === '=' && wrapped === null && sameName(column) === sameName(name),
      );
      if (read?.verb !== 'select' || isEqual !== true) return [];
      const sentence = `${labelOf(database, query)} found no row for ${excerpt(name, 40)}, whose capital or small letters were changed after it was received`;
      return [draftAt({ query, index: at }, sentence, 'warn')];
    });
  },
};

interface ReceivedList {
  name: string;
  members: readonly string[];
}

function receivedLists(request: KeptRequest): ReceivedList[] {
  const fields = receivedFields(request);
  const one = fields.flatMap(({ name, value }): ReceivedList[] =>
    typeof value === 'string' && value.includes(',') ? [{ name, members: value.split(',') }] : [],
  );
  const several = groupBy(fields, ({ name, from, path }) => `${from} ${path.replace(/\.\d+$/, '')} ${name}`);
  return [
    ...one,
    ...Array.from(several.values(), (alike) => ({
      name: alike[0]?.name.replace(/\[\]$/, '') ?? '',
      members: alike.map(({ value }) => String(value)),
    })),
  ]
    .map(({ name, members }) => ({ name, members: members.map((member) => member.trim()) }))
    .filter(({ members }) => members.length > 1 && members.every((member) => /^\d{1,15}$/.test(member)))
    .map(({ name, members }) => ({ name, members: members.map((member) => String(Number(member))) }));
}

/** `ids` for `id`, `productIds` for `product_id`. */
function isListOf(name: string, column: string): boolean {
  const [list, one] = [sameName(name), sameName(column)];
  return list === one || list === `${one}s` || (one === 'id' && /ids?$/.test(list));
}

/** The whole numbers of each `in (…)` or `= any (…)` of a statement, with their column. */
function boundLists({ read, query }: Read): { column: string; members: string[] }[] {
  const listed = (read.where ?? []).flatMap(({ column, operator, values, wrapped }) =>
    operator === 'in' && wrapped === null
      ? [{ column, members: values.map((value) => givenText(value, query) ?? '') }]
      : [],
  );
  const arrays = query.bindings.flatMap(({ name, value }) =>
    Array.isArray(value) && read.verb !== 'insert' ? [{ column: name, members: value.map(String) }] : [],
  );
  return [...listed, ...arrays].filter(
    ({ members }) => members.length > 0 && members.every((member) => /^\d{1,15}$/.test(member)),
  );
}

/** What `map(parseInt)` makes of a list: its second argument, the radix, is the index. */
function mappedByIndex(members: readonly string[]): string[] {
  return members.map((member, at) => String(parseInt(member, at))).filter((member) => member !== 'NaN');
}

const listChanged: Rule<Needs<'request' | 'database'>> = {
  name: 'list-changed',
  needs: ['request', 'database'],
  labels: ['changed list'],
  why: 'A list of whole numbers was received. A statement compares the column of that name with a list in which one was not received, while some that were received are in no statement.',
  fix: 'Convert with a function of one argument: `ids.map(Number)` or `ids.map((id) => parseInt(id, 10))`. `map(parseInt)` passes the index as the radix, so `["10", "12", "13"]` becomes 10, NaN, 1.',
  find({ request, database }) {
    const lists = receivedLists(request);
    if (lists.length === 0) return [];
    const reads = readsOf(database);
    const given = new Set([
      ...reads.flatMap((one) => boundLists(one).flatMap(({ members }) => members)),
      ...database.queries.flatMap(({ bindings }) =>
        bindings.flatMap(({ value }) => [value].flat().map(String)),
      ),
    ]);
    return reads.flatMap((one): FindingDraft[] => {
      for (const { column, members } of boundLists(one)) {
        // What an earlier statement found may have given the list.
        const isFirst = reads.every(({ index, query }) => index >= one.index || query.rows === 0);
        for (const list of lists.filter(({ name }) => isListOf(name, column))) {
          const made = mappedByIndex(list.members);
          const lost = list.members.filter((member) => !given.has(member));
          const foreign = members.filter((member) => !list.members.includes(member));
          const isMapped = members.every((member) => made.includes(member));
          const isOneChanged =
            isFirst && members.length === list.members.length && foreign.length < members.length;
          if (lost.length === 0 || foreign.length === 0 || !(isMapped || isOneChanged)) continue;
          const how = isMapped ? ', as map(parseInt) makes of them: it takes the index for the radix' : '';
          const sentence = `${excerpt(list.name, 40)} was received as ${excerpt(list.members.join(', '), 60)}, but ${labelOf(database, one.query)} got ${excerpt(members.join(', '), 60)}${how}`;
          return [draftAt(one, sentence, 'bad')];
        }
      }
      return [];
    });
  },
};

const FALSE = /^(?:false|0|no|off)$/i;
const TRUE = /^(?:true|1|yes|on)$/i;

/** Its 0 is a number. */
const OF_NUMBER = /page|limit|offset|skip|size|count|index|id$|min|max|from|to$|year|month|day/i;

/** What a request asked for, aside from one parameter of its query. */
function asideFrom({ query, routeParams }: KeptRequest, name: string): string {
  return JSON.stringify([query.filter((one) => one.name !== name), routeParams]);
}

function askedBy({ queries, statements }: Database): { texts: string[]; all: string } {
  const texts = queries.map(({ statement }) => statements[statement]?.sql ?? '');
  return { texts, all: JSON.stringify(queries.map(({ bindings }, at) => [texts[at], bindings])) };
}

/** What is left out unless somebody asks for it. */
const LEFT_OUT =
  /archived|deleted|trashed|hidden|closed|disabled|draft|expired|cancell?ed|inactive|resolved/i;
/** Parameters that choose a form, an order or a part, or that match more than equal values. */
const NO_FILTER =
  /lang|locale|currency|unit|sort|order|page|limit|size|format|view|field|include|expand|from|to$|date|since|until|time|^q$|query|search|name|title|text|id$|near|place|city|country|region|zip/i;

/** Entries of the one list that has the parameter as a field, and how many of them contradict it. */
function contradicted(name: string, value: string, leaves: readonly Leaf[]) {
  const own = leaves.flatMap((leaf) => {
    const [found, list = ''] = /^(?:(.*)\.)?\d+\.[^.]+$/.exec(leaf.path) ?? [];
    return found !== undefined && sameName(leaf.name) === sameName(name) ? [{ list, value: leaf.value }] : [];
  });
  const [first] = own;
  if (first === undefined || own.some(({ list }) => list !== first.list)) return null;
  const end = first.list === '' ? '' : `${first.list}.`;
  const entries = new Set(
    leaves.flatMap(({ path }) => (path.startsWith(end) ? path.slice(end.length).split('.')[0] : [])),
  );
  const isBoolean = own.every((one) => typeof one.value === 'boolean');
  // `inStock=false` may mean that all are wanted, `archived=true` that those are wanted as well.
  const isPlain = isBoolean
    ? (LEFT_OUT.test(name) ? FALSE : TRUE).test(value)
    : /^\p{L}[\p{L}_-]+$/u.test(value) && !NO_FILTER.test(name);
  const wanted = isBoolean ? TRUE.test(value) : value;
  const other = own.filter((one) => one.value !== wanted);
  const [contrary] = other;
  if (!isPlain || contrary === undefined) return null;
  const isNone =
    entries.size === own.length &&
    own.length > 1 &&
    !EVERYTHING.test(value) &&
    own.every((one) => typeof one.value === 'string' && !contains(one.value, value));
  if (other.length === own.length && !isNone) return null;
  return { all: own.length, other: other.length, list: first.list, has: String(contrary.value), isNone };
}

function contains(text: string, value: string): boolean {
  return text.toLowerCase().includes(value.toLowerCase());
}

/** `filter[depot]` and `filter.depot` -> depot */
function lastName(name: string): string {
  return /([^[\].]+)\]?$/.exec(name)?.[1] ?? name;
}

/** An earlier request that asked for what all entries have, or whose response had entries with the value: the field is what the parameter means. */
function knownBefore(
  earlier: readonly OtherRequest[],
  { name, value }: { name: string; value: string },
  has: string,
): string | null {
  const asked = earlier.find(({ kept }) =>
    kept.request?.query.some((one) => one.name === name && one.value === has),
  );
  if (asked !== undefined) return `${requestText(asked.head)} asked for that`;
  const had = earlier.find(({ kept }) =>
    leavesIn(kept.request?.response?.text ?? '').some(
      (leaf) => leaf.value === value && sameName(leaf.name) === sameName(lastName(name)),
    ),
  );
  return had === undefined ? null : `${requestText(had.head)} returned entries that have it`;
}

function isAskedFor(database: Database | undefined, name: string, value: string): boolean {
  if (database === undefined) return false;
  return database.queries.some((query) => {
    const compared = readOf(database, query)?.where ?? [];
    return (
      compared.some(({ column }) => sameName(column) === sameName(name)) || hasValue(database, query, value)
    );
  });
}

const filterIgnored: Rule<Needs<'request', 'database' | 'cache' | 'routing'>> = {
  name: 'filter-ignored',
  needs: ['request'],
  labels: ['filter ignored'],
  why: 'A parameter of the query has the name of a field of the list in the response, and no statement compares that column. Some entries have its value and others another, or none has it, and an earlier request asked for theirs or got it.',
  fix: 'Pass the parameter on as a condition, and make it part of a cache’s key. A parameter is a text: `"false"` is true in `if`, so compare it (`req.query.archived === "true"`), or convert it (`ParseBoolPipe`).',
  compares: ({ request }) => {
    const leaves = request.query.length === 0 ? [] : leavesIn(request.response?.text ?? '');
    return request.query.some(({ name, value }) => contradicted(lastName(name), value, leaves)?.isNone);
  },
  find({ database, request, cache, routing }, { method, status }, { earlier }) {
    if (method !== 'GET' || status !== 200) return [];
    const leaves = leavesIn(request.response?.text ?? '');
    return request.query.flatMap(({ name, value }): FindingDraft[] => {
      const column = lastName(name);
      const found = contradicted(column, value, leaves);
      if (found === null || isAskedFor(database, column, value)) return [];
      const { all, other, list, has, isNone } = found;
      const before = isNone ? knownBefore(earlier, { name, value }, has) : null;
      if (isNone ? before === null : database === undefined) return [];
      const of = list === '' ? '' : ` of ${excerpt(list, 40)}`;
      const read = readsOf(database).find(({ query }) => query.rows === all);
      const field = excerpt(column, 40);
      const how = before ?? `no statement asks for ${field}`;
      const sentence = `${excerpt(name, 40)}=${excerpt(value, 40)} was received, but ${count(other)} of ${count(all, 'entry', 'entries')}${of} ${other === 1 ? 'has' : 'have'} other values, such as ${field} ${excerpt(has, 40)}: ${how}`;
      if (read !== undefined) return [draftAt(read, sentence, 'bad')];
      const [hit, ...more] = (cache?.items ?? []).filter(({ hits }) => (hits ?? 0) > 0);
      const place = (more.length === 0 ? hit?.caller : undefined) ?? routing?.route?.source;
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor: 'response', place, panel: 'request' }];
    });
  },
};

/** A received text says no, and the value that a pipe of NestJS, or a middleware that changed `req.body`, made of it is true. */
function readAsTrue({ request, spans, routing }: Needs<'request', 'spans' | 'routing'>): FindingDraft[] {
  const fields = receivedFields(request);
  const place = routing?.route?.source;
  const told = ' (Boolean("false") is true, as of any text)';
  const piped = (spans?.items ?? []).flatMap((span, at): FindingDraft[] =>
    (span.converted?.fields ?? []).flatMap((field): FindingDraft[] => {
      const received = fields.find(
        ({ path, value }) => path === field.name && typeof value === 'string' && FALSE.test(value),
      );
      if (field.value !== true || received === undefined) return [];
      const as = span.converted?.as ?? '';
      const by = `${excerpt(span.name, 60)}${as === '' || as === 'Object' ? '' : `, which makes a ${excerpt(as, 40)},`}`;
      const sentence = `${excerpt(field.name, 40)} was received as the text “${String(received.value)}”, and ${by} gave true to the handler${told}`;
      const anchor = `s${at + 1}`;
      return [
        { broke: 'unseen', severity: 'bad', sentence, panel: 'spans', anchor, place: span.caller ?? place },
      ];
    }),
  );
  const { text = null, parsed } = request.body ?? {};
  const after = new Map(leavesOf(parsed ?? null).map(({ path, value }) => [path, value]));
  const changed = (parsed === undefined ? [] : leavesIn(text ?? '')).flatMap((leaf): FindingDraft[] => {
    const { path, value } = leaf;
    if (typeof value !== 'string' || !FALSE.test(value) || after.get(path) !== true) return [];
    const sentence = `${excerpt(path, 40)} was received as the text “${value}”, and is true in the parsed body${told}`;
    return [{ broke: 'unseen', severity: 'bad', sentence, panel: 'request', anchor: 'body', place }];
  });
  return [...piped, ...changed];
}

const falseAsTrue: Rule<Needs<'request', 'database' | 'routing' | 'spans'>> = {
  name: 'false-as-true',
  needs: ['request'],
  labels: ['false as true'],
  why: 'A received text says no, and a pipe or a middleware made true of it. Or the statements and their values are those of an earlier request in which the parameter says yes, and without it a statement is another one.',
  fix: 'Compare the text: `req.query.archived === "true"`, in a DTO `@Transform(({ obj }) => obj.archived === "true")`, not `@Type(() => Boolean)`. A parameter is a text, and `if` and `Boolean` take every text except the empty one for true.',
  compares: ({ request }) => request.query.some(({ value }) => FALSE.test(value)),
  find(kept, _head, { earlier }) {
    const { database, request, routing } = kept;
    const made = readAsTrue(kept);
    if (made.length > 0 || database === undefined) return made;
    const own = askedBy(database);
    const leaves = leavesIn(request.response?.text ?? '');
    const others = earlier.flatMap(({ head, kept }) =>
      kept.request === undefined || kept.database === undefined
        ? []
        : [{ token: head.token, request: kept.request, ...askedBy(kept.database) }],
    );
    return request.query.flatMap(({ name, value }): FindingDraft[] => {
      if (!FALSE.test(value) || (value === '0' && OF_NUMBER.test(name))) return [];
      // With a finding of its own.
      const found = contradicted(name, value, leaves);
      if (found !== null && !found.isNone) return [];
      const alike = others.filter((one) => asideFrom(one.request, name) === asideFrom(request, name));
      const yes = alike.find(
        (one) =>
          one.request.query.some((other) => other.name === name && TRUE.test(other.value)) &&
          one.all === own.all,
      );
      const without = alike.filter((one) => one.request.query.every((other) => other.name !== name));
      const index = own.texts.findIndex((text) => without.every(({ texts }) => !texts.includes(text)));
      const query = database.queries[index];
      if (yes === undefined || without.length === 0 || query === undefined) return [];
      // Of a controller, whose parameter may be declared as a boolean.
      const handler = routing?.route?.handler ?? '';
      const to = /^\w+\.\w+$/.test(handler) ? ` in ${handler}` : '';
      const said = yes.request.query.find((other) => other.name === name)?.value ?? '';
      const sentence = `${excerpt(name, 40)}=${excerpt(value, 20)} ran ${labelOf(database, query)} exactly as ${excerpt(name, 40)}=${excerpt(said, 20)} of an earlier request (${yes.token}): the text “${excerpt(value, 20)}” seems to count as true${to}`;
      return [draftAt({ query, index }, sentence, 'bad')];
    });
  },
};

/** Values of each parameter of the query. */
function parametersOf({ query }: KeptRequest): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { name, value } of query)
    if (value !== '' && value !== null) addTo(found, name, String(leavesOf(value)[0]?.value ?? ''));
  return found;
}

/** Reads of the table that compare a column of this name, with one of the values if there are any. */
function compares(read: Read, name: string, values: readonly string[] | null): boolean {
  return (read.read.where ?? []).some((one) => {
    const isAsked = values === null || textsIn(one, read.query).some((text) => values.includes(text));
    return isAsked && sameName(one.column) === sameName(name);
  });
}

/** Asks for everything. */
const EVERYTHING = /^(?:all|any|every|none|\*|-1|0)$/i;
/** `qs` makes an object of a longer list. */
const MOST_OF_LIST = 20;

const parameterLost: Rule<Needs<'request' | 'database'>> = {
  name: 'parameter-lost',
  needs: ['request', 'database'],
  labels: ['parameter lost'],
  why: 'An earlier request of the route sent this parameter, and its statement had a condition on the column of that name with its value. This request sent the parameter, but its statement found rows without such a condition.',
  fix: 'Refuse a value that you can’t read, with 400: no value and an unreadable one must not mean the same. With more than 20 values of one name, `query parser: extended` gives an object, not a list (`arrayLimit` of `qs`).',
  compares: ({ request }) => request.query.length > 0,
  find({ request, database }, { method, status }, { earlier }) {
    if (method !== 'GET' || status !== 200) return [];
    const reads = readsOf(database).filter(({ read }) => read.verb === 'select');
    for (const [name, values] of parametersOf(request)) {
      const isEverything = values.some((value) => EVERYTHING.test(value));
      if (isEverything || reads.some((one) => compares(one, name, null))) continue;
      for (const one of reads) {
        if ((one.query.rows ?? 0) === 0 || one.read.table === null) continue;
        const before = earlier.filter(({ kept }) => {
          const { request: asked, database: ran } = kept;
          const sent = asked === undefined ? undefined : parametersOf(asked).get(name);
          return (
            sent !== undefined &&
            readsOf(ran).some((read) => read.read.table === one.read.table && compares(read, name, sent))
          );
        });
        if (before.length === 0) continue;
        const list =
          values.length > MOST_OF_LIST
            ? `. Express’s query parser may make an object of more than ${MOST_OF_LIST} values`
            : '';
        const sentence = `${labelOf(database, one.query)} has no condition on ${excerpt(name, 40)}, although the request sent ${count(values.length, 'value')} of it; in ${count(before.length, 'earlier request')} it had one${list}`;
        return [{ ...draftAt(one, sentence, 'warn'), broke: 'response' }];
      }
    }
    return [];
  },
};

export const valueRules: readonly Rule[] = [
  parameterLost,
  valueChanged,
  falsyOverridden,
  listChanged,
  passwordStored,
  falseAsTrue,
  filterIgnored,
  caseChanged,
];
