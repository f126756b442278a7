/**
 * The same field in three places: received, bound to a statement, sent. A pure function of what the panels of the request and the
 * database store. Masked values are compared by their marks, so only names may be said of them.
 */
import { addTo } from '../../profiler/group-by.ts';
import { isMasked, maskedType } from '../../profiler/masking/redact.ts';
import type { DatabaseQuery } from '../database/data.ts';
import type { Response } from '../request/data.ts';
import { type Leaf, leavesOf, parseBeginning } from './json-leaves.ts';
import { receivedFields, type ReceivedRecord } from './received.ts';
import { isRead } from './statements.ts';
import { commonEnds } from '../../profiler/common-ends.ts';
import { CUT_NOTE } from '../../profiler/record/plain.ts';

export interface FieldAt {
  /** `path id`, `query page`, `form quantity`, `body lines.0.quantity`; of a statement the column; of the response the path. */
  field: string;
  value: Leaf['value'];
  isMasked: boolean;
  query?: number;
}

/** `value`: another one. `type`: the same with another type. `case`: only letters' case or spaces around it differ. */
export type Change = 'value' | 'type' | 'case';

export interface ComparedValue {
  name: string;
  received: FieldAt & { /** Text by nature, such as a parameter: its type says nothing. */ isText: boolean };
  bound: (FieldAt & { change: Change | null })[];
  sent: (FieldAt & { change: Change | null })[];
  change: Change | null;
  isDerived: boolean;
  places: string[];
}

export interface ComparedRecord {
  request?:
    | (ReceivedRecord & { response?: Pick<Response, 'contentType' | 'text'> | null | undefined })
    | null
    | undefined;
  database?:
    | {
        queries: readonly (Pick<DatabaseQuery, 'bindings' | 'caller'> &
          Partial<Pick<DatabaseQuery, 'rows' | 'statement'>>)[];
        statements?: readonly { sql: string }[];
      }
    | null
    | undefined;
}

/** Many things have a field of this name: without more, an equal name says nothing. */
const GENERIC =
  /^(?:id|uuid|name|type|kind|status|state|key|value|values|code|url|date|time|title|text|message|error|data|count|total|limit|offset|page|size|sort|order|token|hash|salt|created|updated|createdat|updatedat|version|revision)$/;
/** Stored in another form on purpose. */
const SECRET = /passw|secret|pwd|pin$|salt|hash|token|signature/;
const MOST_FIELDS = 200;

export function sameName(name: string): string {
  return name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();
}

