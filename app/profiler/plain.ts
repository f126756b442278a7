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

/** Entries of a container without running its code; accessors are named, not read. */
function entries(value: object): [string, unknown][] {
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item as unknown]);
  if (value instanceof Map)
    return Array.from(Map.prototype.entries.call(value) as Iterable<[unknown, unknown]>, ([key, item]) => [
      String(scalar(key, defaultPlainLimits) ?? '[object]'),
      item,
    ]);
  if (value instanceof Set)
    return Array.from(Set.prototype.values.call(value) as Iterable<unknown>, (item, index) => [
      String(index),
      item,
    ]);
  const own = value instanceof Error ? errorEntries(value) : [];
  for (const name of Object.keys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, name);
    if (descriptor === undefined) continue;
    own.push([name, 'value' in descriptor ? (descriptor.value as unknown) : '[getter]']);
  }
  return own;
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
    let list: [string, unknown][];
    try {
      list = entries(object);
    } catch {
      return `[${className(object)}, unreadable]`;
    }
    const kept = list.slice(0, limits.width);
    const path = [...above, object];
    const more = list.length - kept.length;
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
