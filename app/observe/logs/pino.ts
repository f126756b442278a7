/**
 * pino -> facts `log`, by its tracing channel `pino_asJson`. We read the finished line, to which pino's own `redact` and serializers
 * have been applied.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import { wrapCalls } from '../channels/wrap-method.ts';
import type { LibraryPatch } from '../libraries.ts';
import { loggedErrorOf } from '../errors-seen.ts';
import { readJsonLine } from './log-lines.ts';
import { type LogObserverParts, recordLog } from './logs.ts';
import { subscribeTo } from '../subscribe.ts';

const { end } = tracingChannel('pino_asJson');
const PUBLISHES = /\bhasSubscribers\b/;

/** pino before 9.8; from then on it publishes by itself. */
export const pinoPatch: LibraryPatch = {
  name: 'pino',
  file: 'lib/proto.js',
  patch(exports) {
    if (typeof exports !== 'function') return null;
    // All loggers inherit from this, also those made before.
    const prototype: unknown = Object.getPrototypeOf((exports as () => object)());
    if (typeof prototype !== 'object' || prototype === null) return null;
    const name = Object.getOwnPropertySymbols(prototype).find(
      ({ description }) => description === 'pino.asJson',
    );
    const asJson: unknown = name === undefined ? undefined : Reflect.get(prototype, name);
    if (name === undefined || typeof asJson !== 'function') return null;
    if (PUBLISHES.test(Function.prototype.toString.call(asJson))) return () => undefined;
    return wrapCalls(prototype, name, (call, instance, args) => {
      const result = call();
      if (end.hasSubscribers) end.publish({ instance, arguments: args, result });
      return result;
    });
  },
};

export function observePino({ tracker, gate, findCaller }: LogObserverParts): { close(): void } {
  const stop = subscribeTo<{ result?: unknown; arguments?: ArrayLike<unknown> }>(
    end,
    ({ result, arguments: args }) => {
      const context = gate.writing ? undefined : tracker.current();
      if (context === undefined || typeof result !== 'string') return;
      // If its stream is standard output, the same text is written there next.
      gate.last = result;
      const line = readJsonLine(result.trimEnd());
      if (line === null) return;
      recordLog(context, {
        level: line.level,
        channel: line.channel ?? 'pino',
        args: line.context === null ? [line.message] : [line.message, line.context],
        called: findCaller?.called({ skip: 'pino' }) ?? null,
        // What pino was given, before its serializers; the line has the text only.
        error: args === undefined ? null : loggedErrorOf([args[0]]),
      });
    },
  );
  return { close: stop };
}
