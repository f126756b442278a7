/**
 * The fact `log`, shared by all observers of logs: console, pino, winston, standard output. `recordLog` is the one entry: a
 * logger's arguments -> a message, the rest as context. Values are copied at once (they may change later), within limits, without
 * running their code.
 */
import type { Context } from '../../profiler/record/context.ts';
import type { Repeating } from '../../profiler/record/fact-list.ts';
import { isRecord, type Json } from '../../profiler/json.ts';
import { loggedErrorOf, recordError } from '../errors-seen.ts';
import { truncateText, type PlainLimits, toPlain } from '../../profiler/record/plain.ts';
import { field, isError, isObject } from '../../profiler/record/safe-read.ts';
import { messageOfError, textOf } from '../../profiler/record/thrown-value.ts';
import { bytesOf, NOWHERE } from '../observe-calls.ts';
import type { Called } from '../stacks/caller.ts';
import { withoutProfilerFrames } from '../stacks/profiler-frames.ts';
import type { ObserverParts } from '../subscribe.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogFact extends Called {
  level: LogLevel;
  channel: string;
  message: string;
  context: Json | null;
  atMs: number;
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    log: LogFact;
  }
}

export interface LogLine {
  level: LogLevel;
  channel: string;
  /** As passed to the logger: text, perhaps with `%s` and the like, and values. */
  args: readonly unknown[];
  called?: Called | null;
  error?: object | null;
}

export interface LogGate {
  /** A recorded line is being written: any output meanwhile belongs to it. */
  writing: boolean;
  /** The finished line that was recorded last, where it may appear as output next. */
  last: string | null;
}

export interface LogObserverParts extends ObserverParts {
  gate: LogGate;
}

export function createLogGate(): LogGate {
  return { writing: false, last: null };
}

export function writeRecorded<T>(gate: LogGate, record: () => void, write: () => T): T {
  gate.writing = true;
  try {
    record();
    return write();
  } finally {
    gate.writing = false;
  }
}

const MESSAGE_LENGTH = 8192;
const VALUES: PlainLimits = { depth: 4, width: 50, length: 1000, total: 200 };
const MOST_ARGUMENTS = 20;

const ANSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)/g;

/** Without terminal colours. */
export function plainText(text: string): string {
  return text.includes('\x1b') ? text.replace(ANSI, '') : text;
}

function isSimple(value: unknown): boolean {
  return value === null || (typeof value !== 'object' && typeof value !== 'function');
}

function inline(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return 'undefined';
  const plain = toPlain(value, VALUES);
  return typeof plain === 'string' ? plain : JSON.stringify(plain);
}

function describe(error: object): { line: string; stack: string | null } {
  const name = textOf(field(error, 'name')) ?? 'Error';
  return { line: `${name}: ${messageOfError(error)}`, stack: textOf(field(error, 'stack')) };
}

function number(value: unknown, whole: boolean): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'symbol' || (typeof value === 'object' && value !== null)) return 'NaN';
  const result = Number(value);
  return String(whole ? Math.trunc(result) : result);
}

function fill(format: string, values: unknown[]): string {
  return format.replace(/%[sdifjoOc%]/g, (mark) => {
    if (mark === '%%') return '%';
    if (values.length === 0) return mark;
    const value = values.shift();
    if (mark === '%c') return '';
    if (mark === '%d' || mark === '%f') return number(value, false);
    if (mark === '%i') return number(value, true);
    return inline(value);
  });
}

function withShownStack(context: Json | null): Json | null {
  if (!isRecord(context)) return context;
  const shown = { ...context } as Record<string, Json>;
  for (const [name, value] of Object.entries(shown)) {
    if (name === 'stack' && typeof value === 'string') shown[name] = withoutProfilerFrames(value);
    else if (isRecord(value) && typeof value.stack === 'string')
      shown[name] = { ...value, stack: withoutProfilerFrames(value.stack) };
  }
  return shown;
}

function formatLog(args: readonly unknown[]): { message: string; context: Json | null } {
  const values = args.slice(0, MOST_ARGUMENTS);
  const words: string[] = [];
  const rest: unknown[] = [];
  const first = values[0];
  if (typeof first === 'string') {
    values.shift();
    // A single text is not a format: `100%%` stays as it is.
    words.push(first.includes('%') && values.length > 0 ? fill(first, values) : first);
  }
  for (const value of values) {
    if (isSimple(value)) words.push(inline(value));
    else if (isObject(value) && isError(value)) {
      const { line, stack } = describe(value);
      words.push(line);
      rest.push(
        Object.assign(
          Object(toPlain(value, VALUES)),
          stack === null ? {} : { stack: truncateText(stack, 4096) },
        ),
      );
    } else rest.push(value);
  }
  if (args.length > MOST_ARGUMENTS) words.push(`… ${args.length - MOST_ARGUMENTS} more values`);
  const context =
    rest.length === 0 ? null : toPlain(rest.length === 1 ? rest[0] : rest, { ...VALUES, length: 4096 });
  const message = plainText(words.join(' '));
  return {
    message: truncateText(message === '' && context !== null ? inline(context) : message, MESSAGE_LENGTH),
    context: withShownStack(context),
  };
}

const REPEATED: Repeating<LogFact> = {
  key: ({ caller, level }) => `${caller ?? ''}\n${level}`,
  matters: ({ level }) => level === 'error' || level === 'warn',
};

export function recordLog(
  context: Context,
  { level, channel, args, called = null, error = null }: LogLine,
): void {
  try {
    const logged = level === 'error' ? (error ?? loggedErrorOf(args)) : null;
    if (logged !== null) recordError(context, logged, { origin: 'logged' });
    const fact: LogFact = {
      level,
      channel,
      ...formatLog(args),
      ...(called ?? NOWHERE),
      atMs: context.elapsedMs(),
    };
    context.add('log', fact, bytesOf(fact), REPEATED);
  } catch {
    // The line is not recorded.
  }
}
