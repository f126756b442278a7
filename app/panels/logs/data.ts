import type { Facts } from '../../profiler/facts.ts';

type LogFact = Facts['log'];

/** The worst first. */
export const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof LEVELS)[number];
export const LEVEL_TITLES: Readonly<Record<Level, string>> = {
  error: 'Errors',
  warn: 'Warnings',
  info: 'Info',
  debug: 'Debug',
};

export interface LogEntry extends LogFact {
  /** Written after the response finished. */
  after: boolean;
}

/** How many lines were written. */
export function totalOf(counts: LogsData['counts']): number {
  return LEVELS.reduce((sum, level) => sum + counts[level], 0);
}

export interface LogsData {
  lines: LogEntry[];
  /** Lines that are only counted, by the line of code that wrote them; absent if all are kept. */
  unkept?: { level: Level; caller: string | null; count: number }[];
  /** With what is not kept. */
  counts: Record<Level, number>;
}
