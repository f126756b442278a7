/** The panel of log lines, each with its time and its line of code. */
import type { Panel, RecordReader } from '../../profiler/panel.ts';
import { count } from '../../view-helpers/numbers.ts';
import { type Level, LEVELS, type LogsData, totalOf } from './data.ts';
import { presentLogs } from './present.ts';

function countLevels({ lines, unkept = [] }: Pick<LogsData, 'lines' | 'unkept'>): LogsData['counts'] {
  const counts: Record<Level, number> = { error: 0, warn: 0, info: 0, debug: 0 };
  for (const { level } of lines) counts[level]++;
  for (const { level, count } of unkept) counts[level] += count;
  return counts;
}

function dataOf(record: RecordReader): LogsData | null {
  const facts = record.all('log');
  if (facts.length === 0) return null;
  const { durationMs } = record.profile;
  const lines = facts.map((fact) => ({ ...fact, after: durationMs !== null && fact.atMs > durationMs }));
  const beyond = record.beyond('log')?.byKey;
  if (beyond === undefined) return { lines, counts: countLevels({ lines }) };
  const unkept = Array.from(beyond, ([key, { count }]) => {
    const [caller = '', level] = key.split('\n');
    return {
      level: LEVELS.find((one) => one === level) ?? 'info',
      caller: caller === '' ? null : caller,
      count,
    };
  });
  return { lines, unkept, counts: countLevels({ lines, unkept }) };
}

function summaryText({ counts }: LogsData): string {
  const { error, warn } = counts;
  const worst = error > 0 ? `${count(error, 'error')} · ` : warn > 0 ? `${count(warn)} warn · ` : '';
  return `${worst}${count(totalOf(counts))}`;
}

export const logsPanel: Panel<LogsData> = {
  name: 'logs',
  title: 'Logs',
  menu: {
    key: 'l',
    rank: 30,
    summary(data) {
      const { counts } = data;
      const tone = counts.error > 0 ? 'bad' : counts.warn > 0 ? 'warn' : 'plain';
      return { text: summaryText(data), tone, count: totalOf(counts) };
    },
  },
  recorded: {
    facts: { log: 'log lines' },
    searched: ['message', 'context'],
    nothing: {
      what: 'This request wrote no log lines.',
      why: 'Captured: console, pino, winston (if passed in), and the output of other loggers, such as morgan and debug.',
    },
  },
  data: dataOf,
  rows: presentLogs,
};
