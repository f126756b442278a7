/** The panel data that rules read; each rule picks its fields. */
import type { DatabaseData } from '../../panels/database/data.ts';
import type { HttpClientData } from '../../panels/http-client/data.ts';
import type { Kept } from '../../panels/shared/panel-data.ts';

export type { Kept };

/** What a rule reads: of panels that it needs, and of others that may be there. */
export type Needs<Needed extends keyof Kept, Other extends keyof Kept = never> = Pick<Kept, Needed> &
  Partial<Pick<Kept, Other>>;

export type Query = DatabaseData['queries'][number];
export type Call = HttpClientData['calls'][number];

export interface Interval {
  startMs: number;
  durationMs: number | null;
}

export function endOf({ startMs, durationMs }: Interval): number {
  return durationMs === null ? Infinity : startMs + durationMs;
}
