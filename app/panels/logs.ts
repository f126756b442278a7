/** The panel of log lines: who wrote what when, from which line. Facts `log` -> data; groups are made for the page. */
import type { Context } from '../profiler/context.ts';
import type { Json, Panel, PanelPage } from '../profiler/panel.ts';
import { addressOf, pageOf, round } from './shared/rows.ts';

const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof LEVELS)[number];

export interface LogEntry {
  level: Level;
  channel: string;
  message: string;
  context: Json | null;
  caller: string | null;
  atMs: number;
  /** Written when the answer was over. */
  after: boolean;
}

export interface LogsData {
  lines: LogEntry[];
  counts: Record<Level, number>;
}

export interface LogRow {
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
  /** Lines of the stack of an error that was logged. */
  stack: string[];
  /** Characters of both. */
  length: number;
}

const VALUES_SHOWN = 4;
/** Characters of one message and one context that a page shows. */
const MESSAGE_LENGTH = 2000;
const CONTEXT_LENGTH = 1500;
const STACK_LINES = 20;

function collect(context: Context): LogsData | null {
  const facts = context.all('log');
  if (facts.length === 0) return null;
  const end = context.durationMs;
  const counts: Record<Level, number> = { error: 0, warn: 0, info: 0, debug: 0 };
  const lines = facts.map((fact): LogEntry => {
    counts[fact.level]++;
    const { level, channel, message, context: values, caller, atMs } = fact;
    return {
      level,
      channel,
      message,
      context: values,
      caller,
      atMs: round(atMs),
      after: end !== null && atMs > end,
    };
  });
  return { lines, counts };
}

/** Numbers, ids and quoted texts: what usually differs between lines of one place. */
const VALUE = /"[^"]*"|'[^']*'|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]*\d[0-9a-f]*\b/gi;

/** A stack is read as lines, not as a JSON text. */
function detailsOf(context: Json | null): Pick<LogRow, 'details' | 'stack' | 'length'> {
  const length = context === null ? 0 : JSON.stringify(context, null, 2).length;
  if (
    typeof context !== 'object' ||
    context === null ||
    Array.isArray(context) ||
    typeof context.stack !== 'string'
  )
    return { details: context, stack: [], length };
  const { stack, ...rest } = context;
  const plain = Object.keys(rest).length === 0 ? null : rest;
  return { details: plain, stack: stack.split('\n').slice(0, STACK_LINES), length };
}

function groupRows(lines: readonly { entry: LogEntry; index: number }[]): LogRow[] {
  const rows: LogRow[] = [];
  const byShape = new Map<string, LogRow>();
  for (const { entry, index } of lines) {
    const message = entry.message.slice(0, MESSAGE_LENGTH);
    const shape = `${entry.level}\n${entry.channel}\n${entry.caller ?? ''}\n${message.replace(VALUE, '?')}`;
    const row = byShape.get(shape);
    const value = (message.match(VALUE) ?? []).join(' ');
    if (row !== undefined) {
      row.count++;
      row.spanMs = entry.atMs - row.entry.atMs;
      if (row.values.length < VALUES_SHOWN && value !== '' && !row.values.includes(value))
        row.values.push(value);
      continue;
    }
    const made = {
      id: `l${index + 1}`,
      entry,
      count: 1,
      spanMs: 0,
      values: value === '' ? [] : [value],
      ...detailsOf(entry.context),
    };
    byShape.set(shape, made);
    rows.push(made);
  }
  return rows;
}

function singleRows(lines: readonly { entry: LogEntry; index: number }[]): LogRow[] {
  return lines.flatMap((line) => groupRows([line]));
}

function isLevel(value: string | undefined): value is Level {
  return LEVELS.some((level) => level === value);
}

function matches({ message, channel, caller, context }: LogEntry, text: string): boolean {
  const inContext = context !== null && JSON.stringify(context).toLowerCase().includes(text);
  return inContext || `${message}\n${channel}\n${caller ?? ''}`.toLowerCase().includes(text);
}

function costOf({ entry, length }: LogRow): number {
  const folded = length === 0 ? 0 : 320 + Math.min(length, CONTEXT_LENGTH) * 2;
  return 400 + Math.min(entry.message.length, MESSAGE_LENGTH) + (entry.caller?.length ?? 0) + folded;
}

function present(data: LogsData, { query }: PanelPage) {
  const level = isLevel(query.level) ? query.level : null;
  const find = (query.find ?? '').slice(0, 200);
  const single = query.rows === 'single';
  const listed = data.lines.map((entry, index) => ({ entry, index }));
  const chosen = listed.filter(
    ({ entry }) =>
      (level === null || entry.level === level) && (find === '' || matches(entry, find.toLowerCase())),
  );
  const rows = single ? singleRows(chosen) : groupRows(chosen);
  const page = pageOf(rows, { query, cost: costOf });
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('logs', { level, find, rows: single ? 'single' : null, ...changes });
  const titles = { error: 'Errors', warn: 'Warnings', info: 'Info', debug: 'Debug' };
  return {
    level,
    find,
    single,
    levels: [
      { title: 'All', count: data.lines.length, href: link({ level: null }), current: level === null },
      ...LEVELS.map((name) => ({
        title: titles[name],
        count: data.counts[name],
        href: link({ level: name }),
        current: level === name,
      })),
    ],
    lines: chosen.length,
    page,
    clear: link({ level: null, find: null }),
    singleHref: link({ rows: single ? null : 'single' }),
    firstHref: link({}),
    nextHref: page.next === null ? null : link({ from: page.next }),
    allHref: link({ all: 1 }),
    messageLength: MESSAGE_LENGTH,
    contextLength: CONTEXT_LENGTH,
  };
}

export function createLogsPanel(): Panel<LogsData> {
  return {
    name: 'logs',
    title: 'Logs',
    collect,
    summary({ lines, counts }) {
      const tone = counts.error > 0 ? 'bad' : counts.warn > 0 ? 'warn' : 'plain';
      return { text: String(lines.length), tone, count: lines.length };
    },
    present,
  };
}
