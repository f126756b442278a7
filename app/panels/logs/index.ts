/** The panel of log lines: who wrote what when, from which line. Facts `log` -> data; filters and groups are made for the page. */
import type { Context } from '../../profiler/context.ts';
import type { DeriveFrom, Json, Panel } from '../../profiler/panel.ts';
import { comparableLogs } from './comparable.ts';
import type { Level } from './levels.ts';
import { presentLogs } from './page.ts';
import { previewLogs } from './preview.ts';
import { round } from '../shared/rows.ts';

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

/** What each profile keeps: what is empty is left out, what can be counted is counted when it is read. */
interface KeptLogs {
  lines: (Omit<LogEntry, 'context' | 'caller' | 'after'> & { context?: Json; caller?: string })[];
}

function collect(context: Context): KeptLogs | null {
  const facts = context.all('log');
  if (facts.length === 0) return null;
  return {
    lines: facts.map(({ level, channel, message, context: values, caller, atMs }) => ({
      level,
      channel,
      message,
      ...(values === null ? {} : { context: values }),
      ...(caller === null ? {} : { caller }),
      atMs: round(atMs),
    })),
  };
}

function countLevels(lines: readonly { level: Level }[]): Record<Level, number> {
  const counts: Record<Level, number> = { error: 0, warn: 0, info: 0, debug: 0 };
  for (const { level } of lines) counts[level]++;
  return counts;
}

function derive(kept: KeptLogs | null, { profile }: DeriveFrom): LogsData | null {
  if (kept === null) return null;
  const { durationMs } = profile;
  const lines = kept.lines.map((line): LogEntry => {
    const { level, channel, message, context = null, caller = null, atMs } = line;
    const after = durationMs !== null && atMs > durationMs;
    // Spelled out: copies by `...` cost several times that, and there are hundreds of lines.
    return { level, channel, message, context, caller, atMs, after };
  });
  return { lines, counts: countLevels(lines) };
}

/** `2 errors · 22`, `3 warn · 22`: the lines that worry, then all. */
function summaryText({ lines, counts: { error, warn } }: LogsData): string {
  const worry =
    error > 0 ? `${error} ${error === 1 ? 'error' : 'errors'} · ` : warn > 0 ? `${warn} warn · ` : '';
  return `${worry}${lines.length}`;
}

export function createLogsPanel(): Panel<LogsData, KeptLogs> {
  return {
    name: 'logs',
    title: 'Logs',
    key: 'l',
    toolbar: { rank: 30 },
    searched: ['message', 'context'],
    comparable: comparableLogs,
    collect,
    derive,
    summary(data) {
      const { counts, lines } = data;
      const tone = counts.error > 0 ? 'bad' : counts.warn > 0 ? 'warn' : 'plain';
      return { text: summaryText(data), tone, count: lines.length };
    },
    draw: presentLogs,
    preview: previewLogs,
  };
}
