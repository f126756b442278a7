/** Log lines -> rows of a page: those that differ only in their values are one, the context told apart from the stack. */
import type { Json } from '../../profiler/panel.ts';
import type { LogEntry } from './index.ts';
import { type LoggedStack, readStack } from './stack.ts';

/** Characters of a message that a page shows. */
export const MESSAGE_LENGTH = 2000;
/** Characters of a context that a page shows. */
export const CONTEXT_LENGTH = 1500;
const VALUES_SHOWN = 4;
const FRAME_COST = 180;

export interface IndexedLine {
  entry: LogEntry;
  index: number;
}

export interface LogRow {
  /** By the first of its lines. */
  id: string;
  entry: LogEntry;
  /** Lines that differ only in values. */
  count: number;
  /** Milliseconds from the first to the last of them. */
  spanMs: number;
  /** What differs, of the first few. */
  values: string[];
  /** What was given beside the message, without a stack; null where nothing was. */
  details: Json | null;
  /** Where an error was logged that had one. */
  stack: LoggedStack | null;
  /** Characters of what was given beside the message. */
  length: number;
}

/** Numbers, ids and quoted texts: what usually differs between lines of one place. */
const VALUE = /"[^"]*"|'[^']*'|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]*\d[0-9a-f]*\b/gi;

type JsonObject = Record<string, Json>;

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The context without the stack of the error in it: its own, or that of a field such as pino's `err`. */
function takeStack(context: JsonObject): { rest: JsonObject; stack: string } | null {
  const { stack, ...rest } = context;
  if (typeof stack === 'string') return { rest, stack };
  for (const [name, value] of Object.entries(context)) {
    if (!isObject(value) || typeof value.stack !== 'string') continue;
    const { stack: inner, ...others } = value;
    return { rest: { ...context, [name]: others }, stack: inner };
  }
  return null;
}

function detailsOf({ context, caller }: LogEntry): Pick<LogRow, 'details' | 'stack' | 'length'> {
  if (context === null) return { details: null, stack: null, length: 0 };
  const length = JSON.stringify(context, null, 2).length;
  const taken = isObject(context) ? takeStack(context) : null;
  if (taken === null) return { details: context, stack: null, length };
  const read = readStack(taken.stack, caller);
  if (read.frames.length === 0) return { details: context, stack: null, length };
  return { details: Object.keys(taken.rest).length === 0 ? null : taken.rest, stack: read, length };
}

function rowOf({ entry, index }: IndexedLine, values: string): LogRow {
  return {
    id: `l${index + 1}`,
    entry,
    count: 1,
    spanMs: 0,
    values: values === '' ? [] : [values],
    ...detailsOf(entry),
  };
}

/** `single`: the ids of rows and lines that stand alone; null: all do. */
export function logRows(lines: readonly IndexedLine[], single: ReadonlySet<string> | null): LogRow[] {
  const rows: LogRow[] = [];
  const byShape = new Map<string, LogRow>();
  for (const line of lines) {
    const { entry } = line;
    const message = entry.message.slice(0, MESSAGE_LENGTH);
    const shape = `${entry.level}\n${entry.channel}\n${entry.caller ?? ''}\n${message.replace(VALUE, '?')}`;
    const known = single === null ? undefined : byShape.get(shape);
    const values = (message.match(VALUE) ?? []).join(' ');
    const alone = single?.has(known?.id ?? '') === true || single?.has(`l${line.index + 1}`) === true;
    if (known === undefined || alone) {
      const row = rowOf(line, values);
      if (known === undefined) byShape.set(shape, row);
      rows.push(row);
      continue;
    }
    known.count++;
    known.spanMs = entry.atMs - known.entry.atMs;
    if (known.values.length < VALUES_SHOWN && values !== '' && !known.values.includes(values))
      known.values.push(values);
  }
  return rows;
}

/** Estimated length of a row as HTML. */
export function costOf({ entry, length, details, stack }: LogRow): number {
  const context = details === null ? 0 : 320 + Math.min(length, CONTEXT_LENGTH) * 2;
  const frames = stack === null ? 0 : 300 + stack.frames.length * FRAME_COST;
  return (
    420 + Math.min(entry.message.length, MESSAGE_LENGTH) + 2 * (entry.caller?.length ?? 0) + context + frames
  );
}
