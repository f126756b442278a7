/**
 * ioredis 4 and later. A command belongs to the code that makes it, not to the code that sends it: pipelines, automatic pipelining and
 * the queue for an open connection send commands of several requests at once. So the command's own `resolve` and `reject` are wrapped
 * where they are made, which also leaves alone whether a rejection counts as handled.
 */
import { isRealError } from '../../profiler/record/safe-read.ts';
import { performance } from 'node:perf_hooks';
import type { LibraryPatch } from '../libraries.ts';
import { addressOf, type RedisCommand, redisChannels } from './redis-command.ts';
import { publishEnd } from './trace.ts';
import { allOf, wrapCalls } from './wrap-method.ts';

interface Command {
  name: string;
  args: readonly unknown[];
  pipelineIndex?: number;
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
const connections = new WeakMap<RedisCommand, object>();
const transactions = new WeakMap<object, RedisCommand[]>();

function publishOver(message: RedisCommand): void {
  if (message.error !== undefined) channel.error.publish(message);
  publishEnd(channel, message);
}

function isQueued(reply: unknown): boolean {
  return (typeof reply === 'string' || Buffer.isBuffer(reply)) && String(reply) === 'QUEUED';
}

/** As node-redis says it. */
const GIVEN_UP = new Error('One (or more) of the watched keys has been changed');
GIVEN_UP.name = 'WatchError';

/** EXEC replies with a list, or with null if a watched key had changed. */
function endTransaction(members: readonly RedisCommand[], { result, error }: RedisCommand): void {
  members.forEach((message, index) => {
    const reply: unknown = Array.isArray(result) ? result[index] : undefined;
    message.error = isRealError(reply) ? reply : result === null ? GIVEN_UP : error;
    message.result = message.error === undefined ? reply : undefined;
    publishOver(message);
  });
}

function endCommand(message: RedisCommand): void {
  const connection = connections.get(message) ?? message;
  const name = message.name.toLowerCase();
  if (name === 'multi' && message.error === undefined) transactions.set(connection, []);
  const members = transactions.get(connection);
  if (members !== undefined) message.batch = 'transaction';
  if (members !== undefined && isQueued(message.result)) {
    members.push(message);
    return;
  }
  if (members !== undefined && (name === 'exec' || name === 'discard')) {
    transactions.delete(connection);
    endTransaction(members, message);
  }
  publishOver(message);
}

function publishMade(command: Command): void {
  const made = messages.get(command);
  const { resolve, reject, name, args } = command;
  const message: RedisCommand = made ?? { client: 'ioredis', name, args, connection: null, batch: null, sentMark: null }; // prettier-ignore
  const end = (): void => {
    // Only now with the prefix that ioredis puts before its keys.
    message.args = command.args;
    endCommand(message);
  };
  const resolved: typeof resolve = (value) => {
    message.result = value;
    end();
    resolve(value);
  };
  const rejected: typeof reject = (error) => {
    message.error = error;
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

function noteSent(client: Redis, command: Command): void {
  const message = messages.get(command);
  if (message === undefined) return;
  if (message.sentMark !== null) {
    // From the queue of commands that waited for the connection, or once more to another node.
    message.queuedMs ??= performance.now() - message.sentMark;
    return;
  }
  const { options = {}, condition } = client;
  message.sentMark = performance.now();
  message.connection = addressOf(options, condition?.select ?? options.db);
  connections.set(message, client);
  if (command.pipelineIndex !== undefined) message.batch = 'pipeline';
}

export const ioredisPatch: LibraryPatch = {
  name: 'ioredis',
  patch(exports) {
    const { Command: CommandClass, prototype } = exports as Exports;
    return allOf(
      wrapCalls(CommandClass?.prototype, 'initPromise', (call, command) => {
        const result = call();
        if (channel.start.hasSubscribers) publishMade(command as Command);
        return result;
      }),
      wrapCalls(prototype, 'sendCommand', (call, client, [command]) => {
        if (channel.start.hasSubscribers) noteSent(client, command as Command);
        return call();
      }),
    );
  },
};
