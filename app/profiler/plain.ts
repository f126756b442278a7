/**
 * Live values -> plain JSON: log arguments, bindings, locals, error properties. Iterative, because deep recursion under
 * AsyncLocalStorage can end the process; limited in depth, width and length. Calls no getter and no toJSON of a recorded object, so
 * that recording never changes the application.
 */
import type { Json } from './json.ts';

export interface PlainLimits {
  depth: number;
  /** Entries per array or object. */
  width: number;
  /** Characters per string. */
  length: number;
  /** Values altogether. */
  total: number;
  /** Lines of an error's stack; without it, errors have no stack. */
  stackOf?: (error: Error) => string[];
}

export const defaultPlainLimits: PlainLimits = { depth: 6, width: 100, length: 4096, total: 2000 };

/** undefined for an empty list, so that it is left out of the JSON. */
export function undefinedIfEmpty<List extends readonly unknown[]>(list: List): List | undefined {
  return list.length === 0 ? undefined : list;
}

/** Truncates a long text and says by how much. */
export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit)}… (${text.length - limit} more characters)`;
}

function className(value: object): string {
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null) return 'null prototype';
    const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    return typeof maker === 'function' && typeof maker.name === 'string' && maker.name !== ''
      ? maker.name
      : 'Object';
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
      return `${value}n`;
    case 'undefined':
      return '[undefined]';
    case 'symbol':
      return value.toString();
    case 'function':
      return `[function ${functionName(value) || 'anonymous'}]`;
    default:
      return value === null ? null : undefined;
  }
}

/** Containers with a short notation. */
function shorthand(value: object): Json | undefined {
  try {
    if (value instanceof Date)
      return Number.isNaN(value.getTime()) ? '[invalid Date]' : Date.prototype.toISOString.call(value);
    if (value instanceof RegExp) return RegExp.prototype.toString.call(value);
    if (Buffer.isBuffer(value)) return `[Buffer, ${value.length} bytes]`;
    if (ArrayBuffer.isView(value)) return `[${className(value)}, ${value.byteLength} bytes]`;
    if (value instanceof Promise) return '[Promise]';
  } catch {
    return `[${className(value)}]`;
  }
  return undefined;
}

function errorEntries(error: Error, stackOf: PlainLimits['stackOf']): [string, unknown][] {
  const named: [string, unknown][] = [];
  for (const name of ['name', 'message', 'code']) {
    const descriptor = Object.getOwnPropertyDescriptor(error, name);
    if (descriptor !== undefined && 'value' in descriptor) named.push([name, descriptor.value as unknown]);
  }
  return [
    ['class', className(error)],
    ...named,
    ...(stackOf === undefined ? [] : [['stack', stackOf(error)] as [string, unknown]]),
  ];
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

/** The first entries of a container other than an array, without running its code; getters are named, not called. */
function entries(value: object, { width, stackOf }: PlainLimits): Entries {
  if (value instanceof Map) {
    const pairs = take(Map.prototype.entries.call(value) as Iterable<[unknown, unknown]>, width);
    const kept = pairs.map(([key, item]): [string, unknown] => [
      String(scalar(key, defaultPlainLimits) ?? '[object]'),
      item,
    ]);
    return { kept, more: value.size - kept.length };
  }
  if (value instanceof Set) {
    const items = take(Set.prototype.values.call(value) as Iterable<unknown>, width);
    return { kept: items.map((item, index) => [String(index), item]), more: value.size - items.length };
  }
  const kept = value instanceof Error ? errorEntries(value, stackOf) : [];
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
    let isPlain = false;
    let isList = false;
    try {
      isList = Array.isArray(value);
      isPlain = !isList && isPlainObject(value);
    } catch {
      // A proxy that throws: handled below.
    }
    const short = isPlain || isList ? undefined : shorthand(value);
    if (short !== undefined) return short;
    if (isAbove(pending)) return '[circular]';
    if (depth >= this.#limits.depth || this.#total > this.#limits.total)
      return `[${className(value)}, not followed]`;
    try {
      return isPlain ? this.#writeObject(pending) : this.#writeEntries(pending);
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

  #writeEntries(pending: Pending): Json {
    const { value } = pending;
    if (Array.isArray(value)) return this.#writeList(pending, value, value.length);
    const { kept, more } = entries(value, this.#limits);
    if (value instanceof Set) {
      const items = kept.map(([, item]) => item);
      return this.#writeList(pending, items, items.length + more);
    }
    const result: Record<string, Json> = {};
    for (const [name, item] of kept) this.#place(pending, result, truncateText(name, 200), item);
    if (more > 0) result['…'] = `${more} more`;
    return result;
  }

  #writeList(pending: Pending, items: readonly unknown[], length: number): Json {
    const result: Json[] = [];
    const count = Math.min(items.length, this.#limits.width);
    for (let index = 0; index < count; index++) this.#place(pending, result, index, items[index]);
    if (length > count) result.push(`… ${length - count} more`);
    return result;
  }
}

/** Any value -> JSON within the limits; never throws. Cycles become `[circular]`; what is left out is counted in words. */
export function toPlain(root: unknown, limits: PlainLimits = defaultPlainLimits): Json {
  const simple = scalar(root, limits);
  return simple === undefined ? new Walk(limits).run(root as object) : simple;
}
