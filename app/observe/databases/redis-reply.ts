/** The keys that a Redis command found, changed and stored, by its arguments and its reply. */

import { isUtf8 } from 'node:buffer';
import { toPlain, type PlainLimits } from '../../profiler/record/plain.ts';
import type { Json } from '../../profiler/json.ts';
import { epochMs } from '../../profiler/record/clock.ts';

export interface CacheReply {
  hits: number | null;
  reply?: number;
  /** What it read, by the key or field whose name masking goes by; absent: nothing, or bytes. */
  found?: { name: string; value: Json };
  size?: number;
  length?: number;
  /** Milliseconds for which the value is kept; null: until something deletes it. Absent: the command says nothing about it. */
  lifetimeMs?: number | null;
}

const READS_ONE = new Set(['GET', 'GETEX', 'GETDEL', 'HGET', 'JSON.GET']);
const READS_LIST = new Set(['MGET', 'HMGET']);

export function askedOf(command: string, args: readonly unknown[]): number {
  if (READS_ONE.has(command) || command === 'HGETALL') return 1;
  return command === 'MGET' ? args.length : command === 'HMGET' ? args.length - 1 : 0;
}

function sizeOf(reply: unknown): number | undefined {
  if (Array.isArray(reply)) return reply.length;
  if (reply instanceof Map || reply instanceof Set) return reply.size;
  return typeof reply === 'object' && reply !== null && !Buffer.isBuffer(reply)
    ? Object.keys(reply).length
    : undefined;
}

function hitsOf(command: string, reply: unknown): number | null {
  if (READS_ONE.has(command)) return reply === null ? 0 : 1;
  if (READS_LIST.has(command))
    return Array.isArray(reply) ? reply.filter((value) => value !== null).length : null;
  return command === 'HGETALL' ? Math.min(1, sizeOf(reply) ?? 0) : null;
}

export const FOUND: PlainLimits = { depth: 2, width: 10, length: 160, total: 30 };
/** Of what they read, they reply with the members themselves. */
const COLLECTIONS =
  /^(?:HGETALL|HVALS|SMEMBERS|S(?:DIFF|INTER|UNION|RANDMEMBER|POP)|LRANGE|LINDEX|[LR]POP|Z(?:REV)?RANGE(?:BYSCORE|BYLEX)?|ZSCORE)$/;

const MOST_BYTES = 65_536;

/** ioredis has bytes here, which it makes texts of later. */
function textIn(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(textIn);
  return Buffer.isBuffer(reply) && reply.length <= MOST_BYTES && isUtf8(reply) ? reply.toString() : reply;
}

/** A hash is a list of names and values until ioredis makes an object of it. */
function hashOf(reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  return Object.fromEntries(
    reply.flatMap((name: unknown, at) => (at % 2 === 0 ? [[String(name), reply[at + 1] as unknown]] : [])),
  );
}

function foundIn(command: string, args: readonly unknown[], received: unknown): CacheReply['found'] {
  if (!READS_ONE.has(command) && !READS_LIST.has(command) && !COLLECTIONS.test(command)) return undefined;
  const texts = textIn(received);
  const reply = command === 'HGETALL' ? hashOf(texts) : texts;
  if (reply === null || Buffer.isBuffer(reply)) return undefined;
  const fields = command === 'HMGET' ? args.slice(1) : args;
  if (READS_LIST.has(command) && Array.isArray(reply)) {
    const byField = Object.fromEntries(fields.map((field, at) => [String(field), reply[at] as unknown]));
    return { name: command, value: toPlain(byField, FOUND) };
  }
  const name = String(command === 'HGET' ? args[1] : args[0]);
  return { name, value: toPlain(reply, FOUND) };
}

function lengthOf(value: unknown): number | undefined {
  return typeof value === 'string' || Buffer.isBuffer(value) ? value.length : undefined;
}

/** Milliseconds by the unit of an option or command: `EX`, `PX`, and moments (`EXAT`). */
function lifetimeBy(unit: string, value: unknown): number | undefined {
  const amount = Number(value);
  if (!Number.isFinite(amount)) return undefined;
  const ms = unit.startsWith('P') ? amount : amount * 1000;
  return unit.endsWith('AT') ? Math.max(0, ms - epochMs()) : ms;
}

/** undefined: what it stores keeps the lifetime it had, or it stores nothing. */
function lifetimeOf(command: string, args: readonly unknown[]): number | null | undefined {
  switch (command) {
    case 'SETEX':
    case 'PSETEX':
    case 'EXPIRE':
    case 'PEXPIRE':
    case 'EXPIREAT':
    case 'PEXPIREAT':
      return lifetimeBy(command.replace('SETEX', 'EX').replace('EXPIRE', 'EX'), args[1]);
    case 'SET':
    case 'GETEX': {
      const words = args.map((word) => (typeof word === 'string' ? word.toUpperCase() : ''));
      const at = words.findIndex((word, index) => index > 0 && /^[EP]X(?:AT)?$/.test(word));
      if (at !== -1) return lifetimeBy(words[at] ?? '', args[at + 1]);
      return command === 'SET' && !words.includes('KEEPTTL') ? null : undefined;
    }
    case 'SETNX':
    case 'MSET':
    case 'PERSIST':
      return null;
    default:
      return undefined;
  }
}

function storedText(command: string, args: readonly unknown[]): unknown {
  if (command === 'SET' || command === 'SETNX') return args[1];
  return command === 'SETEX' || command === 'PSETEX' || command === 'HSET' ? args[2] : undefined;
}

function numberOf(command: string, args: readonly unknown[], reply: unknown): number | undefined {
  if (typeof reply === 'number') return reply;
  if (typeof reply === 'boolean') return Number(reply);
  const isConditional = command === 'SET' && args.slice(2).some((word) => /^[NX]X$/i.test(String(word)));
  return isConditional && (reply === null || reply === 'OK') ? Number(reply === 'OK') : undefined;
}

export function replyOf(command: string, args: readonly unknown[], result: unknown): CacheReply {
  if (result === undefined) return { hits: null };
  const reply = numberOf(command, args, result);
  const size = sizeOf(result);
  const found = foundIn(command, args, result);
  const length = lengthOf(storedText(command, args) ?? (READS_ONE.has(command) ? result : undefined));
  // What was not stored is not kept.
  const lifetimeMs = reply === 0 ? undefined : lifetimeOf(command, args);
  return {
    hits: hitsOf(command, result),
    ...(reply === undefined ? {} : { reply }),
    ...(found === undefined ? {} : { found }),
    ...(size === undefined ? {} : { size }),
    ...(length === undefined ? {} : { length }),
    ...(lifetimeMs === undefined ? {} : { lifetimeMs }),
  };
}
