/**
 * Reads a thrown value, which may be anything: an error of another realm, a proxy whose traps throw, an object full of getters.
 * Each function returns plain data and none throws.
 */
import { types } from 'node:util';
import { truncateText, toPlain } from './plain.ts';
import type { Json } from './json.ts';

const LONGEST_MESSAGE = 8192;
const MOST_PROPERTIES = 60;
const PROPERTY_LIMITS = { depth: 4, width: 40, length: 2000, total: 300 };
/** Fields that are recorded separately. */
const FIELDS = new Set(['name', 'message', 'stack', 'cause', 'errors', 'code', 'status', 'statusCode']);

export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** Reads a field; a getter or trap that throws does no harm. */
export function field(value: object, name: string): unknown {
  try {
    return Reflect.get(value, name);
  } catch {
    return undefined;
  }
}

export function has(value: object, name: string): boolean {
  try {
    return name in value;
  } catch {
    return false;
  }
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function isError(value: object): boolean {
  if (types.isNativeError(value)) return true;
  try {
    if (value instanceof Error) return true;
  } catch {
    return false;
  }
  return textOf(field(value, 'message')) !== null && textOf(field(value, 'stack')) !== null;
}

export function classOf(value: object): string {
  const name = textOf(field(value, 'name'));
  if (name !== null && name !== '' && name !== 'Error' && typeof value !== 'function')
    return truncateText(name, 200);
  const maker = field(value, 'constructor');
  const made = isObject(maker) ? textOf(field(maker, 'name')) : null;
  return truncateText(made === null || made === '' ? (name ?? 'Object') : made, 200);
}

export function statusOf(value: object): number | null {
  for (const name of ['status', 'statusCode']) {
    const status = field(value, name);
    if (typeof status === 'number' && Number.isInteger(status) && status >= 100 && status <= 599)
      return status;
  }
  return null;
}

export function codeOf(value: object): string | number | null {
  const code = field(value, 'code');
  if (typeof code === 'string') return truncateText(code, 200);
  return typeof code === 'number' && Number.isFinite(code) ? code : null;
}

/** Own properties as plain data, without those recorded separately; getters are named, not called. */
export function propertiesOf(value: object): Record<string, Json> {
  const own: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  try {
    for (const name of Object.keys(value).slice(0, MOST_PROPERTIES)) {
      if (FIELDS.has(name)) continue;
      const descriptor = Object.getOwnPropertyDescriptor(value, name);
      if (descriptor !== undefined) own[name] = 'value' in descriptor ? descriptor.value : '[getter]';
    }
  } catch {
    return {};
  }
  return toPlain(own, PROPERTY_LIMITS) as Record<string, Json>;
}

/** Members of an AggregateError; empty for everything else. */
export function membersOf(value: object): readonly unknown[] {
  const members = field(value, 'errors');
  try {
    return Array.isArray(members) ? members : [];
  } catch {
    return [];
  }
}

/** A one-line message for a value that is not an error. */
export function messageOfValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isObject(value)) {
    const message = textOf(field(value, 'message'));
    if (message !== null) return message;
    try {
      return JSON.stringify(toPlain(value, { depth: 2, width: 20, length: 200, total: 60 }));
    } catch {
      return 'a value that can’t be read';
    }
  }
  return String(value);
}

/** For a log: its stack, or what it says where it has none. */
export function stackText(error: unknown): string {
  const stack = isObject(error) ? textOf(field(error, 'stack')) : null;
  return stack === null || stack === '' ? messageOfValue(error) : stack;
}

/** Name and message in one line each. */
export function describeError(error: unknown): { name: string; message: string } {
  try {
    if (error instanceof Error) {
      return {
        name: truncateText(String(error.name), 200),
        message: truncateText(String(error.message), LONGEST_MESSAGE),
      };
    }
    return {
      name: error === null ? 'null' : typeof error,
      message: truncateText(String(error), LONGEST_MESSAGE),
    };
  } catch {
    return { name: 'Error', message: 'The thrown value can’t be read.' };
  }
}

/** `TypeError: x is not a function`. */
export function failureText(error: unknown, length = 2000): string {
  const { name, message } = describeError(error);
  return truncateText(`${name}: ${message}`, length);
}

export function truncateMessage(message: string): { message: string; messageTruncated: number } {
  return {
    message: message.slice(0, LONGEST_MESSAGE),
    messageTruncated: Math.max(0, message.length - LONGEST_MESSAGE),
  };
}
