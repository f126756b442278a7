/**
 * What libraries write to standard output and error -> facts `log`: morgan, debug, winston's console transport, bunyan. The
 * streams' `write` is wrapped and passes everything on unchanged; lines that another observer has recorded (console, pino, winston)
 * are skipped by a shared gate.
 */
import type { Context } from '../profiler/context.ts';
import { takeSites } from './caller.ts';
import { readLine } from './log-lines.ts';
import { type LogObserverParts, plainText, recordLog } from './logs.ts';
import { packageOf } from './own-code.ts';

type Write = (this: unknown, chunk: unknown, ...rest: unknown[]) => boolean;

/** What we use of process.stdout and process.stderr. */
export interface OutputStream {
  // Their overloads can't be written as one function type.
  write: unknown;
}

export interface ObserveOutputOptions extends LogObserverParts {
  stdout?: OutputStream;
  stderr?: OutputStream;
}

/** Characters of one write that are read. */
const LONGEST = 16_384;
/** Start of the profiler's own warnings, which are not the application's. */
const OUR_MARK = 'hindsight: ';

/** Whether the stack shows morgan, which writes a line for each response. */
function isMorgan(): boolean {
  return takeSites().some((site) => packageOf(site.getFileName() ?? '') === 'morgan');
}

export function observeOutput(options: ObserveOutputOptions): { close(): void } {
  const { tracker, gate, findCaller, stdout = process.stdout, stderr = process.stderr } = options;
  let closed = false;

  function wrap(stream: OutputStream, name: 'stdout' | 'stderr'): () => void {
    const own = Object.getOwnPropertyDescriptor(stream, 'write');
    const original = stream.write as Write;
    /** Whether lines at the end of a response come from morgan; null before the first one. */
    let byMorgan: boolean | null = null;

    function channelOf(isOver: boolean): string {
      if (!isOver) return name;
      byMorgan ??= isMorgan();
      return byMorgan ? 'morgan' : name;
    }

    function note(context: Context, chunk: unknown): void {
      if (typeof chunk !== 'string' || chunk === gate.last || chunk.startsWith(OUR_MARK)) return;
      const text = plainText(chunk.slice(0, LONGEST)).trimEnd();
      if (text === '') return;
      const line = readLine(text, name);
      const isOver = context.ended || context.first('response')?.isSent === true;
      recordLog(context, {
        level: line.level,
        channel: line.channel ?? channelOf(isOver),
        args: line.context === null ? [line.message] : [line.message, line.context],
        caller: isOver ? null : (findCaller?.() ?? null),
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
    // A frozen method is not observed.
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
