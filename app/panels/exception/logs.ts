/** The last log lines of a request, shown beside the error. */
import type { Context } from '../../profiler/context.ts';
import { truncateText } from '../../profiler/plain.ts';

export interface ErrorLog {
  atMs: number | null;
  level: string;
  channel: string;
  message: string;
}

const MOST_LINES = 20;
const LONGEST_MESSAGE = 500;

/** The fields of a log line that are read here; any may be missing. */
function readLine(fact: unknown): ErrorLog | null {
  if (typeof fact !== 'object' || fact === null) return null;
  const { atMs, level, channel, message } = fact as Record<string, unknown>;
  if (typeof message !== 'string') return null;
  return {
    atMs: typeof atMs === 'number' ? atMs : null,
    level: typeof level === 'string' ? level : '',
    channel: typeof channel === 'string' ? channel : '',
    message: truncateText(message, LONGEST_MESSAGE),
  };
}

export function readLogs(context: Context): { logs: ErrorLog[]; logsDropped: number } {
  const facts: readonly unknown[] = context.all('log');
  const logs = facts.slice(-MOST_LINES).map(readLine);
  return { logs: logs.filter((line) => line !== null), logsDropped: Math.max(0, facts.length - MOST_LINES) };
}
