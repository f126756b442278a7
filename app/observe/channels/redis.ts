/** node-redis 5 and later: the class of `@redis/client`, whatever package loaded it. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { addressOf, type RedisCommand } from './redis-command.ts';
import { replaceMethod } from './replace-method.ts';

interface Queued {
  args: readonly unknown[];
}

interface Client {
  options?: { socket?: { path?: unknown; host?: unknown; port?: unknown }; database?: unknown };
  sendCommand(args: readonly unknown[], ...rest: unknown[]): Promise<unknown>;
  _executePipeline(commands: readonly Queued[], ...rest: unknown[]): Promise<unknown>;
  _executeMulti(commands: readonly Queued[], ...rest: unknown[]): Promise<unknown>;
}

interface Exports {
  RedisClient?: { prototype?: Client };
  createClient?: (options: object) => object;
}

/** Version 5 keeps the class to itself: it is found from a client, which connects to nothing by itself. */
function prototypeOf({ RedisClient, createClient }: Exports): Client | null {
  if (RedisClient?.prototype !== undefined) return RedisClient.prototype;
  let prototype: object | null = createClient?.({}) ?? null;
  while (prototype !== null && !Object.hasOwn(prototype, 'sendCommand'))
    prototype = Object.getPrototypeOf(prototype) as object | null;
  return prototype as Client | null;
}

function messageOf(
  client: Client,
  [name, ...args]: readonly unknown[],
  batch: RedisCommand['batch'],
): RedisCommand {
  const { socket = {}, database } = client.options ?? {};
  return {
    client: 'redis',
    name: String(name),
    args,
    connection: addressOf(socket, database),
    batch,
    sentMark: null,
  };
}

export const redisPatch: LibraryPatch = {
  name: '@redis/client',
  patch(exports) {
    const prototype = prototypeOf(exports as Exports);
    if (
      typeof prototype?.sendCommand !== 'function' ||
      typeof prototype._executePipeline !== 'function' ||
      typeof prototype._executeMulti !== 'function'
    )
      return null;
    const channel = tracingChannel<unknown, RedisCommand>('express-hindsight:redis:command');
    const { sendCommand, _executePipeline: executePipeline, _executeMulti: executeMulti } = prototype;

    function send(this: Client, args: readonly unknown[], ...rest: unknown[]): Promise<unknown> {
      const work = (): Promise<unknown> => Reflect.apply(sendCommand, this, [args, ...rest]);
      return channel.hasSubscribers && Array.isArray(args)
        ? channel.tracePromise(work, messageOf(this, args, null))
        : work();
    }

    /** The reply of a batch is the list of its commands' replies. */
    function sendBatch(
      client: Client,
      {
        commands,
        batch,
        work,
      }: { commands: readonly Queued[]; batch: RedisCommand['batch']; work: () => Promise<unknown> },
    ): Promise<unknown> {
      if (!channel.hasSubscribers) return work();
      const messages = commands.map(({ args }) => messageOf(client, args, batch));
      for (const message of messages) channel.start.publish(message);
      const finish = (settle: (message: RedisCommand, index: number) => void): void => {
        messages.forEach((message, index) => {
          settle(message, index);
          if (message.error !== undefined) channel.error.publish(message);
          channel.asyncEnd.publish(message);
        });
      };
      return work().then(
        (replies) => {
          finish((message, index) => {
            const reply: unknown = Array.isArray(replies) ? replies[index] : undefined;
            if (reply instanceof Error) message.error = reply;
            else message.result = reply;
          });
          return replies;
        },
        (error: unknown) => {
          finish((message) => {
            message.error = error;
          });
          throw error;
        },
      );
    }

    const undo = [
      replaceMethod(prototype, 'sendCommand', send),
      replaceMethod(prototype, '_executePipeline', function (this: Client, commands, ...rest) {
        const work = (): Promise<unknown> => Reflect.apply(executePipeline, this, [commands, ...rest]);
        return sendBatch(this, { commands, batch: 'pipeline', work });
      }),
      replaceMethod(prototype, '_executeMulti', function (this: Client, commands, ...rest) {
        const work = (): Promise<unknown> => Reflect.apply(executeMulti, this, [commands, ...rest]);
        return sendBatch(this, { commands, batch: 'transaction', work });
      }),
    ];
    return () => {
      for (const restore of undo) restore();
    };
  },
};