/** `1,249.50`, `1.249,50` and `1249,50`, as people write them. */
const GROUPED = /^([+-]?[1-9]\d{0,2}(?:([.,'’ \u00a0\u202f])\d{3})(?:\2\d{3})*)(?:(?!\2)[.,](\d+))?$/;
const DECIMAL = /^([+-]?(?:0|[1-9]\d*))()[.,](\d+)$/;

function isWrittenNumber(text: string, number: number): boolean {
  return [GROUPED, DECIMAL].some((pattern) => {
    const [found, whole = '', , decimals = '0'] = pattern.exec(text) ?? [];
    const plain = whole.replace(/[^\d+-]/g, '');
    return found !== undefined && plain.length < 13 && Number(`${plain}.${decimals}`) === number;
  });
}

function isSameNumber(text: string, number: number): boolean {
  if (isWrittenNumber(text, number)) return true;
  if (!/^[+-]?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) || Number(text) !== number) return false;
  return text.replace(/\D/g, '').length <= 15;
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true, false: false, '1': true, '0': false, on: true, off: false, yes: true, no: false,
}; // prettier-ignore

const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d|$)/;

function areSameTime(a: string, b: string): boolean {
  if (!DATE.test(a) || !DATE.test(b)) return false;
  return Date.parse(a) === Date.parse(b);
}

/** `2` of `2026-02`: the value was built from it. */
function isPartOf(number: string, value: string): boolean {
  if (!/^\d{1,4}$/.test(number) || !/^\d{4}-\d\d(?:-\d\d)?$/.test(value)) return false;
  return value.split('-').some((part) => Number(part) === Number(number));
}

/** A text and a value of another type that means the same. */
function meansSame(text: string, value: Leaf['value']): boolean {
  if (typeof value === 'number') return isSameNumber(text.trim(), value) || BOOLEANS[text] === (value === 1);
  if (typeof value === 'boolean') return BOOLEANS[text.toLowerCase()] === value;
  if (value === null) return text.trim() === '';
  return areSameTime(text, value) || value.replace(/^%|%$/g, '') === text || isPartOf(text.trim(), value);
}

/** Marks say whether two values are equal if both are of one type; of a text that was cut, nothing is known. */
function areComparable(before: Leaf['value'], after: Leaf['value']): boolean {
  const texts = [before, after].filter((value) => typeof value === 'string');
  if (texts.some((text) => CUT_NOTE.test(text))) return false;
  const types = texts.filter(isMasked).map(maskedType);
  if (types.length === 0) return true;
  return types.length === 2 && types[0] !== null && types[0] === types[1];
}

export function changeOf(before: Leaf['value'], after: Leaf['value'], isText: boolean): Change | null {
  if (before === after || !areComparable(before, after)) return null;
  if (typeof before === 'string' && typeof after === 'string') {
    if (before.trim().toLowerCase() === after.trim().toLowerCase()) return 'case';
    return meansSame(before, after) ? null : 'value';
  }
  if (typeof before === 'string') return meansSame(before, after) ? (isText ? null : 'type') : 'value';
  if (typeof after === 'string') return meansSame(after, before) ? 'type' : 'value';
  if (typeof before === 'boolean' && typeof after === 'number')
    return Number(before) === after ? null : 'value';
  return 'value';
}

/** The value may have been made from the received one: its beginning, its digits, its number, its truth. */
function isMadeFrom(before: Leaf['value'], after: Leaf['value']): boolean {
  if (typeof after === 'boolean') return typeof before === 'string' && before.toLowerCase() in BOOLEANS;
  if (typeof before === 'number' && typeof after === 'number')
    return Math.trunc(before) === after || Math.round(before) === after || Math.floor(before) === after;
  if (typeof before !== 'string' || after === null) return false;
  if (typeof after === 'number') {
    const digits = before.replace(/[^\d.,-]/g, '');
    if (digits === '' || !/^[\s\d.,+\-€$£%]/.test(before)) return false;
    const readings = [
      parseInt(before),
      parseFloat(before),
      Number(before),
      Number(digits.replace(/[.,]/g, '')),
    ];
    return readings.includes(after) || Math.round(Number(before)) === after;
  }
  if (DATE.test(before) && DATE.test(after))
    return Math.abs(Date.parse(before) - Date.parse(after)) <= 48 * 3_600_000;
  const [a, b] = [before.trim(), after.trim()];
  if (/^\d{16,}$/.test(a) && String(Number(a)) === b) return true;
  return b.length > 2 && b.length < a.length && a.startsWith(b);
}

/** Where a response says what is wrong with a field. */
const OF_ERRORS = /(?:^|\.)(?:errors?|issues|violations|messages?|details)\.(?:.*\.)?[^.]+$/i;

/** `Aa 0`: the kinds of its characters. */
function shapeOf(text: string): string {
  return text
    .replace(/\p{Ll}+/gu, 'a')
    .replace(/\p{Lu}+/gu, 'A')
    .replace(/\d+/g, '0');
}

/** A text that was sent for a received key or code, or about it: its label, or a message. */
function isSaidOf(before: Leaf['value'], { value, field, isMasked: hidden }: FieldAt): boolean {
  if (typeof value !== 'string' || hidden || !/\p{L}{2}/u.test(value)) return false;
  if (OF_ERRORS.test(field) || typeof before !== 'string') return true;
  if (isMadeFrom(before, value) || shapeOf(before) === shapeOf(value)) return false;
  const [start, end] = commonEnds(before, value);
  return (start + end) * 2 < Math.max(before.length, value.length);
}

type Received = ComparedValue['received'] & { name: string };

function receivedOf(request: ReceivedRecord): Received[] {
  return receivedFields(request)
    .slice(0, MOST_FIELDS)
    .map(({ name, from, path, value }) => ({
      name,
      field: `${from} ${path}`,
      value,
      isMasked: typeof value === 'string' && isMasked(value),
      isText: from !== 'body',
    }));
}

function add<Item>(map: Map<string, Item[]>, name: string, item: Item): void {
  const key = sameName(name);
  if (key !== '') addTo(map, key, item);
}

function boundOf({
  queries,
}: NonNullable<ComparedRecord['database']>): Map<string, (FieldAt & { place: string | null })[]> {
  const bound = new Map<string, (FieldAt & { place: string | null })[]>();
  queries.forEach(({ bindings, caller }, query) => {
    for (const { name, value, type } of bindings) {
      if (name.startsWith('$') || name === '…' || type === 'bytes') continue;
      if (typeof value === 'object' && value !== null) continue;
      const known = type === 'undefined' ? null : type === 'bigint' ? String(value).replace(/n$/, '') : value;
      add(bound, name, {
        field: name,
        value: known,
        isMasked: typeof known === 'string' && isMasked(known),
        query,
        place: caller,
      });
    }
  });
  return bound;
}

/** Texts by which a read found a row: another text of the same name is what the row says, such as the name of a code. */
function lookedUpIn(database: ComparedRecord['database']): Set<unknown> {
  const { queries = [], statements = [] } = database ?? {};
  const found = queries.filter(
    ({ rows, statement = -1 }) => (rows ?? 0) > 0 && isRead(statements[statement]?.sql ?? ''),
  );
  const values = found.flatMap(({ bindings }) => bindings.map(({ value }) => value));
  return new Set(values.filter((value) => typeof value === 'string'));
}

function sentOf(response: NonNullable<ComparedRecord['request']>['response']): Map<string, FieldAt[]> {
  const sent = new Map<string, FieldAt[]>();
  const isJson = /\bjson\b/i.test(response?.contentType ?? '');
  const parsed = isJson ? parseBeginning(response?.text ?? '') : undefined;
  for (const { name, path, value } of parsed === undefined ? [] : leavesOf(parsed.value))
    add(sent, name, { field: path, value, isMasked: typeof value === 'string' && isMasked(value) });
  return sent;
}

/** In one place: without a value that is as received, and with one other. Several others are a list, of which nothing follows. */
function changesIn<Item extends FieldAt>(
  items: readonly Item[],
  received: Received,
): (Item & { change: Change | null })[] {
  const compared = items.map((item) => ({
    ...item,
    change: changeOf(received.value, item.value, received.isText),
  }));
  if (compared.some(({ change }) => change === null)) return compared.filter(({ change }) => change === null);
  return new Set(compared.map(({ value }) => value)).size === 1 ? compared : [];
}

const WEIGHT: Record<Change, number> = { value: 3, type: 2, case: 1 };

/** Fields that were received once, and bound or sent under the same name. */
export function compareValues({ request, database }: ComparedRecord): ComparedValue[] {
  if (request === undefined || request === null) return [];
  const byName = new Map<string, Received[]>();
  for (const field of receivedOf(request)) add(byName, field.name, field);
  const bound = database === undefined || database === null ? new Map<string, never[]>() : boundOf(database);
  const sent = sentOf(request.response);
  const lookedUp = lookedUpIn(database);
  return [...byName].flatMap(([key, fields]): ComparedValue[] => {
    const [received] = fields;
    if (received === undefined || fields.some(({ value }) => value !== received.value) || SECRET.test(key))
      return [];
    const inBound = changesIn(bound.get(key) ?? [], received);
    const inSent = changesIn(sent.get(key) ?? [], received).filter(
      (at) =>
        at.change !== 'value' ||
        typeof at.value !== 'string' ||
        !(lookedUp.has(received.value) || isSaidOf(received.value, at)),
    );
    const changed = [...inBound, ...inSent].filter(({ change }) => change !== null);
    const isDerived = changed.every(
      (at) =>
        at.change !== 'value' || (!at.isMasked && !received.isMasked && isMadeFrom(received.value, at.value)),
    );
    const isPlain = !GENERIC.test(key) || isDerived;
    if (inBound.length + inSent.length === 0 || (changed.length > 0 && !isPlain)) return [];
    const [worst] = changed.toSorted((a, b) => WEIGHT[b.change ?? 'case'] - WEIGHT[a.change ?? 'case']);
    const { name, ...at } = received;
    return [
      {
        name,
        received: at,
        bound: inBound.map(({ place: _place, ...item }) => item),
        sent: inSent,
        change: worst?.change ?? null,
        isDerived: changed.length > 0 && isDerived,
        places: [...new Set(inBound.flatMap(({ place }) => place ?? []))],
      },
    ];
  });
}
