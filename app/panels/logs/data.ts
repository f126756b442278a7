import type { Facts } from '../../profiler/record/facts.ts';

type LogFact = Facts['log'];

export const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof LEVELS)[number];
export const LEVEL_TITLES: Readonly<Record<Level, string>> = {
  error: 'Errors',
  warn: 'Warnings',
  info: 'Info',
  debug: 'Debug',
};

export interface LogEntry extends LogFact {
  after: boolean;
}

export function totalOf(counts: LogsData['counts']): number {
  return LEVELS.reduce((sum, level) => sum + counts[level], 0);
}

export interface LogsData {
  lines: LogEntry[];
  /** Lines that are only counted, by the line of code that wrote them; absent if all are kept. */
  unkept?: { level: Level; caller: string | null; count: number }[];
  counts: Record<Level, number>;
}
