/**
 * What libraries write to standard output and standard error -> facts `log`: morgan, debug, winston's console transport,
 * bunyan and whatever else ends there, without a line of the host's.
 *
 * `write` of the two streams is wrapped and passes everything on unchanged. What another observer has recorded already
 * (console, pino, winston write there too) is passed over by the gate that they share. Of lines written when the answer is over
 * no caller is looked for: it would be the end of the response.
 */
import type { Context, ContextTracker } from '../profiler/context.ts';
import type { FindCaller } from './caller.ts';
import { readLine } from './log-lines.ts';
import { type LogGate, plainText, recordLog } from './logs.ts';

type Write = (this: unknown, chunk: unknown, ...rest: unknown[]) => boolean;

/** What is used of process.stdout and process.stderr. */
export interface OutputStream {
  // Their overloads are no function that could be written down here.
  write: unknown;
}

export interface ObserveOutputOptions {
  tracker: ContextTracker;
  gate: LogGate;
  findCaller?: FindCaller;
  stdout?: OutputStream;
  stderr?: OutputStream;
}

/** Characters of one write that are looked at. */
const LONGEST = 16_384;
/** How the profiler's own sentences begin: they are no part of the application. */
const OUR_MARK = 'hindsight: ';
const ACCESS_LOG = /[\\/]node_modules[\\/]morgan[\\/]/;

/** The library that writes a line for each answer, where the stack shows that it is morgan. */
function isMorgan(below: Write): boolean {
  const { stackTraceLimit } = Error;
  const holder: { stack?: string } = {};
  Reflect.set(Error, 'stackTraceLimit', 6);
  Error.captureStackTrace(holder, below);
  Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  return ACCESS_LOG.test(holder.stack ?? '');
}

export function observeOutput(options: ObserveOutputOptions): { close(): void } {
  const { tracker, gate, findCaller, stdout = process.stdout, stderr = process.stderr } = options;
  let closed = false;

  function wrap(stream: OutputStream, name: 'stdout' | 'stderr'): () => void {
    const own = Object.getOwnPropertyDescriptor(stream, 'write');
    const original = stream.write as Write;
    /** Whether lines at the end of an answer come from morgan; null before the first one. */
    let byMorgan: boolean | null = null;

    function channelOf(isOver: boolean): string {
      if (!isOver) return name;
      byMorgan ??= isMorgan(wrapped);
      return byMorgan ? 'morgan' : name;
    }

    function note(context: Context, chunk: unknown): void {
      if (typeof chunk !== 'string' || chunk === gate.last || chunk.startsWith(OUR_MARK)) return;
      const text = plainText(chunk.slice(0, LONGEST)).trimEnd();
      if (text === '' || context.isFull('log')) return;
      const line = readLine(text, name);
      const isOver = context.ended || context.first('response')?.isSent === true;
      recordLog(context, {
        level: line.level,
        channel: line.channel ?? channelOf(isOver),
        args: line.context === null ? [line.message] : [line.message, line.context],
        caller: isOver ? null : (findCaller?.({ below: wrapped, near: 4, frames: 12 }) ?? null),
      });
    }

    const wrapped: Write = function (this: unknown, chunk, ...rest) {
      const context = closed || gate.writing ? undefined : tracker.current();
      if (context === undefined) return Reflect.apply(original, this, [chunk, ...rest]);
      gate.writing = true;
      try {
        note(context, chunk);
        return Reflect.apply(original, this, [chunk, ...rest]);
      } finally {
        gate.writing = false;
      }
    };
    // False where a host has frozen it: it stays as it is, unseen.
    if (!Reflect.set(stream, 'write', wrapped)) return () => undefined;
    return () => {
      if (stream.write !== wrapped) return;
      if (own === undefined) Reflect.deleteProperty(stream, 'write');
      else Object.defineProperty(stream, 'write', own);
    };
  }

  const undo = [wrap(stdout, 'stdout'), wrap(stderr, 'stderr')];
  return {
    close() {
      closed = true;
      for (const restore of undo) restore();
    },
  };
}
