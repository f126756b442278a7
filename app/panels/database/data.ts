import type { Facts } from '../../profiler/facts.ts';
import type { SourceExcerpt } from '../../profiler/thrown.ts';
import type { Unkept } from '../shared/unkept.ts';
import type { GroupKind } from '../shared/query-groups.ts';
import type { Binding } from '../shared/sql-values.ts';

type QueryFact = Facts['query'];

export interface DatabaseQuery extends Omit<
  QueryFact,
  'system' | 'server' | 'label' | 'sql' | 'bindings' | 'types' | 'path'
> {
  /** Index in `statements`. */
  statement: number;
  bindings: Binding[];
  /** Index in `groups`; null if it is in none. */
  group: number | null;
}

const SLOW_MS = 100;

export function isSlow({ durationMs }: DatabaseQuery): boolean {
  return durationMs !== null && durationMs >= SLOW_MS;
}

export interface DatabaseGroup {
  kind: GroupKind;
  statement: number;
  /** The line of the statement. */
  caller: string | null;
  /** If another line loops: the lines from there to `caller`. */
  path?: readonly string[];
  /** Indexes in `queries`. */
  members: number[];
  /** Runs of the same statement from the same line that are only counted, and the slowest of them; absent if all are kept. */
  more?: number;
  moreSlowestMs?: number;
  /** Time in which at least one of them ran, and the sum of those past the limit. */
  durationMs: number;
}

export interface KeptExcerpt {
  /** `src/orders/order-view.ts:41`. */
  place: string;
  excerpt: SourceExcerpt;
}

/** What each profile stores of a statement. */
export interface KeptStatement {
  sql: string;
  /** What a level above calls it: `User.findMany`. */
  above?: string;
  /** `postgresql`, `mysql`, `mongodb` …; absent: not known. */
  system?: string;
  /** `host:port/database`; absent: not known. */
  server?: string;
}

/** A write that was built with a query builder, and that nothing ran. */
export interface UnrunWrite {
  /** `update products` */
  label: string;
  caller: string | null;
}

export interface DatabaseStatement extends KeptStatement {
  label: string;
}

export interface DatabaseData {
  /** Each text once for each server, system and label. */
  statements: DatabaseStatement[];
  queries: DatabaseQuery[];
  groups: DatabaseGroup[];
  /** Source around the lines that loop, are slow or fail; absent if there are none. */
  excerpts?: KeptExcerpt[];
  /** Writes that were built and never run; absent if there are none. */
  unrun?: UnrunWrite[];
  /** Past the recording limit, without BEGIN, COMMIT and the like; absent if all were kept. */
  unkept?: Unkept;
  /** With what is not kept. */
  totals: {
    queries: number;
    /** Different ones, values aside. */
    statements: number;
    rows: number;
    connections: number;
    failed: number;
  };
}

/** What each profile stores. */
export type KeptDatabase = Omit<DatabaseData, 'statements'> & { statements: KeptStatement[] };

export const GROUP_LABELS = {
  'n+1': 'N+1',
  loop: 'writes in a loop',
  duplicate: 'duplicate',
  pages: 'pages',
} as const;
export const GROUP_TONES = { 'n+1': 'bad', loop: 'warn', duplicate: 'plain', pages: 'plain' } as const;
