/** Values that changed on their way from the request to a statement or to the response. Sentences have names, never values. */
import type { KeptRequest } from '../panels/request/data.ts';
import { compareValues, type FieldAt, sameName } from '../panels/shared/compare-values.ts';
import { type Leaf, leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import type { Kept, Needs } from './shared/kept.ts';
import { draftAt, isWrite, labelOf, readOf, readsOf } from './shared/queries.ts';
import { excerpt } from './shared/wording.ts';

type Value = Leaf['value'];

const DAY = /^(\d{4}-\d\d-\d\d)$/;
const MOMENT = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d/;
/** Digits that a number of JavaScript holds for certain. */
const EXACT_DIGITS = 15;

/** How a value was changed, as a clause; null if nothing is known to have gone wrong. */
export function mishap(before: Value, after: Value): string | null {
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

type Database = Kept['database'];
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

const NUMBER = /^-?\d+(?:\.\d+)?$/;
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

/** Received numbers with one or two decimals. */
function amountsIn(request: KeptRequest): { name: string; cents: number; cut: number }[] {
  return receivedFields(request).flatMap(({ name, value }) => {
    if (!/^\d{1,9}\.\d{1,2}$/.test(String(value))) return [];
    const times = Number(value) * 100;
    const [cents, cut] = [Math.round(times), Math.trunc(times)];
    return cents === cut ? [] : [{ name, cents, cut }];
  });
}

const centLost: FindingRule<Needs<'database' | 'request'>> = {
  name: 'cent-lost',
  needs: ['database', 'request'],
  labels: ['cent lost'],
  why: 'An amount with decimals was received, and a write bound 100 times as much, cut off at the decimal point: one less than the rounded number.',
  fix: 'Round: `Math.round(amount * 100)`. In floating point, 19.99 × 100 is 1998.9999999999998. `Math.trunc`, `Math.floor`, `parseInt` and `| 0` cut it to 1998.',
  find({ database, request }) {
    const amounts = amountsIn(request);
    if (amounts.length === 0) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      if (!isWrite(one)) return [];
      for (const { name, value } of one.query.bindings) {
        const amount = amounts.find(({ cut }) => value === cut);
        if (amount === undefined || amounts.some(({ cents }) => value === cents)) continue;
        const sentence = `${labelOf(database, one.query)} got one less for ${excerpt(name, 40)} than ${excerpt(amount.name, 40)} × 100: its product in floating point was cut off, not rounded`;
        return [draftAt(one, sentence, 'bad')];
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

const falseAsTrue: FindingRule<Needs<'database' | 'request', 'routing'>> = {
  name: 'false-as-true',
  needs: ['database', 'request'],
  labels: ['false as true'],
  why: 'A parameter of the query says no, the statements and their values are those of an earlier request in which it says yes, and without it a statement is another one.',
  fix: 'Compare the text (`req.query.archived === "true"`): a parameter is a text, and every text except the empty one is true. `"false"` and `"0"` are true in `if` and `Boolean(…)`.',
  compares: ({ request }) => request.query.some(({ value }) => FALSE.test(value)),
  find({ database, request, routing }, _head, { earlier }) {
    const own = askedBy(database);
    const others = earlier.flatMap(({ head, kept }) =>
      kept.request === undefined || kept.database === undefined
        ? []
        : [
            {
              token: head.token,
              request: kept.request as KeptRequest,
              ...askedBy(kept.database as Database),
            },
          ],
    );
    return request.query.flatMap(({ name, value }): FindingDraft[] => {
      if (!FALSE.test(value) || (value === '0' && OF_NUMBER.test(name))) return [];
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
      const to = /^\w+\.\w+$/.test(handler) ? ` to ${handler}` : '';
      const sentence = `${excerpt(name, 40)} says no${to}, but ${labelOf(database, query)} is the same as in an earlier request (${yes.token}) in which it says yes, and another one without it: its text seems to be taken for true`;
      return [draftAt({ query, index }, sentence, 'bad')];
    });
  },
};

export const valueRules: readonly FindingRule[] = [
  valueChanged,
  numbersJoined,
  dayMoved,
  centLost,
  falseAsTrue,
  caseChanged,
];
