/** Log lines -> groups of similar lines, which differ only in their values. */
import type { Json } from '../../profiler/json.ts';
import type { LogEntry } from './data.ts';
import { type LoggedStack, readStack, takeStack } from './stack.ts';

/** Characters of a message that a page shows. */
export const MESSAGE_LENGTH = 2000;
/** Characters of a context that a page shows. */
export const CONTEXT_LENGTH = 1500;
const VALUES_SHOWN = 4;

export interface IndexedLine {
  entry: LogEntry;
  index: number;
}

/** A line, or several similar ones. */
export interface LineGroup {
  /** That of its first line. */
  id: string;
  /** The first line. */
  entry: LogEntry;

  count: number;
  /** Milliseconds from the first line to the last. */
  spanMs: number;
  /** The values that differ, of the first few lines. */
  values: string[];
  /** The context without a stack. */
  details: Json | null;
  /** That of a logged error. */
  stack: LoggedStack | null;
  /** Characters of the whole context. */
  length: number;
}

/** Numbers, ids and quoted texts. */
const VALUE = /"[^"]*"|'[^']*'|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]*\d[0-9a-f]*\b/gi;

/** The same for messages that differ only in their values. */
export function shapeOf(message: string): string {
  return message.replace(VALUE, '#');
}

function detailsOf({ context, caller }: LogEntry): Pick<LineGroup, 'details' | 'stack' | 'length'> {
  if (context === null) return { details: null, stack: null, length: 0 };
  const length = JSON.stringify(context, null, 2).length;
  const taken = takeStack(context);
  if (taken === null) return { details: context, stack: null, length };
  const read = readStack(taken.stack, caller);
  if (read.frames.length === 0) return { details: context, stack: null, length };
  return { details: taken.rest, stack: read, length };
}

function groupOf({ entry, index }: IndexedLine, values: string): LineGroup {
  return {
    id: `l${index + 1}`,
    entry,
    count: 1,
    spanMs: 0,
    values: values === '' ? [] : [values],
    ...detailsOf(entry),
  };
}

/** `single`: ids of groups and lines that are not grouped; null: none are. */
export function groupLines(lines: readonly IndexedLine[], single: ReadonlySet<string> | null): LineGroup[] {
  const groups: LineGroup[] = [];
  const byShape = new Map<string, LineGroup>();
  for (const line of lines) {
    const { entry } = line;
    const message = entry.message.slice(0, MESSAGE_LENGTH);
    const shape = `${entry.level}\n${entry.channel}\n${entry.caller ?? ''}\n${shapeOf(message)}`;
    const known = single === null ? undefined : byShape.get(shape);
    const values = (message.match(VALUE) ?? []).join(' ');
    const alone = single?.has(known?.id ?? '') === true || single?.has(`l${line.index + 1}`) === true;
    if (known === undefined || alone) {
      const group = groupOf(line, values);
      if (known === undefined) byShape.set(shape, group);
      groups.push(group);
      continue;
    }
    known.count++;
    known.spanMs = entry.atMs - known.entry.atMs;
    if (known.values.length < VALUES_SHOWN && values !== '' && !known.values.includes(values))
      known.values.push(values);
  }
  return groups;
}
