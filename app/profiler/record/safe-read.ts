/**
 * Reading objects of the application without running its code: a proxy is never entered, a getter never run. The exceptions are fields of an
 * error that Node.js and Express read themselves, because classes such as zod's compute them.
 */
import { types } from 'node:util';

export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** The object and its prototypes, up to the first proxy. */
export function* chainOf(value: object): Generator<object> {
  let at: object | null = value;
  while (at !== null && !types.isProxy(at)) {
    yield at;
    at = Object.getPrototypeOf(at) as object | null;
  }
}

function descriptorOf(value: object, name: string): PropertyDescriptor | undefined {
  for (const at of chainOf(value)) {
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function hasPrototype(value: object, prototype: object): boolean {
  for (const at of chainOf(value)) if (at === prototype) return true;
  return false;
}

/** Made by `new Error`, of this realm or another one, or with its prototype; or a DOMException. */
export function isRealError(value: unknown): value is Error {
  if (typeof value !== 'object' || value === null) return false;
  return (
    types.isNativeError(value) ||
    hasPrototype(value, Error.prototype) ||
    hasPrototype(value, DOMException.prototype)
  );
}

const READ_BY_EXPRESS = new Set(['name', 'message', 'stack', 'status', 'statusCode', 'headers', 'expose']);

/** Of V8: `stack` is an accessor from Node.js 22 on. Before, this reads the stack, and code of the application may format it. */
function stackGetter(): (() => unknown) | undefined {
  try {
    return Object.getOwnPropertyDescriptor(new Error(), 'stack')?.get;
  } catch {
    return undefined;
  }
}

const OWN_GETTERS = [Object.getOwnPropertyDescriptor(DOMException.prototype, 'code')?.get, stackGetter()];

export function field(value: object, name: string): unknown {
  try {
    const found = descriptorOf(value, name);
    if (found?.get === undefined) return found?.value as unknown;
    const isRead = OWN_GETTERS.includes(found.get) || (READ_BY_EXPRESS.has(name) && isRealError(value));
    return isRead ? (Reflect.apply(found.get, value, []) as unknown) : undefined;
  } catch {
    return undefined;
  }
}

export function has(value: object, name: string): boolean {
  try {
    return descriptorOf(value, name) !== undefined;
  } catch {
    return false;
  }
}

/** Also what only looks like an error: a text as message and as stack. */
export function isError(value: object): boolean {
  try {
    if (types.isProxy(value)) return false;
    if (isRealError(value)) return true;
  } catch {
    return false;
  }
  return typeof field(value, 'message') === 'string' && typeof field(value, 'stack') === 'string';
}

export function makerOf(value: object): string {
  const maker = field(value, 'constructor');
  const name = typeof maker === 'function' ? field(maker, 'name') : undefined;
  return typeof name === 'string' ? name : '';
}
