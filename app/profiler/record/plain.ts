/**
 * Live values -> plain JSON: log arguments, bindings, locals, error properties. Iterative, because deep recursion under
 * AsyncLocalStorage can end the process; limited in depth, width and length. Calls no getter and no toJSON of a recorded object, so
 * that recording never changes the application.
 */
import { types } from 'node:util';
import type { Json } from '../json.ts';
import { field, has, hasPrototype, isError, isObject, makerOf } from './safe-read.ts';
import { readWebObject } from './web-objects.ts';

export interface PlainLimits {
  depth: number;
  width: number;
  length: number;
  total: number;
  /** Lines of an error's stack; without it, errors have no stack. */
  stackOf?: (error: object) => string[];
  /** As it is sent, if that is another text than its JSON. */
  writeDate?: DateWriter | undefined;
  /** Longest bytes that are written, in hexadecimal; without it, only their number is. */
  bytes?: number;
}

export type DateWriter = (date: Date, isInObject: boolean) => string;

export const defaultPlainLimits: PlainLimits = { depth: 6, width: 100, length: 4096, total: 2000 };

/** Copied: in V8 a slice keeps the whole text alive. */
export function beginningOf(text: string, limit: number): string {
  return text.length <= limit ? text : ` ${text.slice(0, limit)}`.slice(1);
}

/** What `truncateText` appends; no part of the value. */
export const CUT_NOTE = /… \(\d+ more characters\)$/;

