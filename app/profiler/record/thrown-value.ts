/**
 * Reads a thrown value, which may be anything: an error of another realm, a proxy whose traps throw, an object full of getters.
 * Each function returns plain data and none throws.
 */
import { types } from 'node:util';
import { beginningOf, truncateText, toPlain } from './plain.ts';
import type { Json } from '../json.ts';
import { argumentsOf, keyOf } from '../masking/redis-arguments.ts';
import { field, isError, isObject, makerOf } from './safe-read.ts';

const LONGEST_MESSAGE = 8192;
const MOST_PROPERTIES = 60;
const PROPERTY_LIMITS = { depth: 4, width: 40, length: 2000, total: 300 };
const MOST_MESSAGES = 5;

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function classOf(value: object): string {
  const name = isError(value) ? textOf(field(value, 'name')) : null;
  if (name !== null && name !== '' && name !== 'Error') return truncateText(name, 200);
  return truncateText(makerOf(value) || (name ?? 'Object'), 200);
}

function asStatus(status: unknown): number | null {
  return typeof status === 'number' && Number.isInteger(status) && status >= 100 && status <= 599
    ? status
    : null;
}

export function statusOf(value: object): number | null {
  return asStatus(field(value, 'status')) ?? asStatus(field(value, 'statusCode'));
}

function asCode(code: unknown): string | number | null {
  if (typeof code === 'string') return truncateText(code, 200);
  return typeof code === 'number' && Number.isFinite(code) ? code : null;
}

export function codeOf(value: object): string | number | null {
  return asCode(field(value, 'code'));
}

function isMember(value: unknown): value is object {
  return isObject(value) && isError(value);
}

/** Thrown where `using` disposes of what it holds after an error, also by code that TypeScript compiled. */
function isSuppressedError(value: object): boolean {
  return field(value, 'name') === 'SuppressedError';
}

/** Of a SuppressedError the first error, and the one of its disposal. */
export function membersOf(value: object): readonly object[] {
  const members = isSuppressedError(value)
    ? [field(value, 'suppressed'), field(value, 'error')]
    : field(value, 'errors');
  try {
    return Array.isArray(members) ? members.filter(isMember) : [];
  } catch {
    return [];
  }
}

/** The part of a property that is not recorded as a field of its own; undefined if all of it is. */
function restOf(name: string, held: unknown): unknown {
  switch (name) {
    case 'name':
    case 'message':
    case 'stack':
    case 'cause':
      return undefined;
    case 'code':
      return asCode(held) === null ? held : undefined;
    case 'status':
    case 'statusCode':
      return asStatus(held) === null ? held : undefined;
    case 'errors': {
      if (!Array.isArray(held)) return held;
      const rest = held.filter((item) => !isMember(item));
      return rest.length === 0 ? undefined : rest;
    }
    default:
      return held === undefined ? '[undefined]' : held;
  }
}

/** The command that an error of ioredis quotes, with names to mask its arguments by. */
function asCommand(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return value;
  const [name, args] = [field(value, 'name'), field(value, 'args')];
  if (typeof name !== 'string' || !Array.isArray(args) || types.isProxy(args)) return value;
  const command = name.toUpperCase();
  return { name, key: keyOf(command, args), args: argumentsOf(command, args) };
}

export function propertiesOf(value: object): Record<string, Json> {
  const own: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  try {
    if (types.isProxy(value)) return {};
    const names = new Set(Object.keys(value).slice(0, MOST_PROPERTIES));
    if (Object.hasOwn(value, 'errors')) names.add('errors');
    if (isSuppressedError(value))
      for (const name of ['suppressed', 'error']) if (isMember(field(value, name))) names.delete(name);
    for (const name of names) {
      const descriptor = Object.getOwnPropertyDescriptor(value, name);
      if (descriptor === undefined) continue;
      const held =
        'value' in descriptor
          ? restOf(name, name === 'command' ? asCommand(descriptor.value) : descriptor.value)
          : '[getter]';
      if (held !== undefined) own[name] = held;
    }
  } catch {
    return {};
  }
  return toPlain(own, PROPERTY_LIMITS) as Record<string, Json>;
}

export function messageOfError(value: object): string {
  const message = textOf(field(value, 'message'));
  if (message !== null && message !== '') return message;
  const said = membersOf(value)
    .slice(0, MOST_MESSAGES)
    .map((member) => textOf(field(member, 'message')) ?? '')
    .filter((text) => text !== '');
  if (said.length > 0) return said.join('; ');
  const code = codeOf(value);
  return code === null ? '' : String(code);
}

export function messageOfValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isObject(value)) {
    const message = textOf(field(value, 'message'));
    if (message !== null) return message;
    if (isError(value)) return messageOfError(value);
    try {
      return JSON.stringify(toPlain(value, { depth: 2, width: 20, length: 200, total: 60 }));
    } catch {
      return 'a value that can’t be read';
    }
  }
  return String(value);
}

export function stackText(error: unknown): string {
  const stack = isObject(error) ? textOf(field(error, 'stack')) : null;
  return stack === null || stack === '' ? messageOfValue(error) : stack;
}

export function describeError(error: unknown): { name: string; message: string } {
  try {
    if (!isObject(error))
      return {
        name: error === null ? 'null' : typeof error,
        message: truncateText(String(error), LONGEST_MESSAGE),
      };
    const message = isError(error) ? messageOfError(error) : messageOfValue(error);
    return { name: classOf(error), message: truncateText(message, LONGEST_MESSAGE) };
  } catch {
    return { name: 'Error', message: 'The thrown value can’t be read.' };
  }
}

/** `TypeError: x is not a function`; the code if there is no message, as of refused connections. */
export function failureText(error: unknown): string {
  const { name, message } = describeError(error);
  return truncateText(
    `${name}: ${message === '' && isObject(error) ? (codeOf(error) ?? '') : message}`,
    2000,
  );
}

export function truncateMessage(message: string): { message: string; messageTruncated: number } {
  return {
    message: beginningOf(message, LONGEST_MESSAGE),
    messageTruncated: Math.max(0, message.length - LONGEST_MESSAGE),
  };
}
