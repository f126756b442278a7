/** Amounts of which a conversion lost a cent, or all behind a decimal comma. */
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { leavesOf, type Leaf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Json } from '../profiler/json.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { callName } from './shared/calls.ts';
import type { Call, Needs, Rule } from './shared/kept.ts';
import { draftAt, isWrite, labelOf, readsOf } from './shared/queries.ts';
import { excerpt } from './shared/wording.ts';

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

export const amountRules: readonly Rule[] = [centLost, commaLost];
