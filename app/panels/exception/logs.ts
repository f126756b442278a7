/** The last log lines of a request, shown beside the error. */
import type { Context } from '../../profiler/context.ts';
import { truncateText } from '../../profiler/plain.ts';

export interface ErrorLog {
  atMs: number;
  level: string;
  channel: string;
  message: string;
}

const MOST_LINES = 20;
const LONGEST_MESSAGE = 500;

export function readLogs(context: Context): { logs: ErrorLog[]; logsDropped: number } {
  const facts = context.all('log');
  const logs = facts.slice(-MOST_LINES).map(({ atMs, level, channel, message }) => ({
    atMs,
    level,
    channel,
    message: truncateText(message, LONGEST_MESSAGE),
  }));
  return { logs, logsDropped: facts.length - logs.length };
}
