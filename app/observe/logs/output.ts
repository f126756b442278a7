/**
 * Output of libraries to standard output and error -> facts `log`: morgan, debug, winston's console transport, bunyan. The
 * streams' `write` is wrapped and passes everything on unchanged; lines that another observer has recorded (console, pino, winston)
 * are skipped by a shared gate.
 */
import { isUtf8 } from 'node:buffer';
import { types } from 'node:util';
import type { Context } from '../../profiler/record/context.ts';
import { takeSites } from '../stacks/caller.ts';
import { replaceMethod } from '../channels/wrap-method.ts';
import { readJsonLine, readLine } from './log-lines.ts';
import { type LogObserverParts, plainText, recordLog, writeRecorded } from './logs.ts';
import { packageOf } from '../stacks/own-code.ts';

type Write = (this: unknown, chunk: unknown, ...rest: unknown[]) => boolean;

export interface OutputStream {
  // Their overloads can't be written as one function type.
  write: unknown;
}

export interface ObserveOutputOptions extends LogObserverParts {
  stdout?: OutputStream;
  stderr?: OutputStream;
}

const LONGEST = 16_384;
const LONGEST_JSON = 1_048_576;
const MOST_LINES = 100;
const textDecoder = new TextDecoder();
/** Start of the profiler's own warnings, which are not the application's. */
const OUR_MARK = 'hindsight: ';

function textOf(chunk: unknown): string | null {
  if (typeof chunk === 'string') return chunk;
  const isText = types.isUint8Array(chunk) && chunk.byteLength <= LONGEST_JSON && isUtf8(chunk);
  return isText ? textDecoder.decode(chunk) : null;
}

function linesOf(text: string): readonly string[] {
  if (!text.startsWith('{') || !text.includes('\n') || text.length > LONGEST_JSON) return [text];
  const lines = text.split('\n', MOST_LINES + 1);
  return lines.length <= MOST_LINES && lines.every((line) => readJsonLine(line) !== null) ? lines : [text];
}

function isMorgan(): boolean {
  return takeSites().some((site) => packageOf(site.getFileName() ?? '') === 'morgan');
}

export function observeOutput(options: ObserveOutputOptions): { close(): void } {
  const { tracker, gate, findCaller, stdout = process.stdout, stderr = process.stderr } = options;
  let closed = false;

  function wrap(stream: OutputStream, name: 'stdout' | 'stderr'): () => void {
    const original = stream.write as Write;
    /** Whether lines at the end of a response come from morgan; null before the first one. */
    let byMorgan: boolean | null = null;

    function channelOf(isOver: boolean): string {
      if (!isOver) return name;
      byMorgan ??= isMorgan();
      return byMorgan ? 'morgan' : name;
    }

    function note(context: Context, chunk: unknown): void {
      const written = chunk === gate.last ? null : textOf(chunk);
      if (written === null || written === gate.last || written.startsWith(OUR_MARK)) return;
      for (const text of linesOf(plainText(written).trimEnd())) if (text !== '') noteLine(context, text);
    }

    function noteLine(context: Context, text: string): void {
      const isJson = text.startsWith('{') && text.length <= LONGEST_JSON;
      const line = readLine(isJson ? text : text.slice(0, LONGEST), name);
      // The rest is counted as cut off.
      if (!isJson) line.message += text.slice(LONGEST);
      const isOver = context.ended || context.first('response')?.isSent === true;
      recordLog(context, {
        level: line.level,
        channel: line.channel ?? channelOf(isOver),
        args: line.context === null ? [line.message] : [line.message, line.context],
        called: isOver ? null : (findCaller?.called() ?? null),
      });
    }

    const wrapped: Write = function (this: unknown, chunk, ...rest) {
      const context = closed || gate.writing ? undefined : tracker.current();
      const write = (): boolean => Reflect.apply(original, this, [chunk, ...rest]);
      return context === undefined ? write() : writeRecorded(gate, () => note(context, chunk), write);
    };
    Object.defineProperty(wrapped, 'name', { value: original.name });
    return replaceMethod(stream, 'write', wrapped);
  }

  const undo = [wrap(stdout, 'stdout'), wrap(stderr, 'stderr')];
  return {
    close() {
      closed = true;
      for (const restore of undo) restore();
    },
  };
}
