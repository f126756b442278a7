/** Commands of Redis -> facts `cache`: what the patches of ioredis and node-redis publish (channels/redis-command.ts). */
import { isUtf8 } from 'node:buffer';
import type { Repeating } from '../profiler/fact-list.ts';
import { truncateText } from '../profiler/plain.ts';
import { type RedisCommand, redisChannels } from './channels/redis-command.ts';
import { observeCalls } from './observe-calls.ts';
import { closing, type ObserverParts } from './subscribe.ts';

/** A part of a command after its key; the name is that of the key or field that it is the value of. */
export interface CacheArgument {
  name: string | null;
  value: string;
}

export interface CacheFact {
  system: 'redis';
  client: RedisCommand['client'];
  /** In capitals: `GET`. */
  command: string;
  key: string | null;
  args: CacheArgument[];
  /** Values that a read requested; 0 for any other command. */
  asked: number;
  /** How many of them were there; null before the reply, or if it failed. */
  hits: number | null;
  startMs: number;
  /** To the reply; null while it runs. */
  durationMs: number | null;
  /** Sent together with others. */
  batch: RedisCommand['batch'];
  error: string | null;
  caller: string | null;
  /** `host:port/database`; null before it was sent. */
  connection: string | null;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    cache: CacheFact;
  }
}

const KEY_LENGTH = 500;
const VALUE_LENGTH = 300;
const MOST_ARGS = 30;

/** Their arguments are credentials, or set some. */
const SECRET = new Set(['AUTH', 'HELLO', 'ACL', 'CONFIG', 'MIGRATE']);
/** Their first argument is no key. */
const KEYLESS = new Set([
  'CLIENT', 'CLUSTER', 'COMMAND', 'ECHO', 'EVAL', 'EVALSHA', 'EVAL_RO', 'EVALSHA_RO', 'FCALL', 'FCALL_RO', 'FUNCTION', 'INFO', 'KEYS', 'LATENCY',
  'MEMORY', 'MODULE', 'OBJECT', 'PING', 'SCAN', 'SCRIPT', 'SELECT', 'SLOWLOG', 'WAIT', 'XREAD', 'XREADGROUP',
]); // prettier-ignore
/** Behind a script come the number of its keys, and those. */
const SCRIPTS = new Set(['EVAL', 'EVALSHA', 'EVAL_RO', 'EVALSHA_RO', 'FCALL', 'FCALL_RO']);
/** Key and value in turn, from the first argument on. */
const PAIRS = new Set(['MSET', 'MSETNX']);
/** Field and value in turn, behind the key. */
const FIELDS = new Set(['HSET', 'HMSET', 'HSETNX']);
/** One value, null if there is none. */
const READS_ONE = new Set(['GET', 'GETEX', 'GETDEL', 'HGET', 'JSON.GET']);
/** A list of values, null for each that there is none of. */
const READS_LIST = new Set(['MGET', 'HMGET']);

function textOf(value: unknown, length: number): string {
  if (typeof value === 'string') return truncateText(value, length);
  // Packed values, such as those of bullmq, hide from masking where a name or a token begins.
  if (Buffer.isBuffer(value) && !isUtf8(value)) return `[Buffer, ${value.length} bytes]`;
  if (Buffer.isBuffer(value)) return truncateText(value.toString('utf8', 0, length * 4), length);
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : `[${typeof value}]`; // prettier-ignore
}

function keyOf(command: string, args: readonly unknown[]): string | null {
  const key = SCRIPTS.has(command) ? (Number(args[1]) > 0 ? args[2] : undefined) : KEYLESS.has(command) ? undefined : args[0]; // prettier-ignore
  return key === undefined || SECRET.has(command) ? null : textOf(key, KEY_LENGTH);
}

/** Of a value: the key or field that it is written to, so that it is masked where that names a secret. */
function nameAt(command: string, args: readonly unknown[], at: number): string | null {
  const isFieldValue = FIELDS.has(command) && at % 2 === 0;
  if (isFieldValue || (PAIRS.has(command) && at % 2 === 1)) return textOf(args[at - 1], KEY_LENGTH);
  return FIELDS.has(command) || PAIRS.has(command) ? null : keyOf(command, args);
}

function argsOf(command: string, args: readonly unknown[]): CacheArgument[] {
  if (SECRET.has(command)) return [];
  const from = KEYLESS.has(command) ? 0 : 1;
  const kept = args.slice(from, from + MOST_ARGS).map((value, index) => ({
    name: nameAt(command, args, from + index),
    value: textOf(value, VALUE_LENGTH),
  }));
  const more = args.length - from - kept.length;
  return more > 0 ? [...kept, { name: null, value: `… ${more} more` }] : kept;
}

function askedOf(command: string, args: readonly unknown[]): number {
  if (READS_ONE.has(command) || command === 'HGETALL') return 1;
  return command === 'MGET' ? args.length : command === 'HMGET' ? args.length - 1 : 0;
}

function sizeOf(reply: unknown): number {
  if (Array.isArray(reply)) return reply.length;
  if (reply instanceof Map) return reply.size;
  return typeof reply === 'object' && reply !== null ? Object.keys(reply).length : 0;
}

/** null if the reply does not show it. */
function hitsOf(command: string, reply: unknown): number | null {
  if (reply === undefined) return null;
  if (READS_ONE.has(command)) return reply === null ? 0 : 1;
  if (READS_LIST.has(command))
    return Array.isArray(reply) ? reply.filter((value) => value !== null).length : null;
  return command === 'HGETALL' ? Math.min(1, sizeOf(reply)) : null;
}

/** Sent by the client itself when it connects; not the application's, and older servers reject it. */
function isIntroduction({ name, args: [first] }: RedisCommand): boolean {
  return name.toUpperCase() === 'CLIENT' && String(first).toUpperCase() === 'SETINFO';
}

const REPEATED: Repeating<CacheFact> = { key: ({ caller, command }) => `${caller ?? ''}\n${command}` };

function described(message: RedisCommand, findCaller: () => string | null) {
  if (isIntroduction(message)) return null;
  const { client, args, batch, connection } = message;
  const command = message.name.toUpperCase().slice(0, 50);
  return {
    system: 'redis' as const,
    client,
    command,
    key: keyOf(command, args),
    args: argsOf(command, args),
    asked: askedOf(command, args),
    hits: null,
    batch,
    error: null,
    caller: findCaller(),
    connection,
  };
}

export function observeCache(parts: ObserverParts): { close(): void } {
  return closing(
    Object.entries(redisChannels).map(([client, channel]) =>
      observeCalls<RedisCommand, 'cache'>({
        ...parts,
        fact: 'cache',
        repeating: REPEATED,
        library: client === 'redis' ? '@redis' : client,
        channel,
        describe: described,
        outcome(fact, { sentMark, args, batch, connection, result, error }, context) {
          if (sentMark !== null) fact.startMs = context.sinceStart(sentMark);
          // Only now with the prefix that ioredis puts before it.
          fact.key = keyOf(fact.command, args);
          fact.batch = batch;
          fact.connection = connection;
          if (error === undefined) fact.hits = hitsOf(fact.command, result);
        },
      }),
    ),
  );
}