export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${beginningOf(text, limit)}… (${text.length - limit} more characters)`;
}

/** Of about 2,500 digits. */
const LARGEST_BIGINT = 2n ** 8192n;
export const UNDEFINED = '[undefined]';
const PROXY = '[Proxy, not read]';
const INVALID_DATE = '[invalid Date]';

function className(value: object): string {
  try {
    if (Object.getPrototypeOf(value) === null) return 'null prototype';
    return makerOf(value) || 'Object';
  } catch {
    return 'Object';
  }
}

function functionName(value: object): string {
  try {
    return truncateText(String(Object.getOwnPropertyDescriptor(value, 'name')?.value ?? ''), 80);
  } catch {
    return '';
  }
}

function scalar(value: unknown, limits: PlainLimits): Exclude<Json, object> | undefined {
  switch (typeof value) {
    case 'string':
      return truncateText(value, limits.length);
    case 'number':
      return Number.isFinite(value) ? value : `${value}`;
    case 'boolean':
      return value;
    case 'bigint':
      // To write all its digits would take longer than a request.
      return value > LARGEST_BIGINT || value < -LARGEST_BIGINT ? '[bigint, not read]' : `${value}n`;
    case 'undefined':
      return UNDEFINED;
    case 'symbol':
      return truncateText(value.toString(), limits.length);
    case 'function':
      return types.isProxy(value) ? PROXY : `[function ${functionName(value) || 'anonymous'}]`;
    default:
      return value === null ? null : undefined;
  }
}

function shorthand(
  value: object,
  { writeDate, length, bytes = 0 }: PlainLimits,
  isInObject: boolean,
): string | undefined {
  try {
    if (types.isDate(value)) {
      const time = Date.prototype.getTime.call(value);
      if (Number.isNaN(time)) return INVALID_DATE;
      const date = new Date(time);
      return writeDate === undefined ? date.toISOString() : writeDate(date, isInObject);
    }
    if (types.isRegExp(value)) return truncateText(RegExp.prototype.toString.call(value), length);
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength } = value;
      const isShort = bytes > 0 && byteLength <= bytes;
      const hex = isShort ? `: ${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}` : '';
      return `[${Buffer.isBuffer(value) ? 'Buffer' : className(value)}, ${byteLength} bytes${hex}]`;
    }
    if (types.isPromise(value)) return '[Promise]';
  } catch {
    return `[${className(value)}]`;
  }
  return undefined;
}

/** What isn't enumerable. The name only where it is not its class's. */
function errorEntries(error: object, stackOf: PlainLimits['stackOf']): [string, unknown][] {
  const isWeb = hasPrototype(error, DOMException.prototype);
  const named: [string, unknown][] = [['class', className(error)]];
  for (const name of ['name', 'message', 'code', 'cause', 'errors']) {
    const held = isWeb || name === 'message' || Object.hasOwn(error, name) ? field(error, name) : undefined;
    if (held !== undefined && held !== '') named.push([name, held]);
  }
  if (stackOf !== undefined) named.push(['stack', stackOf(error)]);
  return named;
}

/** Where models of Sequelize and documents of Mongoose hold the values of their row, and a mark of their own. */
const ROWS = [
  ['dataValues', '_previousDataValues'],
  ['_doc', '$__'],
] as const;

function rowOf(value: object): object {
  for (const [name, mark] of ROWS) {
    const held: unknown = Object.getOwnPropertyDescriptor(value, name)?.value;
    if (isObject(held) && !types.isProxy(held) && Object.hasOwn(value, mark)) return held;
  }
  return value;
}

interface Entries {
  kept: [string, unknown][];
  more: number;
}

function take<T>(items: Iterable<T>, count: number): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.length >= count) break;
    taken.push(item);
  }
  return taken;
}

/** By the platform's own getter: a subclass may have another one. */
function sizeOf(prototype: object, value: object): number {
  const getter = Object.getOwnPropertyDescriptor(prototype, 'size')?.get;
  return getter === undefined ? 0 : (Reflect.apply(getter, value, []) as number);
}

/** The first entries of a container other than an array, without running its code; getters are named, not called. */
function entries(value: object, { width, stackOf }: PlainLimits): Entries {
  if (types.isMap(value)) {
    const pairs = take(Map.prototype.entries.call(value) as Iterable<[unknown, unknown]>, width);
    const kept = pairs.map(([key, item]): [string, unknown] => [
      String(scalar(key, defaultPlainLimits) ?? '[object]'),
      item,
    ]);
    return { kept, more: sizeOf(Map.prototype, value) - kept.length };
  }
  if (types.isSet(value)) {
    const items = take(Set.prototype.values.call(value) as Iterable<unknown>, width);
    const kept = items.map((item, index): [string, unknown] => [String(index), item]);
    return { kept, more: sizeOf(Set.prototype, value) - kept.length };
  }
  const kept = isError(value) ? errorEntries(value, stackOf) : [];
  const names = Object.keys(value);
  const room = Math.max(0, width - kept.length);
  for (const name of names.slice(0, room)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, name);
    if (descriptor === undefined) continue;
    kept.push([name, 'value' in descriptor ? (descriptor.value as unknown) : '[getter]']);
  }
  return { kept, more: Math.max(0, names.length - room) };
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

type Target = Json[] | Record<string, Json>;

/** A container still to be converted, and where the result goes. */
interface Pending {
  value: object;
  /** Its parent: a value that is among its own ancestors is a cycle. */
  above: Pending | null;
  depth: number;
  target: Target;
  key: string | number;
}

function put(target: Target, key: string | number, json: Json): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value: json, enumerable: true, writable: true, configurable: true });
  else (target as Record<string | number, Json>)[key] = json;
}

function isInObject({ above }: Pending): boolean {
  for (let next = above; next !== null; next = next.above) if (!Array.isArray(next.value)) return true;
  return false;
}

function isAbove({ value, above }: Pending): boolean {
  for (let next = above; next !== null; next = next.above) if (next.value === value) return true;
  return false;
}

/** Objects that drivers write in their own way, not by their properties. */
const WRITERS = ['toJSON', 'toPostgres', 'toSqlString'];

/** An object of a class of the application whose properties are all there is to say. */
function isOfOwnProperties(value: object, kept: Entries['kept']): boolean {
  if (types.isMap(value) || types.isSet(value) || types.isBoxedPrimitive(value) || isError(value))
    return false;
  return kept.every(([, held]) => held !== '[getter]') && !WRITERS.some((name) => has(value, name));
}

/** Whether the JSON of something other than a container says all of it. */
function isExact(value: unknown, json: Json | undefined): boolean {
  if (typeof value === 'bigint') return json !== '[bigint, not read]';
  return value === undefined || value === json;
}

class Walk {
  /** The result says all of it: nothing is cut, left out, computed or of a class with a notation of its own. */
  isExact = true;
  hasBigint = false;
  readonly #limits: PlainLimits;
  readonly #queue: Pending[] = [];
  #total = 1;

  constructor(limits: PlainLimits) {
    this.#limits = limits;
  }

  run(root: object): Json {
    const holder: Json[] = [null];
    this.#queue.push({ value: root, above: null, depth: 0, target: holder, key: 0 });
    // Breadth first, so that the deepest values are left out.
    for (const pending of this.#queue) put(pending.target, pending.key, this.#write(pending));
    return holder[0] ?? null;
  }

  #write(pending: Pending): Json {
    const { value, depth } = pending;
    if (types.isProxy(value)) return this.#inexact(PROXY);
    const isList = Array.isArray(value);
    const isPlain = !isList && isPlainObject(value);
    const special =
      isPlain || isList
        ? undefined
        : (shorthand(value, this.#limits, isInObject(pending)) ?? readWebObject(value));
    if (typeof special === 'string') {
      this.isExact &&= ArrayBuffer.isView(value)
        ? special.includes(': ')
        : types.isDate(value) && special !== INVALID_DATE;
      return truncateText(special, this.#limits.length);
    }
    if (isAbove(pending)) return this.#inexact('[circular]');
    if (depth >= this.#limits.depth || this.#total > this.#limits.total)
      return this.#inexact(`[${className(value)}, not followed]`);
    try {
      return isPlain ? this.#writeObject(pending) : this.#writeEntries(pending, special);
    } catch {
      return this.#inexact(`[${className(value)}, unreadable]`);
    }
  }

  #inexact<T>(json: T): T {
    this.isExact = false;
    return json;
  }

  #place(above: Pending, target: Target, key: string | number, value: unknown): void {
    this.#total++;
    const simple = scalar(value, this.#limits);
    put(target, key, simple ?? null);
    if (typeof value === 'bigint') this.hasBigint = true;
    if (simple !== undefined) this.isExact &&= isExact(value, simple);
    else this.#queue.push({ value: value as object, above, depth: above.depth + 1, target, key });
  }

  #writeObject(pending: Pending): Json {
    const { value } = pending;
    const result: Record<string, Json> = {};
    const names = Object.keys(value);
    const count = Math.min(names.length, this.#limits.width);
    for (let index = 0; index < count; index++) {
      const name = names[index] ?? '';
      const descriptor = Object.getOwnPropertyDescriptor(value, name);
      if (descriptor === undefined) continue;
      const isValue = 'value' in descriptor;
      if (!isValue || name.length > 200) this.isExact = false;
      this.#place(pending, result, truncateText(name, 200), isValue ? descriptor.value : '[getter]');
    }
    if (names.length > count) result['…'] = this.#inexact(`${names.length - count} more`);
    return result;
  }

  #writeEntries(pending: Pending, web: [string, unknown][] | undefined): Json {
    const { value } = pending;
    if (Array.isArray(value)) return this.#writeList(pending, value, value.length);
    const { kept, more } = web === undefined ? entries(rowOf(value), this.#limits) : { kept: web, more: 0 };
    this.isExact &&= isOfOwnProperties(value, kept) && web === undefined && more === 0;
    if (types.isSet(value)) {
      const items = kept.map(([, item]) => item);
      return this.#writeList(pending, items, items.length + more);
    }
    if (kept.length === 0 && web === undefined && !types.isMap(value)) return `[${className(value)}]`;
    const result: Record<string, Json> = {};
    for (const [name, item] of kept) this.#place(pending, result, truncateText(name, 200), item);
    if (more > 0) result['…'] = `${more} more`;
    return result;
  }

  #writeList(pending: Pending, items: readonly unknown[], length: number): Json {
    const result: Json[] = [];
    const count = Math.min(items.length, this.#limits.width);
    for (let index = 0; index < count; index++) {
      const item = Object.getOwnPropertyDescriptor(items, index);
      if (item?.get !== undefined) this.isExact = false;
      this.#place(pending, result, index, item?.get === undefined ? item?.value : '[getter]');
    }
    if (length > count) result.push(this.#inexact(`… ${length - count} more`));
    return result;
  }
}

/** Any value -> JSON within the limits; never throws. Cycles become `[circular]`; what is left out is counted in words. */
export function toPlain(root: unknown, limits: PlainLimits = defaultPlainLimits): Json {
  const simple = scalar(root, limits);
  return simple === undefined ? new Walk(limits).run(root as object) : simple;
}

export interface Converted {
  json: Json;
  /** Nothing of it is cut, left out, computed, or of a class with a notation of its own. */
  isExact: boolean;
  /** A container that has one. */
  hasBigint: boolean;
}

/** The same, and whether the result says all of the value. */
export function convert(root: unknown, limits: PlainLimits): Converted {
  const json = scalar(root, limits);
  if (json !== undefined) return { json, isExact: isExact(root, json), hasBigint: false };
  const walk = new Walk(limits);
  return { json: walk.run(root as object), isExact: walk.isExact, hasBigint: walk.hasBigint };
}

/** As `JSON.stringify` wrote the value before it was converted. */
export function sentJson(json: Json): string {
  return JSON.stringify(json, (_key, held: Json) => (held === UNDEFINED ? undefined : held));
}
