/** The panel of log lines: who wrote what when, from which line. */
import type { Context } from '../../profiler/context.ts';
import type { DeriveFrom, Panel } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { round } from '../shared/rows.ts';
import { type KeptLogs, type Level, type LogEntry, type LogsData, totalOf } from './data.ts';
import { drawLogs } from './draw.ts';
import { presentLogs } from './present.ts';

function collect(context: Context): KeptLogs | null {
  const facts = context.all('log');
  if (facts.length === 0) return null;
  const beyond = context.beyond('log')?.byKey;
  return {
    ...(beyond === undefined
      ? {}
      : { unkept: Object.fromEntries(Array.from(beyond, ([level, { count }]) => [level, count])) }),
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

function countLevels({ lines, unkept = {} }: KeptLogs): Record<Level, number> {
  const { error = 0, warn = 0, info = 0, debug = 0 } = unkept;
  const counts: Record<Level, number> = { error, warn, info, debug };
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
  const { unkept } = kept;
  return { lines, ...(unkept === undefined ? {} : { unkept }), counts: countLevels(kept) };
}

/** `2 errors · 22`, `3 warn · 22`: the worst level, then all lines. */
function summaryText({ counts }: LogsData): string {
  const { error, warn } = counts;
  const { count } = numberHelpers;
  const worst = error > 0 ? `${count(error, 'error')} · ` : warn > 0 ? `${count(warn)} warn · ` : '';
  return `${worst}${count(totalOf(counts))}`;
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
    const { counts } = data;
    const tone = counts.error > 0 ? 'bad' : counts.warn > 0 ? 'warn' : 'plain';
    return { text: summaryText(data), tone, count: totalOf(counts) };
  },
  empty: () => ({
    what: 'This request wrote no log lines.',
    why: 'Captured: console, pino, winston (if passed in), and what other loggers such as morgan and debug write to standard output or standard error.',
  }),
  present: presentLogs,
  draw: drawLogs,
};
