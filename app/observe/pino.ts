/**
 * pino -> facts `log`, by its tracing channel `pino_asJson` (channels/pino.ts). We read the finished line, to
 * which pino's own `redact` and serializers have been applied.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { loggedErrorOf } from './errors-seen.ts';
import { readJsonLine } from './log-lines.ts';
import { type LogObserverParts, recordLog } from './logs.ts';

const FINISHED = 'tracing:pino_asJson:end';

export function observePino({ tracker, gate, findCaller }: LogObserverParts): { close(): void } {
  function onLine(message: unknown): void {
    const { result, arguments: args } = message as { result?: unknown; arguments?: ArrayLike<unknown> };
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
      caller: findCaller?.({ skip: 'pino' }) ?? null,
      // What pino was given, before its serializers; the line has the text only.
      error: args === undefined ? null : loggedErrorOf([args[0]]),
    });
  }

  subscribe(FINISHED, onLine);
  return {
    close() {
      unsubscribe(FINISHED, onLine);
    },
  };
}
