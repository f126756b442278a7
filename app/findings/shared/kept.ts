/** What panels store, by panel name; each rule picks what it needs. */
import type { BrowserData } from '../../panels/browser/index.ts';
import type { CacheData } from '../../panels/cache/data.ts';
import type { ExceptionData } from '../../panels/exception/data.ts';
import type { KeptRequest } from '../../panels/request/data.ts';
import type { DatabaseData, KeptDatabase } from '../../panels/database/data.ts';
import type { HttpClientData } from '../../panels/http-client/data.ts';
import type { LogsData } from '../../panels/logs/data.ts';
import type { KeptCpu } from '../../profiler/cpu-samples.ts';
import type { KeptRouting } from '../../panels/routing/data.ts';
import type { KeptRuntime } from '../../panels/runtime/data.ts';
import type { ViewsData } from '../../panels/views/data.ts';

interface LogLine {
  level: 'error' | 'warn' | 'info' | 'debug';
  message: string;
  /** Absent or null if unknown. */
  caller?: string | null;
  atMs: number;
}

export interface Kept {
  browser: BrowserData;
  request: KeptRequest;
  exception: ExceptionData;
  cache: CacheData;
  cpu: KeptCpu;
  database: KeptDatabase;
  http_client: HttpClientData;
  logs: { lines: readonly LogLine[]; unkept?: LogsData['unkept'] };
  routing: KeptRouting;
  runtime: KeptRuntime;
  views: ViewsData;
}

/** What a rule reads: of panels that it needs, and of others that may be there. */
export type Needs<Needed extends keyof Kept, Other extends keyof Kept = never> = Pick<Kept, Needed> &
  Partial<Pick<Kept, Other>>;

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
