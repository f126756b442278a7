/**
 * console.* -> facts `log`. The wrapped methods pass everything on unchanged; a line written while another is being recorded is not recorded.
 * The wrapping of `log`, `info`, `debug`, `warn` and `error` goes with Node 20: later versions publish them on channels (`console.log`, …).
 */
import { replaceMethod } from '../channels/wrap-method.ts';
import { createLogGate, type LogGate, type LogLevel, recordLog, writeRecorded } from './logs.ts';
import type { ObserverParts } from '../subscribe.ts';

export interface ObserveConsoleOptions extends ObserverParts {
  gate?: LogGate;
  console?: Console;
}

const METHODS = {
  debug: 'debug',
  trace: 'debug',
  log: 'info',
  info: 'info',
  dir: 'info',
  table: 'info',
  warn: 'warn',
  error: 'error',
} as const satisfies Record<string, LogLevel>;

type Method = keyof typeof METHODS;
type Write = (...args: unknown[]) => void;

/** Node.js writes its own warnings by `console.error`: `(node:1234) [DEP0040] DeprecationWarning: …`. */
const NODE_WARNING = /^\(node:\d+\) (?:\[\w+\] )?\w*Warning: /;

function isNodeWarning([text]: readonly unknown[]): boolean {
  return typeof text === 'string' && NODE_WARNING.test(text);
}

/** `console.assert` writes only when it fails, through `warn`, as in Node itself. */
export function observeConsole(options: ObserveConsoleOptions): { close(): void } {
  const { tracker, gate = createLogGate(), findCaller, console: target = globalThis.console } = options;
  let closed = false;

  function note(method: Method, args: readonly unknown[]): void {
    const context = closed ? undefined : tracker.current();
    if (context === undefined) return;
    const called = findCaller?.called() ?? null;
    // `dir` and `table` take options after the value.
    const given = method === 'dir' || method === 'table' ? args.slice(0, 1) : args;
    const level = method === 'error' && isNodeWarning(args) ? 'warn' : METHODS[method];
    recordLog(context, { level, channel: `console.${method}`, args: given, called });
  }

  function wrap(method: Method): () => void {
    const original = target[method] as unknown as Write;
    const wrapped: Write = function (this: unknown, ...args) {
      const write = (): void => Reflect.apply(original, this, args);
      // `trace` calls `error`, `table` calls `log`, all of them write to a stream: record one line once.
      if (gate.writing) write();
      else writeRecorded(gate, () => note(method, args), write);
    };
    Object.defineProperty(wrapped, 'name', { value: method });
    return replaceMethod(target, method, wrapped);
  }

  const restore = (Object.keys(METHODS) as Method[]).map(wrap);
  return {
    close() {
      closed = true;
      for (const undo of restore) undo();
    },
  };
}
