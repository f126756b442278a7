/**
 * ioredis 4 and later. A command belongs to the code that makes it, not to the code that sends it: pipelines, automatic pipelining and
 * the queue for an open connection send commands of several requests at once. So the command's own `resolve` and `reject` are wrapped
 * where they are made, which also leaves alone whether a rejection counts as handled.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import { performance } from 'node:perf_hooks';
import type { LibraryPatch } from '../libraries.ts';
import { addressOf, type RedisCommand } from './redis-command.ts';
import { replaceMethod } from './replace-method.ts';

interface Command {
  name: string;
  args: readonly unknown[];
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  initPromise(): void;
}

interface Redis {
  options?: { path?: unknown; host?: unknown; port?: unknown; db?: unknown };
  condition?: { select?: unknown } | null;
  sendCommand(command: Command, stream?: unknown, ...rest: unknown[]): unknown;
}

interface Exports {
  Command?: { prototype?: Command };
  prototype?: Redis;
}

export const ioredisPatch: LibraryPatch = {
  name: 'ioredis',
  patch(exports) {
    const { Command: CommandClass, prototype: redis } = exports as Exports;
    const command = CommandClass?.prototype;
    if (typeof command?.initPromise !== 'function' || typeof redis?.sendCommand !== 'function') return null;
    const channel = tracingChannel<unknown, RedisCommand>('express-hindsight:ioredis:command');
    const messages = new WeakMap<Command, RedisCommand>();
    const { initPromise } = command;
    const { sendCommand } = redis;

    function end(message: RedisCommand): void {
      channel.asyncStart.publish(message);
      channel.asyncEnd.publish(message);
    }

    /** Called by the constructor, and again for a command that a cluster tries once more. */
    function make(this: Command): void {
      Reflect.apply(initPromise, this, []);
      if (!channel.hasSubscribers) return;
      const made = messages.get(this);
      const message: RedisCommand =
        made ?? { client: 'ioredis', name: this.name, args: this.args, connection: null, batch: null, sentMark: null }; // prettier-ignore
      const { resolve, reject } = this;
      this.resolve = (value) => {
        message.result = value;
        message.args = this.args;
        end(message);
        resolve(value);
      };
      this.reject = (error) => {
        message.error = error;
        message.args = this.args;
        channel.error.publish(message);
        end(message);
        reject(error);
      };
      if (made !== undefined) return;
      messages.set(this, message);
      channel.start.publish(message);
      channel.end.publish(message);
    }

    function send(this: Redis, sent: Command, stream?: unknown, ...rest: unknown[]): unknown {
      const message = messages.get(sent);
      if (message?.sentMark === null) {
        const { options = {}, condition } = this;
        message.sentMark = performance.now();
        message.connection = addressOf(options, condition?.select ?? options.db);
        if ((stream as { isPipeline?: unknown } | null | undefined)?.isPipeline === true)
          message.batch = 'pipeline';
      }
      return Reflect.apply(sendCommand, this, [sent, stream, ...rest]);
    }

    const undo = [replaceMethod(command, 'initPromise', make), replaceMethod(redis, 'sendCommand', send)];
    return () => {
      for (const restore of undo) restore();
    };
  },
};
