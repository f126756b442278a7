/** node-redis 4 and later: the class of `@redis/client`, whatever package loaded it. */
import { isRealError } from '../../profiler/record/safe-read.ts';
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { addressOf, redisChannels, type RedisCommand } from './redis-command.ts';
import { createInside, publishCalls, publishEnd, publishError } from './trace.ts';
import { allOf, ownerOf, wrapCalls } from './wrap-method.ts';

interface Client {
  options?: { socket?: { path?: unknown; host?: unknown; port?: unknown }; database?: unknown };
}

interface RedisExports {
  RedisClient?: { prototype?: object };
  createClient?: (options: object) => object;
}

const { redis: channel } = redisChannels;

export const redisTask = tracingChannel('express-hindsight:redis:task');

/** Versions 4 and 5 do not export the class: it is read from a client, which does not connect by itself. */
function clientPrototypeOf({ RedisClient, createClient }: RedisExports): object | null {
  if (RedisClient?.prototype !== undefined) return RedisClient.prototype;
  return ownerOf(createClient?.({}), 'sendCommand');
}

function messageOf(client: Client, command: readonly unknown[], batch: RedisCommand['batch']): RedisCommand {
  const { socket = {}, database } = client.options ?? {};
  const [name, ...args] = command;
  return {
    client: 'redis',
    name: String(name),
    args,
    connection: addressOf(socket, database),
    batch,
    sentMark: null,
  };
}

function messagesOf(
  client: unknown,
  commands: readonly unknown[],
  batch: RedisCommand['batch'],
): RedisCommand[] {
  const queued = commands as readonly { args: readonly unknown[] }[];
  return queued.map(({ args }) => messageOf(client as Client, args, batch));
}

/** The reply to a batch is the list of its commands' replies. */
function settle(messages: readonly RedisCommand[], replies: unknown, error: unknown): void {
  messages.forEach((message, index) => {
    const reply: unknown = Array.isArray(replies) ? replies[index] : undefined;
    if (error !== undefined || isRealError(reply)) publishError(channel, message, error ?? reply);
    else message.result = reply;
    publishEnd(channel, message);
  });
}

function sendBatch(
  messages: readonly RedisCommand[],
  call: () => unknown,
  repliesOf: (result: unknown) => unknown = (result) => result,
): unknown {
  for (const message of messages) {
    channel.start.publish(message);
    channel.end.publish(message);
  }
  return (call() as Promise<unknown>).then(
    (result) => {
      settle(messages, repliesOf(result), undefined);
      return result;
    },
    (error: unknown) => {
      settle(messages, null, error ?? null);
      throw error;
    },
  );
}

function wrapBatch(prototype: object | null, name: string, batch: RedisCommand['batch']) {
  return wrapCalls(prototype, name, (call, client, [commands]) =>
    channel.start.hasSubscribers && Array.isArray(commands)
      ? sendBatch(messagesOf(client, commands, batch), call)
      : call(),
  );
}

function patchClient(exports: unknown): (() => void) | null {
  const prototype = clientPrototypeOf(exports as RedisExports);
  return allOf(
    publishCalls(prototype, 'sendCommand', channel, (client, [command]) =>
      Array.isArray(command) ? messageOf(client, command, null) : null,
    ),
    wrapBatch(prototype, '_executePipeline', 'pipeline'),
    wrapBatch(prototype, '_executeMulti', 'transaction'),
  );
}

/** A pool runs a task that waited where the task before it ended, which is in another request. */
function patchPool(exports: unknown): (() => void) | null {
  const { RedisClientPool: Pool } = exports as { RedisClientPool?: { prototype: object } };
  return wrapCalls(Pool?.prototype, 'execute', (call, _pool, args) => {
    const [task] = args;
    if (!redisTask.start.hasSubscribers || typeof task !== 'function') return call();
    const message = {};
    redisTask.start.publish(message);
    const followed = (client: unknown): unknown =>
      redisTask.asyncStart.runStores(message, () => Reflect.apply(task, undefined, [client]) as unknown);
    args[0] = followed;
    return call();
  });
}

/** While it runs, a batch queues its commands one after another. */
const batches = createInside();

/** The second argument of `multiExecutor` is a database, the third names a transaction; a pipeline has none. */
function patchBatches(exports: unknown): (() => void) | null {
  return wrapCalls(clientPrototypeOf(exports as RedisExports), 'multiExecutor', (execute, client, args) => {
    const call = (): unknown => batches.run(execute);
    const [commands, , transaction] = args;
    if (!channel.start.hasSubscribers || !Array.isArray(commands)) return call();
    if (transaction === undefined) return sendBatch(messagesOf(client, commands, 'pipeline'), call);
    const replyToExec = (replies: unknown): unknown => (replies as unknown[]).at(-1);
    return sendBatch(messagesOf(client, commands, 'transaction'), call, replyToExec);
  });
}

function patchQueue(exports: unknown): (() => void) | null {
  const { default: Queue } = exports as { default?: { prototype: { getCommandToSend?: unknown } } };
  // Later versions have a queue as well, but not this method.
  if (typeof Queue?.prototype.getCommandToSend !== 'function') return null;
  return publishCalls(Queue.prototype, 'addCommand', channel, (_queue, args) => {
    const [command, options] = args as [unknown, { asap?: unknown }?];
    // What opens a connection is queued before all else.
    const isLibrary = batches.isInside() || options?.asap === true;
    return isLibrary || !Array.isArray(command)
      ? null
      : { ...messageOf({}, command, null), connection: null };
  });
}

/**
 * Version 4. The client's method that sends a command is private, so single commands are observed when they are queued, which is still
 * within the call of the application. The queue doesn't know its server.
 */
const REDIS_4: readonly LibraryPatch[] = [
  { name: '@redis/client', patch: patchBatches },
  { name: '@redis/client', file: 'dist/lib/client/commands-queue.js', patch: patchQueue },
];

/** An application may name either: `redis` hands on what `@redis/client` exports. */
export const redisPatches: readonly LibraryPatch[] = [
  ...['@redis/client', 'redis'].map((name) => ({ name, patch: patchClient })),
  { name: '@redis/client', file: 'dist/lib/client/pool.js', patch: patchPool },
  ...REDIS_4,
];
