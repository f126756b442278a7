/** Commands of Redis -> facts `cache`, published by the patches of ioredis and node-redis (channels/redis-command.ts). */
import type { Context } from '../../profiler/record/context.ts';
import type { Repeating } from '../../profiler/record/fact-list.ts';
import { argumentsOf, type CacheArgument, keyOf } from '../../profiler/masking/redis-arguments.ts';
import type { MemoryCall } from '../channels/memory-cache.ts';
import { redisTask } from '../channels/redis.ts';
import { type RedisCommand, redisChannels } from '../channels/redis-command.ts';
import { createKeyHistory, type KeyHistory, type MissFact, type SimilarKey } from './key-history.ts';
import { observeCalls } from '../observe-calls.ts';
import { askedOf, type CacheReply, replyOf } from './redis-reply.ts';
import type { LeafChange } from './value-leaves.ts';
import type { Called } from '../stacks/caller.ts';
import { closing, type ObserverParts, subscribeTo } from '../subscribe.ts';

export interface StoredBy {
  by: string | null;
  place: string | null;
  /** Milliseconds before. */
  ms: number;
}

export interface CachedChange extends LeafChange {
  /** Whoever had it before the change. */
  since: StoredBy & { isRead: boolean; isSafe: boolean };
  isLoaded: boolean;
}

export interface CacheFact extends CacheReply, MissFact, Called {
  /** `memory`: a cache in the process. */
  system: 'redis' | 'memory';
  client: RedisCommand['client'] | MemoryCall['library'];
  command: string;
  key: string | null;
  args: CacheArgument[];
  asked: number;
  startMs: number;
  durationMs: number | null;
  waitMs?: number;
  batch: RedisCommand['batch'];
  error: string | null;
  connection: string | null;
  similar?: SimilarKey;
  /** Of a value found in the process. */
  stored?: StoredBy;
  changed?: CachedChange;
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    cache: CacheFact;
  }
}

const AT_CONNECT = new Set(['HELLO', 'AUTH', 'SELECT', 'INFO', 'CLIENT', 'CLUSTER', 'READONLY']);

/** Sent by the client itself when it connects; not the application's, and older servers reject some of it. */
function isIntroduction(command: string, [first]: readonly unknown[], caller: string | null): boolean {
  if (command === 'CLIENT' && String(first).toUpperCase() === 'SETINFO') return true;
  return AT_CONNECT.has(command) && (caller === null || caller.includes('node_modules/'));
}

export const REPEATED: Repeating<CacheFact> = { key: ({ caller, command }) => `${caller ?? ''}\n${command}` };

function described(message: RedisCommand, findCalled: () => Called) {
  const { client, args, batch, connection } = message;
  const command = message.name.toUpperCase().slice(0, 50);
  const called = findCalled();
  if (isIntroduction(command, args, called.caller)) return null;
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
    ...called,
    connection,
  };
}

const WAIT_FROM_MS = 1;
/** Whose reads and writes are of one value. */
const READS = new Set(['GET', 'HGET', 'JSON.GET']);
const STORES = new Set(['SET', 'SETEX', 'PSETEX', 'SETNX', 'HSET', 'JSON.SET']);
const EXPIRES = new Set(['EXPIRE', 'PEXPIRE', 'EXPIREAT', 'PEXPIREAT', 'PERSIST', 'GETEX']);
const DELETES = new Set(['DEL', 'UNLINK']);

/** Tells the history of its keys what a command did, and takes from it what came before. */
export function remember(history: KeyHistory, fact: CacheFact, { token }: Context): void {
  const { command, key, args, caller, connection } = fact;
  if (key === null) return;
  const field = command === 'HGET' || command === 'HSET' ? ` ${args[0]?.value ?? ''}` : '';
  const name = `${connection ?? ''}\n${key}${field}`;
  const write = { by: token, place: caller };
  if (READS.has(command)) {
    const line = `${command} ${caller ?? ''}`;
    history.read(name, { line, token, fact, isHit: (fact.hits ?? 0) > 0 });
  } else if (STORES.has(command)) {
    // 0 of `HSET`: the field was there before.
    if (fact.reply !== 0 || command === 'HSET') history.stored(name, fact.lifetimeMs, { write, fact });
  } else if (EXPIRES.has(command)) {
    if (fact.lifetimeMs !== undefined && fact.hits !== 0) history.kept(name, fact.lifetimeMs, write);
  } else if (DELETES.has(command)) {
    const similar = history.deleted(name, fact.reply ?? 1, caller);
    if (similar !== null) fact.similar = similar;
  }
}

export function observeCache(parts: ObserverParts): { close(): void } {
  const history = createKeyHistory();
  const asked = new WeakMap<object, Context | null>();
  return closing([
    subscribeTo<object>(redisTask.start, (task) => asked.set(task, parts.tracker.current() ?? null)),
    parts.tracker.follow(redisTask.asyncStart, (task) => asked.get(task as object)),
    ...Object.entries(redisChannels).map(([client, channel]) =>
      observeCalls<RedisCommand, 'cache'>({
        ...parts,
        fact: 'cache',
        repeating: REPEATED,
        library: client === 'redis' ? '@redis' : client,
        channel,
        describe: described,
        outcome(fact, { sentMark, queuedMs, args, batch, connection, result, error }, context) {
          if (sentMark !== null) fact.startMs = context.sinceStart(sentMark);
          if (queuedMs !== undefined && queuedMs >= WAIT_FROM_MS) fact.waitMs = queuedMs;
          // Only now with the prefix that ioredis puts before it.
          fact.key = keyOf(fact.command, args);
          fact.batch = batch;
          fact.connection = connection;
          if (error !== undefined || result === undefined) return;
          Object.assign(fact, replyOf(fact.command, args, result));
          remember(history, fact, context);
        },
      }),
    ),
  ]);
}
