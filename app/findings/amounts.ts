/** Amounts of which a conversion lost a cent, or all behind a decimal comma, and shares that don't add up. */
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { leavesOf, type Leaf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { insertedRows } from '../panels/shared/last-writer.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { groupBy } from '../profiler/group-by.ts';
import type { Json } from '../profiler/json.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { callName } from './shared/calls.ts';
import { routeValues } from './shared/conditions.ts';
import type { Call, Kept, Needs, OtherRequest, Rule } from './shared/kept.ts';
import { draftAt, isWrite, labelOf, type Read, readsOf, sqlOf, tablesOf } from './shared/queries.ts';
import { bracketed, excerpt, requestText } from './shared/wording.ts';

const NUMBER = /^-?\d+(?:\.\d+)?$/;

function amountsIn(request: KeptRequest): { name: string; cents: number; cut: number }[] {
  return receivedFields(request).flatMap(({ name, value }) => {
    if (!/^\d{1,9}\.\d{1,2}$/.test(String(value))) return [];
    const times = Number(value) * 100;
    const [cents, cut] = [Math.round(times), Math.trunc(times)];
    return cents === cut ? [] : [{ name, cents, cut }];
  });
}

function numbersOf({ requestBody, requestHeaders }: Call): { name: string; value: number }[] {
  const text = requestBody?.text ?? '';
  const json = parseBeginning(text);
  const isForm = namedHeader(requestHeaders, 'content-type')?.includes('urlencoded') === true;
  const pairs: { name: string; value: Leaf['value'] }[] =
    json === undefined
      ? isForm
        ? Array.from(new URLSearchParams(text), ([name, value]) => ({ name, value }))
        : []
      : leavesOf(json.value);
  return pairs.flatMap(({ name, value }) =>
    NUMBER.test(String(value)) ? [{ name, value: Number(value) }] : [],
  );
}

const centLost: Rule<Needs<'request', 'database' | 'http_client'>> = {
  name: 'cent-lost',
  needs: ['request'],
  labels: ['cent lost'],
  why: 'An amount with decimals was received, and a write bound or a call sent 100 times as much, cut off at the decimal point: one less than the rounded number.',
  fix: 'Round: `Math.round(amount * 100)`. In floating point, 19.99 × 100 is 1998.9999999999998. `Math.trunc`, `Math.floor`, `parseInt` and `| 0` cut it to 1998.',
  find({ request, database, http_client: client }) {
    const amounts = amountsIn(request);
    if (amounts.length === 0) return [];
    const cutIn = (numbers: readonly { name: string; value: Json }[]) => {
      const has = (number: number) => numbers.find(({ value }) => value === number);
      const amount = amounts.find(({ cut, cents }) => has(cut) !== undefined && has(cents) === undefined);
      return amount === undefined
        ? undefined
        : `got one less for ${excerpt(has(amount.cut)?.name ?? '', 40)} than ${excerpt(amount.name, 40)} × 100: its product in floating point was cut off, not rounded`;
    };
    const written = readsOf(database).flatMap((one): FindingDraft[] => {
      const what = isWrite(one) ? cutIn(one.query.bindings) : undefined;
      return what === undefined || database === undefined
        ? []
        : [draftAt(one, `${labelOf(database, one.query)} ${what}`, 'bad')];
    });
    const called = (client?.calls ?? []).flatMap((call, index): FindingDraft[] => {
      const what = cutIn(numbersOf(call));
      if (what === undefined) return [];
      const at = { panel: 'http_client', anchor: `c${index + 1}`, place: call.caller };
      return [{ broke: 'unseen', severity: 'bad', sentence: `${callName(call)} ${what}`, ...at }];
    });
    return [...written, ...called];
  },
};

/** `21,50` and `1.249,00`: a comma before one or two digits at the end separates decimals. */
const WITH_COMMA = /^(?:[€$£]\s?)?(-?\d{1,3}(?:[.'’\s]\d{3})+|-?\d{1,9}),(\d{1,2})(?:\s?[€$£%])?$/;
const OF_MONEY = /cent|minor|amount|price|cost|total|sum|fee/i;

interface CommaText {
  name: string;
  text: string;
  number: number;
  /** What `parseFloat` makes of it. */
  cut: number;
  decimals: number;
}

function commaTexts(request: KeptRequest): CommaText[] {
  return receivedFields(request).flatMap(({ name, value }): CommaText[] => {
    const text = typeof value === 'string' ? value.trim() : '';
    const [, whole = '', decimals] = WITH_COMMA.exec(text) ?? [];
    if (decimals === undefined) return [];
    const number = Number(`${whole.replace(/[^\d-]/g, '')}.${decimals}`);
    const cut = parseFloat(text.replace(/[€$£\s]/g, ''));
    return cut === number ? [] : [{ name, text, number, cut, decimals: Number(decimals) }];
  });
}

/** The number under the name of the text, or 100 times of it under that of an amount. */
function commaLostIn(texts: readonly CommaText[], given: readonly { name: string; value: Json }[]) {
  const numbers = given.flatMap(({ name, value }) => {
    const isNumber = typeof value === 'number' || (typeof value === 'string' && NUMBER.test(value));
    return isNumber ? [{ name, value: Number(value) }] : [];
  });
  const has = (value: number): boolean => numbers.some((one) => one.value === value);
  return texts.flatMap(({ name, text, number, cut, decimals }) => {
    // Both numbers of a list or of a range are given.
    if (has(number) || has(Math.round(number * 100)) || has(decimals)) return [];
    const cents = [Math.round(cut * 100), Math.trunc(cut * 100)];
    const found = numbers.find(
      (one) =>
        (one.value === cut && sameName(one.name) === sameName(name)) ||
        (cents.includes(one.value) && OF_MONEY.test(one.name)),
    );
    if (found === undefined) return [];
    const right = found.value === cut ? number : Math.round(number * 100);
    return [
      `got ${found.value} for ${excerpt(found.name, 40)}, not ${right}: ${excerpt(name, 40)} was received as “${excerpt(text, 30)}”, and parseFloat knows no decimal comma`,
    ];
  })[0];
}

const commaLost: Rule<Needs<'request', 'database' | 'http_client'>> = {
  name: 'comma-lost',
  needs: ['request'],
  labels: ['comma lost'],
  why: 'A text with a decimal comma was received. A statement or a call got the number that `parseFloat` reads up to the comma, under its name, or 100 times of it for an amount. The right number was not in it.',
  fix: 'Take the points out and replace the comma before you convert: `Number(text.replaceAll(".", "").replace(",", "."))`. Refuse a text that has another form with 422, rather than to read its beginning.',
  explains: ['value-changed'],
  find({ request, database, http_client: client }) {
    const texts = commaTexts(request);
    if (texts.length === 0) return [];
    const bound = readsOf(database).flatMap((one): FindingDraft[] => {
      const what = commaLostIn(texts, one.query.bindings);
      if (what === undefined || database === undefined) return [];
      return [draftAt(one, `${labelOf(database, one.query)} ${what}`, 'bad')];
    });
    const called = (client?.calls ?? []).flatMap((call, index): FindingDraft[] => {
      const what = commaLostIn(texts, numbersOf(call));
      if (what === undefined) return [];
      const at = { panel: 'http_client', anchor: `c${index + 1}`, place: call.caller };
      return [{ broke: 'unseen', severity: 'bad', sentence: `${callName(call)} ${what}`, ...at }];
    });
    return [...bound.slice(0, 1), ...called.slice(0, 1)];
  },
};

const OF_SHARE = new RegExp(`${OF_MONEY.source}|share|portion|part|due|owe|paid|value|balance`, 'i');
const OF_REMAINDER = /round|rest|remain|diff|adjust|carry|left/i;
/** Below, a share is no amount of money. */
const LEAST_SHARE = 10;
const MOST_NUMBERS = 5000;

interface Numbers {
  name: string;
  values: number[];
}

interface Shares extends Numbers {
  one: Read | null;
}

function numbersIn(value: Json): { name: string; path: string; value: number }[] {
  return leavesOf(value, MOST_NUMBERS).flatMap((leaf) =>
    NUMBER.test(String(leaf.value)) ? [{ ...leaf, value: Number(leaf.value) }] : [],
  );
}

/** The numbers of one name in a list of objects, or of one object (`{ Ana: 2, Bo: 1 }`). */
function listsIn(value: Json, pathOf: RegExp): Numbers[] {
  const groups = groupBy(numbersIn(value), ({ path }) => path.replace(pathOf, '*'));
  return Array.from(groups.values(), (all) => ({
    name: all[0]?.name ?? '',
    values: all.map((one) => one.value),
  })).filter(({ values }) => values.length > 1);
}

const INDEX = /(?<=^|\.)\d+(?=\.|$)/g;
const MEMBER = /[^.]+$/;

/** Of each table that rows were inserted into, and of the lists of the response. */
function sharesIn({ database, request }: Given): Shares[] {
  const inserts = readsOf(database).filter(({ read, query }) => read.verb === 'insert' && query.rows !== 0);
  const written = [...groupBy(inserts, ({ read }) => read.table).values()].flatMap((of) => {
    const rows = of.flatMap(({ query }) => insertedRows(query.bindings));
    const values = rows.map((row) => Object.fromEntries(row.map(({ name, value }) => [name, value])));
    return listsIn(values, INDEX).map((list) => ({ ...list, one: of.at(-1) ?? null }));
  });
  const sent = listsIn(parseBeginning(request.response?.text ?? '')?.value ?? null, INDEX);
  return [...written, ...sent.map((list) => ({ ...list, one: null }))].filter(({ name }) =>
    OF_SHARE.test(name),
  );
}

/** Whether each is its part of the total, rounded by itself: equal parts, or by the numbers of a list. */
function areShares(shares: readonly number[], total: number, lists: readonly Numbers[]): boolean {
  const sorted = shares.toSorted((a, b) => a - b);
  return [{ values: shares.map(() => 1) }, ...lists].some(({ values }) => {
    const sum = values.reduce((all, one) => all + one, 0);
    const weights = values.toSorted((a, b) => a - b);
    return (
      values.length === shares.length &&
      sum > 0 &&
      weights.every((one, at) => Math.abs((sorted[at] ?? 0) - (total * one) / sum) < 1)
    );
  });
}

/** Shares of an amount that the request received or read, from which their sum differs by less than one for each. */
function unevenIn(kept: Given): (Shares & { text: string }) | undefined {
  const { request, database } = kept;
  const queries = database?.queries ?? [];
  const received = receivedFields(request).map(({ name, value }) => ({ [name]: value }));
  const given: Json = [received, request.body?.parsed ?? null, queries.map((query) => foundRows(query))];
  const known = numbersIn(given);
  const bound = queries.map(({ bindings }) => bindings.map(({ name, value }) => ({ [name]: value })));
  const all = [...known, ...numbersIn([bound, parseBeginning(request.response?.text ?? '')?.value ?? null])];
  for (const shares of sharesIn(kept)) {
    const { name, values } = shares;
    // Prices that add up to something are no shares.
    if (values.some((value) => known.some((one) => one.value === value))) continue;
    for (const total of known.filter((one) => OF_SHARE.test(one.name))) {
      const scale = [total.value, ...values].every(Number.isInteger) ? 1 : 100;
      const scaled = (value: number): number => Math.round(value * scale);
      const [whole, each] = [scaled(total.value), values.map(scaled)];
      const sum = each.reduce((before, one) => before + one, 0);
      const missing = whole - sum;
      if (missing === 0 || Math.abs(missing) >= each.length || whole < LEAST_SHARE * each.length) continue;
      const isSaid = all.some(
        (one) =>
          scaled(one.value) === sum ||
          (OF_REMAINDER.test(one.name) && Math.abs(scaled(one.value)) === Math.abs(missing)),
      );
      const lists = () => [...listsIn(given, INDEX), ...listsIn(given, MEMBER)];
      if (isSaid || !areShares(each, whole, lists())) continue;
      const shown = (value: number): string => (value / scale).toFixed(scale === 1 ? 0 : 2);
      const more = each.length > 4 ? ` + ${each.length - 4} more` : '';
      const rest =
        missing > 0 ? `${shown(missing)} is in none of them` : `they are ${shown(-missing)} too much`;
      const text = `${excerpt(name, 40)} ${each.slice(0, 4).map(shown).join(' + ')}${more} = ${shown(sum)} for ${excerpt(total.name, 40)} ${shown(whole)}: each was rounded by itself, and ${rest}`;
      return { ...shares, text };
    }
  }
  return undefined;
}

type Given = Pick<Kept, 'request'> & Partial<Kept>;

function sumsUp({ database }: Partial<Kept>): boolean {
  return database?.queries.some((query) => /\bsum\s*\(/i.test(sqlOf(database, query))) === true;
}

/** A sum over the table in which an earlier request of the same ids left such shares. */
function summedUneven({ request, database }: Given, siblings: readonly OtherRequest[]): FindingDraft[] {
  const ids = routeValues(request);
  for (const { head, kept } of database !== undefined && sumsUp({ database }) ? siblings : []) {
    const other = kept.request;
    if (other === undefined || ![...ids].every((id) => routeValues(other).has(id))) continue;
    const { one = null, text = '' } = unevenIn({ ...kept, request: other }) ?? {};
    const table = one?.read.table?.toLowerCase() ?? '';
    const summed = readsOf(database).find(
      ({ query }) => database !== undefined && tablesOf(database, query).has(table),
    );
    if (one === null || summed === undefined || database === undefined) continue;
    const sentence = `${labelOf(database, summed.query)} sums up what ${requestText(head)} wrote${bracketed(one.query.caller)}: ${text}`;
    return [{ ...draftAt(summed, sentence, 'bad'), broke: 'response', place: one.query.caller }];
  }
  return [];
}

const sharesRounded: Rule<Needs<'request', 'database' | 'routing'>> = {
  name: 'shares-rounded',
  needs: ['request'],
  labels: ['shares don’t add up'],
  why: 'Two or more amounts of one name were inserted into a table or sent in a list. Each is its part of an amount that was received or read, equal or by numbers that were, but the sum differs by less than one cent for each.',
  fix: 'Give the rest away: round all shares down, and add one cent to the first ones until the sum is right. Or compute the last one as the total less the others. Round once, and store whole cents.',
  relates: sumsUp,
  find(kept, _head, { siblings }) {
    const { database, routing } = kept;
    const uneven = unevenIn(kept);
    if (uneven !== undefined) {
      const { one, text } = uneven;
      if (one !== null && database !== undefined)
        return [draftAt(one, `${labelOf(database, one.query)} wrote ${text}`, 'bad')];
      const place = routing?.route?.source;
      return [
        {
          broke: 'response',
          severity: 'bad',
          sentence: `The response has ${text}`,
          anchor: 'response',
          place,
        },
      ];
    }
    return summedUneven(kept, siblings);
  },
};

export const amountRules: readonly Rule[] = [centLost, commaLost, sharesRounded];
