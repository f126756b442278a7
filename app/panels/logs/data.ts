import type { Json } from '../../profiler/json.ts';

/** The worst first. */
export const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof LEVELS)[number];
export const LEVEL_TITLES: Readonly<Record<Level, string>> = {
  error: 'Errors',
  warn: 'Warnings',
  info: 'Info',
  debug: 'Debug',
};

export interface LogEntry {
  level: Level;
  channel: string;
  message: string;
  context: Json | null;
  caller: string | null;
  atMs: number;
  /** Written after the response finished. */
  after: boolean;
}

export interface LogsData {
  lines: LogEntry[];
  counts: Record<Level, number>;
}

/** Without empty fields, and without what is worked out when the profile is read. */
export interface KeptLogs {
  lines: (Omit<LogEntry, 'context' | 'caller' | 'after'> & { context?: Json; caller?: string })[];
}
