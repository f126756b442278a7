/** The panel of log lines: who wrote what when, from which line. */
import type { Context } from '../../profiler/context.ts';
import type { DeriveFrom, Panel } from '../../profiler/panel.ts';
import { round } from '../shared/rows.ts';
import type { KeptLogs, Level, LogEntry, LogsData } from './data.ts';
import { drawLogs } from './draw.ts';
import { presentLogs } from './present.ts';

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
    // Spelled out: a spread costs several times that, and there may be hundreds of lines.
    return { level, channel, message, context, caller, atMs, after };
  });
  return { lines, counts: countLevels(lines) };
}

/** `2 errors · 22`, `3 warn · 22`: the worst level, then all lines. */
function summaryText({ lines, counts: { error, warn } }: LogsData): string {
  const worst =
    error > 0 ? `${error} ${error === 1 ? 'error' : 'errors'} · ` : warn > 0 ? `${warn} warn · ` : '';
  return `${worst}${lines.length}`;
}

export const logsPanel: Panel<LogsData, KeptLogs> = {
  name: 'logs',
  title: 'Logs',
  key: 'l',
  toolbar: { rank: 30 },
  searched: ['message', 'context'],
  facts: { log: 'log lines' },
  collect,
  derive,
  summary(data) {
    const { counts, lines } = data;
    const tone = counts.error > 0 ? 'bad' : counts.warn > 0 ? 'warn' : 'plain';
    return { text: summaryText(data), tone, count: lines.length };
  },
  empty: () => ({
    what: 'This request wrote no log lines.',
    why: 'Captured: console, pino, winston (if passed in), and what other loggers such as morgan and debug write to standard output or standard error.',
  }),
  present: presentLogs,
  draw: drawLogs,
};
