/**
 * node-redis 4. The client's method that sends a command is private, so single commands are observed when they are queued, which
 * is still within the call of the application. The queue doesn't know its server.
 */
import type { LibraryPatch } from '../libraries.ts';
import { clientPrototypeOf, messageOf, messagesOf, type RedisExports, sendBatch } from './redis.ts';
import { redisChannels } from './redis-command.ts';
import { publishCalls } from './publish-calls.ts';
import { wrapCalls } from './wrap-method.ts';

const { redis: channel } = redisChannels;
/** While it runs, a batch queues its commands one after another. */
let isBatch = false;

/** The second argument of `multiExecutor` is a database, the third names a transaction; a pipeline has none. */
function patchBatches(exports: unknown): (() => void) | null {
  return wrapCalls(clientPrototypeOf(exports as RedisExports), 'multiExecutor', (execute, client, args) => {
    const call = (): unknown => {
      isBatch = true;
      try {
        return execute();
      } finally {
        isBatch = false;
      }
    };
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
    const isLibrary = isBatch || options?.asap === true;
    return isLibrary || !Array.isArray(command)
      ? null
      : { ...messageOf({}, command, null), connection: null };
  });
}

export const redis4Patches: readonly LibraryPatch[] = [
  { name: '@redis/client', patch: patchBatches },
  { name: '@redis/client', file: 'dist/lib/client/commands-queue.js', patch: patchQueue },
];
