/**
 * Live values -> plain JSON, for what observers hold on to: log arguments, bindings, locals, error properties.
 *
 * Walks iteratively (deep recursion under AsyncLocalStorage can end the process) with caps on depth, width and length;
 * calls no getter and no toJSON of a recorded object, so that reading never changes the application.
 */
import type { Json } from './panel.ts';

export interface PlainLimits {
  depth: number;
  /** Entries per array or object. */
  width: number;
  /** Characters per string. */
  length: number;
  /** Values in all. */
  total: number;
}

export const defaultPlainLimits: PlainLimits = { depth: 6, width: 100, length: 4096, total: 2000 };

/** Cuts a long text and says by how much. */
export function cutText(text: string, limit: number): string {
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

/** A value that is no container, as JSON; undefined for containers. */
function scalar(value: unknown, limits: PlainLimits): Exclude<Json, object> | undefined {
  switch (typeof value) {
    case 'string':
      return cutText(value, limits.length);
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
      return `[function ${cutText(String(Object.getOwnPropertyDescriptor(value, 'name')?.value ?? ''), 80) || 'anonymous'}]`;
    default:
      return value === null ? null : undefined;
  }
}

/** Containers that have a short written form of their own. */
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

function errorEntries(error: Error): [string, unknown][] {
  const named: [string, unknown][] = [];
  for (const name of ['name', 'message', 'code']) {
    const descriptor = Object.getOwnPropertyDescriptor(error, name);
    if (descriptor !== undefined && 'value' in descriptor) named.push([name, descriptor.value as unknown]);
  }
  return [['class', className(error)], ...named];
}

interface Entries {
  kept: [string, unknown][];
  /** Left out. */
  more: number;
}

/** The first items of an iterable: what comes after them is not even looked at. */
function take<T>(items: Iterable<T>, count: number): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.length >= count) break;
    taken.push(item);
  }
  return taken;
}

/** The first entries of a container without running its code; accessors are named, not read. */
function entries(value: object, width: number): Entries {
  if (Array.isArray(value)) {
    const kept = Array.from({ length: Math.min(width, value.length) }, (_, index): [string, unknown] => [
      String(index),
      value[index] as unknown,
    ]);
    return { kept, more: value.length - kept.length };
  }
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
  const kept = value instanceof Error ? errorEntries(value) : [];
  const names = Object.keys(value);
  const room = Math.max(0, width - kept.length);
  for (const name of names.slice(0, room)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, name);
    if (descriptor === undefined) continue;
    kept.push([name, 'value' in descriptor ? (descriptor.value as unknown) : '[getter]']);
  }
  return { kept, more: Math.max(0, names.length - room) };
}

function isList(value: object): boolean {
  return Array.isArray(value) || value instanceof Set;
}

/** Any value -> JSON within the limits; never throws. Cycles become `[circular]`, what is cut is counted in words. */
export function toPlain(root: unknown, limits: PlainLimits = defaultPlainLimits): Json {
  const holder: Json[] = [];
  const work: { value: unknown; put: (json: Json) => void; depth: number; above: readonly object[] }[] = [
    { value: root, put: (json) => holder.push(json), depth: 0, above: [] },
  ];
  let total = 0;
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const { value, put, depth, above } = next;
    total++;
    const simple = scalar(value, limits);
    if (simple !== undefined) {
      put(simple);
      continue;
    }
    const object = value as object;
    const short = shorthand(object);
    if (short !== undefined) put(short);
    else if (above.includes(object)) put('[circular]');
    else if (depth >= limits.depth || total > limits.total) put(`[${className(object)}, not followed]`);
    else put(expand(object, depth, above));
  }
  return holder[0] ?? null;

  function expand(object: object, depth: number, above: readonly object[]): Json {
    let found: Entries;
    try {
      found = entries(object, limits.width);
    } catch {
      return `[${className(object)}, unreadable]`;
    }
    const { kept, more } = found;
    const path = [...above, object];
    if (isList(object)) {
      const result: Json[] = new Array<Json>(kept.length).fill(null);
      kept.forEach(([, value], index) => {
        work.push({ value, depth: depth + 1, above: path, put: (json) => (result[index] = json) });
      });
      if (more > 0) result.push(`… ${more} more`);
      return result;
    }
    const result = Object.create(null) as Record<string, Json>;
    for (const [name, value] of kept) {
      const key = cutText(name, 200);
      result[key] = null;
      work.push({ value, depth: depth + 1, above: path, put: (json) => (result[key] = json) });
    }
    if (more > 0) result['…'] = `${more} more`;
    return result;
  }
}
