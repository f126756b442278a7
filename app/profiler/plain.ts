/**
 * Live values -> plain JSON: log arguments, bindings, locals, error properties. Iterative, because deep recursion under
 * AsyncLocalStorage can end the process; limited in depth, width and length. Calls no getter and no toJSON of a recorded object, so
 * that recording never changes the application.
 */
import { types } from 'node:util';
import type { Json } from './json.ts';
import { field, hasPrototype, isError, makerOf } from './safe-read.ts';
import { readWebObject } from './web-objects.ts';

export interface PlainLimits {
  depth: number;
  /** Entries per array or object. */
  width: number;
  /** Characters per string. */
  length: number;
  /** Values altogether. */
  total: number;
  /** Lines of an error's stack; without it, errors have no stack. */
  stackOf?: (error: object) => string[];
  /** As it is sent, if that is another text than its JSON. */
  writeDate?: ((date: Date) => string) | undefined;
}

export const defaultPlainLimits: PlainLimits = { depth: 6, width: 100, length: 4096, total: 2000 };

/** Truncates a long text and says by how much. */
export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit)}… (${text.length - limit} more characters)`;
}

/** Of about 2,500 digits. */
const LARGEST_BIGINT = 2n ** 8192n;
const PROXY = '[Proxy, not read]';

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

/** A value other than a container as JSON; undefined for containers. */
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
      return '[undefined]';
    case 'symbol':
      return truncateText(value.toString(), limits.length);
    case 'function':
      return types.isProxy(value) ? PROXY : `[function ${functionName(value) || 'anonymous'}]`;
    default:
      return value === null ? null : undefined;
  }
}

/** Containers with a short notation. */
function shorthand(value: object, { writeDate, length }: PlainLimits): string | undefined {
  try {
    if (types.isDate(value)) {
      const time = Date.prototype.getTime.call(value);
      if (Number.isNaN(time)) return '[invalid Date]';
      const date = new Date(time);
      return writeDate === undefined ? date.toISOString() : writeDate(date);
    }
    if (types.isRegExp(value)) return truncateText(RegExp.prototype.toString.call(value), length);
    if (ArrayBuffer.isView(value))
      return `[${Buffer.isBuffer(value) ? 'Buffer' : className(value)}, ${value.byteLength} bytes]`;
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

interface Entries {
  kept: [string, unknown][];
  /** Number of entries left out. */
  more: number;
}

/** The first items of an iterable; later ones are not read. */
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

/** Whether it is a plain object, as literals and JSON make. */
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

function isAbove({ value, above }: Pending): boolean {
  for (let next = above; next !== null; next = next.above) if (next.value === value) return true;
  return false;
}

/** Conversion of one value. */
class Walk {
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
    if (types.isProxy(value)) return PROXY;
    const isList = Array.isArray(value);
    const isPlain = !isList && isPlainObject(value);
    const special = isPlain || isList ? undefined : (shorthand(value, this.#limits) ?? readWebObject(value));
    if (typeof special === 'string') return truncateText(special, this.#limits.length);
    if (isAbove(pending)) return '[circular]';
    if (depth >= this.#limits.depth || this.#total > this.#limits.total)
      return `[${className(value)}, not followed]`;
    try {
      return isPlain ? this.#writeObject(pending) : this.#writeEntries(pending, special);
    } catch {
      return `[${className(value)}, unreadable]`;
    }
  }

  #place(above: Pending, target: Target, key: string | number, value: unknown): void {
    this.#total++;
    const simple = scalar(value, this.#limits);
    put(target, key, simple ?? null);
    if (simple === undefined)
      this.#queue.push({ value: value as object, above, depth: above.depth + 1, target, key });
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
      const held: unknown = 'value' in descriptor ? descriptor.value : '[getter]';
      this.#place(pending, result, truncateText(name, 200), held);
    }
    if (names.length > count) result['…'] = `${names.length - count} more`;
    return result;
  }

  #writeEntries(pending: Pending, web: [string, unknown][] | undefined): Json {
    const { value } = pending;
    if (Array.isArray(value)) return this.#writeList(pending, value, value.length);
    const { kept, more } = web === undefined ? entries(value, this.#limits) : { kept: web, more: 0 };
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
      const held: unknown = item?.get === undefined ? item?.value : '[getter]';
      this.#place(pending, result, index, held);
    }
    if (length > count) result.push(`… ${length - count} more`);
    return result;
  }
}

/** Any value -> JSON within the limits; never throws. Cycles become `[circular]`; what is left out is counted in words. */
export function toPlain(root: unknown, limits: PlainLimits = defaultPlainLimits): Json {
  const simple = scalar(root, limits);
  return simple === undefined ? new Walk(limits).run(root as object) : simple;
}
