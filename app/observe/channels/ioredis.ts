/**
 * ioredis 4 and later. A command belongs to the code that makes it, not to the code that sends it: pipelines, automatic pipelining and
 * the queue for an open connection send commands of several requests at once. So the command's own `resolve` and `reject` are wrapped
 * where they are made, which also leaves alone whether a rejection counts as handled.
 */
import { performance } from 'node:perf_hooks';
import type { LibraryPatch } from '../libraries.ts';
import { addressOf, type RedisCommand, redisChannels } from './redis-command.ts';
import { allOf, wrapMethod } from './wrap-method.ts';

interface Command {
  name: string;
  args: readonly unknown[];
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

interface Redis {
  options?: { path?: unknown; host?: unknown; port?: unknown; db?: unknown };
  condition?: { select?: unknown } | null;
}

interface Exports {
  Command?: { prototype?: object };
  prototype?: object;
}

const { ioredis: channel } = redisChannels;
const messages = new WeakMap<Command, RedisCommand>();

/** Called again for a command that a cluster tries once more. */
function publishMade(command: Command): void {
  const made = messages.get(command);
  const { resolve, reject, name, args } = command;
  const message: RedisCommand = made ?? { client: 'ioredis', name, args, connection: null, batch: null, sentMark: null }; // prettier-ignore
  const end = (): void => {
    // Only now with the prefix that ioredis puts before its keys.
    message.args = command.args;
    channel.asyncStart.publish(message);
    channel.asyncEnd.publish(message);
  };
  const resolved: typeof resolve = (value) => {
    message.result = value;
    end();
    resolve(value);
  };
  const rejected: typeof reject = (error) => {
    message.error = error;
    channel.error.publish(message);
    end();
    reject(error);
  };
  command.resolve = resolved;
  command.reject = rejected;
  if (made !== undefined) return;
  messages.set(command, message);
  channel.start.publish(message);
  channel.end.publish(message);
}

function noteSent({ options = {}, condition }: Redis, command: Command, stream: unknown): void {
  const message = messages.get(command);
  if (message?.sentMark !== null) return;
  message.sentMark = performance.now();
  message.connection = addressOf(options, condition?.select ?? options.db);
  if ((stream as { isPipeline?: unknown } | null | undefined)?.isPipeline === true)
    message.batch = 'pipeline';
}

export const ioredisPatch: LibraryPatch = {
  name: 'ioredis',
  patch(exports) {
    const { Command: CommandClass, prototype } = exports as Exports;
    return allOf(
      wrapMethod(
        CommandClass?.prototype,
        'initPromise',
        (original) =>
          function (this: unknown, ...args) {
            const result = Reflect.apply(original, this, args);
            if (channel.start.hasSubscribers) publishMade(this as Command);
            return result;
          },
      ),
      wrapMethod(
        prototype,
        'sendCommand',
        (original) =>
          function (this: unknown, ...args) {
            if (channel.start.hasSubscribers) noteSent(this as Redis, args[0] as Command, args[1]);
            return Reflect.apply(original, this, args);
          },
      ),
    );
  },
};
