/** Values on their way: a field as it was received, bound to a statement, and sent. Sentences have names, never values. */
import type { KeptRequest } from '../panels/request/data.ts';
import { changeOf, compareValues, type FieldAt, sameName } from '../panels/shared/compare-values.ts';
import { type Leaf, leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import { aggregatesOf } from '../panels/shared/read-statement.ts';
import { editDistance } from '../profiler/edit-distance.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import { isMasked } from '../profiler/redact.ts';
import { mediaType, sentHeader } from './shared/http.ts';
import type { Kept, Needs, Query } from './shared/kept.ts';
import { draftAt, labelOf, readOf, rowOf, sqlOf } from './shared/queries.ts';
import { brokeBy, excerpt } from './shared/wording.ts';

type Value = Leaf['value'];

const DAY = /^(\d{4}-\d\d-\d\d)$/;
const MOMENT = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d/;
/** Digits that a number of JavaScript holds for certain. */
const EXACT_DIGITS = 15;

/** How a value was changed, as a clause; null if nothing is known to have gone wrong. */
function mishap(before: Value, after: Value): string | null {
  if (before === null || before === '') return null;
  if (typeof before === 'string' && typeof after === 'number') {
    const text = before.trim();
    if (
      /^[+-]?\d{16,}$/.test(text) &&
      Number(text) === after &&
      text.replace(/\D/g, '').length > EXACT_DIGITS
    )
      return 'a JavaScript number can’t hold all of its digits';
    if (/^0\d{2,}$/.test(text) && Number(text) === after)
      return 'the conversion to a number cut off its leading zeros';
    if (Number(text) !== after && (parseInt(text) === after || parseFloat(text) === after))
      return 'only the beginning of its text was read as a number (parseInt, parseFloat)';
  }
  if (
    typeof before === 'string' &&
    (after === true || after === 1) &&
    /^(?:false|off|no)$/i.test(before.trim())
  )
    return 'its text was taken for true, as any text is (Boolean("false"))';
  if (
    typeof before === 'number' &&
    typeof after === 'number' &&
    !Number.isInteger(before) &&
    Math.trunc(before) === after
  )
    return 'its decimals were cut off';
  if (typeof before === 'boolean' && after === String(before)) return 'the boolean became a text';
  if (typeof before === 'string' && typeof after === 'string') {
    const [, day] = DAY.exec(before) ?? [];
    const [, other] = MOMENT.exec(after) ?? [];
    if (day !== undefined && DAY.test(after) && Math.abs(Date.parse(day) - Date.parse(after)) === 86_400_000)
      return 'its day moved by one, as it does when a local midnight is written in UTC (toISOString)';
    if (
      day !== undefined &&
      other !== undefined &&
      day !== other &&
      Math.abs(Date.parse(day) - Date.parse(other)) <= 86_400_000
    )
      return 'the date became a time, and the time zone moved it to another day';
  }
  return null;
}

type Given = Needs<'request', 'database' | 'routing'>;

const valueChanged: FindingRule<Given> = {
  name: 'value-changed',
  needs: ['request'],
  labels: ['value changed'],
  why: 'A field was received, and bound to a statement or sent under the same name with another value, in a way that is known to lose something.',
  fix: 'Check a value before you convert it (`Number`, a schema), keep identifiers and long numbers as text, and send dates without a time as text.',
  find({ request, database, routing }) {
    return compareValues({ request, ...(database === undefined ? {} : { database }) }).flatMap(
      ({ name, received, bound, sent }): FindingDraft[] => {
        const find = (places: readonly FieldAt[]) =>
          places
            .map((at) => ({ at, what: mishap(received.value, at.value) }))
            .find(({ what }) => what !== null);
        const inBound = find(bound);
        const found = inBound ?? find(sent);
        if (found?.what === undefined || found.what === null) return [];
        const field = excerpt(name, 60);
        const query = database?.queries[found.at.query ?? -1];
        if (database !== undefined && query !== undefined)
          return [
            draftAt(
              { query, index: found.at.query ?? 0 },
              `${field} changed between the request and ${labelOf(database, query)}: ${found.what}`,
              'warn',
            ),
          ];
        return [
          {
            broke: 'unseen',
            severity: 'warn',
            sentence: `${field} changed between the request and the response: ${found.what}`,
            anchor: 'response',
            place: routing?.route?.source,
          },
        ];
      },
    );
  },
};

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
  const leaf = leavesOf(parseBeginning(text)?.value ?? null).find(
    ({ value }) => value !== 'null' && missingIn(value) !== null,
  );
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

const notAValue: FindingRule<Given> = {
  name: 'not-a-value',
  needs: ['request'],
  labels: ['missing value'],
  why: 'The address, a value of a statement, a Location or the response has `undefined`, `NaN`, `null`, `Invalid Date` or `[object Object]` as text in place of a value.',
  fix: 'Check the line that builds the text: the variable had no value there, or was an object. Refuse such a parameter with a 400.',
  find({ request, database, routing }, { status }) {
    const place = routing?.route?.source;
    const address = inAddress(request);
    if (address !== null)
      return [
        {
          broke: brokeBy(status),
          severity: 'warn',
          sentence: `The parameter ${excerpt(address.name, 60)} is the text “${address.word}”: the client built the address from something that had no value`,
          place,
        },
      ];
    for (const [index, { bindings, caller, error }] of (database?.queries ?? []).entries()) {
      // A driver that refuses it says so.
      if (error !== null) continue;
      for (const { name, value, type } of bindings) {
        const word = type === undefined || type === 'date' ? missingIn(value) : null;
        if (word === null || receivedFields(request).some((one) => one.value === value)) continue;
        const query = database?.queries[index];
        const label = database === undefined || query === undefined ? '' : labelOf(database, query);
        return [
          {
            broke: 'unseen',
            severity: 'bad',
            sentence: `${label} was given “${word}” for ${excerpt(name, 60)}`,
            panel: 'database',
            anchor: rowOf(index),
            place: caller,
          },
        ];
      }
    }
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

/** Fields of the body at its first level that have a value. */
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

function isWrite(database: Kept['database'], query: Query): boolean {
  const verb = readOf(database, query)?.verb;
  return verb === 'insert' || verb === 'update';
}

/** A field of the body, and the column that got NULL where a field of this or a similar name is used. */
function lostField(request: KeptRequest, database: Kept['database']) {
  const fields = fieldsOf(request);
  for (const [index, query] of database.queries.entries()) {
    if (query.error !== null || !isWrite(database, query)) continue;
    const bound = new Set(query.bindings.map(({ name }) => sameName(name)));
    for (const { name, value, type } of query.bindings) {
      if ((value !== null && type !== 'undefined') || name.startsWith('$')) continue;
      const field = fields.find(
        (one) =>
          isNear(one.name, name) && (sameName(one.name) === sameName(name) || !bound.has(sameName(one.name))),
      );
      if (field !== undefined && !isBound(database, field.value))
        return { field, column: name, query, index };
    }
  }
  return null;
}

function isBound({ queries, statements }: Kept['database'], value: Value): boolean {
  return queries.some(
    ({ bindings, statement }) =>
      bindings.some((binding) => changeOf(value, leafOf(binding.value), true) !== 'value') ||
      (typeof value === 'string' && (statements[statement]?.sql.includes(value) ?? false)),
  );
}

function leafOf(value: Json): Value {
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

/** An object of the response that is what was written: it has an id, or several of the fields that were received. */
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
function ignoredField(request: KeptRequest, database: Kept['database'] | undefined): Field | null {
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

const fieldLost: FindingRule<Given> = {
  name: 'field-lost',
  needs: ['request'],
  labels: ['field lost'],
  why: 'A field of the body was received; a write bound NULL for the column of this or a similar name, or no statement has it and the response has another value.',
  fix: 'Compare the names of client, handler and table letter by letter (`unitPrice`, `unit_price`). Validate the body, and refuse fields that are not known.',
  find({ request, database, routing }, { method, status }) {
    if (status === null || status < 200 || status >= 400 || method === 'GET' || method === 'HEAD') return [];
    const lost = database === undefined ? null : lostField(request, database);
    if (lost !== null && database !== undefined) {
      const { field, column, query, index } = lost;
      const sentence = `The body has ${excerpt(field.name, 60)}, but ${labelOf(database, query)} got NULL for ${excerpt(column, 60)}`;
      return [draftAt({ query, index }, sentence, 'bad')];
    }
    const ignored = ignoredField(request, database);
    if (ignored === null) return [];
    const stored = database === undefined ? '' : ' no statement has it, and';
    return [
      {
        broke: 'unseen',
        severity: method === 'POST' ? 'info' : 'warn',
        sentence: `The body has ${excerpt(ignored.name, 60)}:${stored} the response has another value`,
        anchor: 'response',
        place: routing?.route?.source,
      },
    ];
  },
};

/** Aggregates that drivers return as texts, because a number may not hold them. */
const AS_TEXT: Readonly<Record<string, RegExp>> = {
  postgresql: /^(?:count|sum|avg)$/,
  mysql: /^(?:sum|avg)$/,
};
const NUMBER = /^-?\d+(?:\.\d+)?$/;

const numberAsText: FindingRule<Needs<'request' | 'database', 'routing'>> = {
  name: 'number-as-text',
  needs: ['request', 'database'],
  labels: ['number as text'],
  why: 'A statement computes a count, sum or average, which the driver returns as text because a number may not hold it, and the response has it as text.',
  fix: 'Convert it (`Number(row.count)`, `count(*)::int`), or register a parser with the driver. In JavaScript `"9" + 1` is `"91"`, and texts sort as `"10" < "9"`.',
  find({ request, database, routing }, { status }) {
    const { response } = request;
    if (status !== 200 || !/\bjson\b/i.test(response?.contentType ?? '')) return [];
    for (const query of database.queries) {
      const { system = '' } = database.statements[query.statement] ?? {};
      const asText = AS_TEXT[system];
      if (asText === undefined || query.error !== null) continue;
      const names = aggregatesOf(sqlOf(database, query), system).flatMap(({ by, name }) =>
        asText.test(by) ? [name] : [],
      );
      if (names.length === 0) continue;
      const leaf = leavesOf(parseBeginning(response?.text ?? '')?.value ?? null).find(
        ({ name, value }) => names.includes(name) && typeof value === 'string' && NUMBER.test(value),
      );
      if (leaf === undefined) continue;
      const sentence = `${excerpt(leaf.path, 60)} was sent as a text: ${labelOf(database, query)} computes it, and the driver returns such numbers as text`;
      return [
        {
          severity: 'info',
          sentence,
          panel: 'request',
          anchor: 'response',
          place: query.caller ?? routing?.route?.source,
        },
      ];
    }
    return [];
  },
};

/** Of a field that is the sum of others. */
const OF_SUM = /total|sum|amount|gross|balance/i;
/** `{ limit: "12", offset: 0, total: "120" }` is no sum. */
const OF_PAGES = /^(?:page|limit|offset|skip|per|size|count)/i;

/** Two numbers that were added, of which one is a text: the result has two points, or the name of a sum. */
function joinedNumbers(object: Record<string, Json>): { name: string; parts: string[] } | null {
  const numbers = Object.entries(object).filter(
    (entry): entry is [string, string | number] =>
      typeof entry[1] === 'number' || (typeof entry[1] === 'string' && NUMBER.test(entry[1])),
  );
  for (const [name, value] of Object.entries(object)) {
    if (typeof value !== 'string' || !/^-?\d+(?:\.\d+){0,2}$/.test(value)) continue;
    const hasTwoPoints = /\..*\./.test(value);
    if (!hasTwoPoints && !OF_SUM.test(name)) continue;
    const parts = hasTwoPoints ? numbers : numbers.filter(([part]) => !OF_PAGES.test(part));
    for (const [one, first] of parts) {
      const other = parts.find(
        ([own, second]) =>
          own !== one && (hasTwoPoints || typeof first !== typeof second) && `${first}${second}` === value,
      )?.[0];
      if (other !== undefined) return { name, parts: [one, other] };
    }
  }
  return null;
}

function objectsIn(value: Json, depth = 0): Record<string, Json>[] {
  if (depth > 4 || typeof value !== 'object' || value === null) return [];
  const parts = Object.values(value).flatMap((part) => objectsIn(part, depth + 1));
  return isRecord(value) ? [value, ...parts] : parts;
}

const numbersJoined: FindingRule<Given> = {
  name: 'numbers-joined',
  needs: ['request'],
  labels: ['joined numbers'],
  why: 'A text of the response is two numbers of the same object, one of them a text, written one behind the other; it has two decimal points, or its name is that of a sum.',
  fix: 'Convert both before you add them (`Number(row.price) + Number(row.shipping)`), or count in cents: drivers return `numeric` and `decimal` as text.',
  find({ request, routing, database }) {
    for (const object of objectsIn(parseBeginning(request.response?.text ?? '')?.value ?? null)) {
      const found = joinedNumbers(object);
      if (found === null) continue;
      const [one = '', other = ''] = found.parts.map((part) => excerpt(part, 40));
      const sentence = `${excerpt(found.name, 40)} was sent as the texts of ${one} and ${other}, one behind the other: they were joined, not added`;
      const place = routing?.route?.source ?? database?.queries[0]?.caller;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: 'response', place }];
    }
    return [];
  },
};

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** The weekday in UTC of the one date of this name in the response; null if it has none, or several. */
function sentWeekday(
  leaves: readonly Leaf[],
  column: string,
): { name: string; weekday: number; isMoment: boolean } | null {
  const [leaf, ...others] = leaves.filter(({ name }) => sameName(name) === sameName(column));
  if (leaf === undefined || others.length > 0 || typeof leaf.value !== 'string') return null;
  const [, day] = DAY.exec(leaf.value) ?? MOMENT.exec(leaf.value) ?? [];
  if (day === undefined) return null;
  return { name: leaf.name, weekday: new Date(day).getUTCDay(), isMoment: !DAY.test(leaf.value) };
}

const dayMoved: FindingRule<Needs<'request' | 'database', 'routing'>> = {
  name: 'day-moved',
  needs: ['request', 'database'],
  labels: ['day moved'],
  why: 'A statement read one row with a DATE, and the response has it under the same name, but on the day of the week before.',
  fix: 'Keep dates without a time as text: `types.setTypeParser(1082, String)` of `pg`. It makes them a local midnight, which `toISOString()` and JSON write in UTC: east of Greenwich that is the day before.',
  find({ request, database, routing }) {
    const leaves = leavesOf(parseBeginning(request.response?.text ?? '')?.value ?? null);
    const days = database.queries.flatMap(({ weekdays }, index) =>
      Object.entries(weekdays ?? {}).map(([column, weekday]) => ({ column, weekday, index })),
    );
    for (const { column, weekday, index } of days) {
      const sent = sentWeekday(leaves, column);
      const isOnly = days.every((one) => one.column !== column || one.weekday === weekday);
      const query = database.queries[index];
      if (sent === null || query === undefined || !isOnly || (sent.weekday + 1) % 7 !== weekday) continue;
      const as = sent.isMoment ? 'a moment of' : 'a';
      const how = sent.isMoment
        ? 'only clients in the time zone of this server get the day back'
        : 'a local midnight was written in UTC, which is the day before';
      const sentence = `${excerpt(sent.name, 40)} was sent as ${as} ${WEEKDAYS[sent.weekday] ?? ''}, but ${labelOf(database, query)} read a ${WEEKDAYS[weekday] ?? ''}: ${how}`;
      const place = routing?.route?.source ?? query.caller;
      const broke = sent.isMoment ? {} : ({ broke: 'response' } as const);
      const severity = sent.isMoment ? 'info' : 'bad';
      return [{ ...broke, severity, sentence, anchor: 'response', place }];
    }
    return [];
  },
};

/** People write them with capitals, and nobody stores them so. */
const ANY_CASE = /mail|user|login|slug|search|^q$/i;

const caseChanged: FindingRule<Needs<'request' | 'database'>> = {
  name: 'case-changed',
  needs: ['request', 'database'],
  labels: ['other letters'],
  why: 'A value was received and bound with other capital letters, the statement compares it by `=`, and found nothing.',
  fix: 'Bind the value as the column has it, or compare both in one form (`where lower(status) = lower($1)`). Refuse a value that is none of the known ones.',
  find({ request, database }, { status }) {
    if (status === null || status >= 300) return [];
    return compareValues({ request, database }).flatMap(({ name, bound }): FindingDraft[] => {
      const at = bound.find(({ change }) => change === 'case')?.query;
      const query = database.queries[at ?? -1];
      if (at === undefined || query?.rows !== 0 || ANY_CASE.test(name)) return [];
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

export const valueRules: readonly FindingRule[] = [
  valueChanged,
  notAValue,
  fieldLost,
  numberAsText,
  numbersJoined,
  dayMoved,
  caseChanged,
];
