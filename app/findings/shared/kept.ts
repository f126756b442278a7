/** What the panels that rules read keep, in one place: a rule asks for a part of it by the panels' names. */
import type { DatabaseData } from '../../panels/database.ts';
import type { HttpClientData } from '../../panels/http-client.ts';
import type { MigrationsPanelData } from '../../panels/migrations.ts';
import type { KeptRouting } from '../../panels/routing.ts';
import type { KeptRuntime } from '../../panels/runtime.ts';
import type { KeptViews } from '../../panels/views.ts';

interface LogLine {
  level: 'error' | 'warn' | 'info' | 'debug';
  message: string;
  /** Left out or null where it is not known. */
  caller?: string | null;
  atMs: number;
}

export interface Kept {
  database: DatabaseData;
  http_client: HttpClientData;
  logs: { lines: readonly LogLine[] };
  migrations: MigrationsPanelData;
  routing: KeptRouting;
  runtime: KeptRuntime;
  views: KeptViews;
}

export type Query = DatabaseData['queries'][number];
export type Call = HttpClientData['calls'][number];

export interface Interval {
  startMs: number;
  /** null while it runs. */
  durationMs: number | null;
}

export function endOf({ startMs, durationMs }: Interval): number {
  return durationMs === null ? Infinity : startMs + durationMs;
}
