/**
 * Arguments of a Redis command, each with a name that masking goes by: the key or field that a value is written to, `secret` for a password.
 * Used for recorded commands, and for those that an error of ioredis quotes.
 */
import { isUtf8 } from 'node:buffer';
import { types } from 'node:util';
import { truncateText } from '../record/plain.ts';

export interface CacheArgument {
  name: string | null;
  value: string;
}

const KEY_LENGTH = 500;
const VALUE_LENGTH = 300;
const MOST_ARGS = 30;

const KEYLESS = new Set([
  'ACL', 'AUTH', 'CLIENT', 'CLUSTER', 'COMMAND', 'CONFIG', 'ECHO', 'EVAL', 'EVALSHA', 'EVAL_RO', 'EVALSHA_RO', 'FCALL', 'FCALL_RO', 'FUNCTION', 'HELLO',
  'INFO', 'KEYS', 'LATENCY', 'MEMORY', 'MIGRATE', 'MODULE', 'OBJECT', 'PING', 'SCAN', 'SCRIPT', 'SELECT', 'SLOWLOG', 'WAIT', 'XREAD', 'XREADGROUP',
]); // prettier-ignore
const SCRIPTS = new Set(['EVAL', 'EVALSHA', 'EVAL_RO', 'EVALSHA_RO', 'FCALL', 'FCALL_RO']);
const PAIRS = new Set(['MSET', 'MSETNX']);
const FIELDS = new Set(['HSET', 'HMSET', 'HSETNX']);
const ACL_PASSWORD = /^[><#!]/;
const PASSWORD_SETTING = /pass|auth/i;

function textOf(value: unknown, length: number): string {
  if (typeof value === 'string') return truncateText(value, length);
  // Packed values, such as those of bullmq, hide from masking where a name or a token begins.
  if (Buffer.isBuffer(value) && !isUtf8(value)) return `[Buffer, ${value.length} bytes]`;
  if (Buffer.isBuffer(value)) return truncateText(value.toString('utf8', 0, length * 4), length);
  // The rest is refused: ioredis sends text that it has made of it, and that is what comes here.
  if (types.isDate(value)) return '[Date]';
  if (value === null || value === undefined) return String(value);
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : `[${typeof value}]`; // prettier-ignore
}

export function keyOf(command: string, args: readonly unknown[]): string | null {
  const key = SCRIPTS.has(command) ? (Number(args[1]) > 0 ? args[2] : undefined) : KEYLESS.has(command) ? undefined : args[0]; // prettier-ignore
  return key === undefined ? null : textOf(key, KEY_LENGTH);
}

function isPassword(command: string, args: readonly unknown[], at: number): boolean {
  const wordAt = (index: number): string => textOf(args[index], KEY_LENGTH).toUpperCase();
  switch (command) {
    case 'AUTH':
      return at === args.length - 1;
    case 'HELLO':
    case 'MIGRATE':
      return (command === 'MIGRATE' && wordAt(at - 1) === 'AUTH') || /^AUTH2?$/.test(wordAt(at - 2));
    case 'ACL':
      return at > 1 && ACL_PASSWORD.test(textOf(args[at], KEY_LENGTH));
    case 'CONFIG':
    case 'SENTINEL':
      return at > 1 && PASSWORD_SETTING.test(wordAt(at - 1));
    default:
      return false;
  }
}

function nameAt(command: string, args: readonly unknown[], at: number): string | null {
  if (isPassword(command, args, at)) return 'secret';
  const isFieldValue = FIELDS.has(command) && at % 2 === 0;
  // Options of XADD come before its fields, so that these are counted from the end.
  const isEntryValue = command === 'XADD' && at > 2 && (args.length - at) % 2 === 1;
  if (command === 'JSON.SET' && at === 2) return textOf(args[1], KEY_LENGTH);
  if (isEntryValue || isFieldValue || (PAIRS.has(command) && at % 2 === 1))
    return textOf(args[at - 1], KEY_LENGTH);
  return FIELDS.has(command) || PAIRS.has(command) ? null : keyOf(command, args);
}

export function argumentsOf(command: string, args: readonly unknown[]): CacheArgument[] {
  const from = KEYLESS.has(command) ? 0 : 1;
  const kept = args.slice(from, from + MOST_ARGS).map((value, index) => ({
    name: nameAt(command, args, from + index),
    value: textOf(value, VALUE_LENGTH),
  }));
  const more = args.length - from - kept.length;
  return more > 0 ? [...kept, { name: null, value: `… ${more} more` }] : kept;
}
