/** Commands of Redis -> facts `cache`: what the patches of ioredis and node-redis publish (channels/redis-command.ts). */
import type { Repeating } from '../profiler/fact-list.ts';
import { argumentsOf, type CacheArgument, keyOf } from '../profiler/redis-arguments.ts';
import { type RedisCommand, redisChannels } from './channels/redis-command.ts';
import { observeCalls } from './observe-calls.ts';
import { closing, type ObserverParts } from './subscribe.ts';

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

/** One value, null if there is none. */
const READS_ONE = new Set(['GET', 'GETEX', 'GETDEL', 'HGET', 'JSON.GET']);
/** A list of values, null for each that there is none of. */
const READS_LIST = new Set(['MGET', 'HMGET']);

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
    args: argumentsOf(command, args),
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
