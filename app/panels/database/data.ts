import type { Facts } from '../../profiler/record/facts.ts';
import type { SourceExcerpt } from '../../profiler/record/thrown.ts';
import type { Unkept } from '../shared/unkept.ts';
import type { GroupKind } from '../shared/query-groups.ts';
import type { Binding } from '../shared/sql-values.ts';

type QueryFact = Facts['query'];

export interface DatabaseQuery extends Omit<
  QueryFact,
  'system' | 'server' | 'label' | 'sql' | 'bindings' | 'types'
> {
  statement: number;
  bindings: Binding[];
  group: number | null;
}

const SLOW_MS = 100;

export function isSlow({ durationMs }: DatabaseQuery): boolean {
  return durationMs !== null && durationMs >= SLOW_MS;
}

export interface DatabaseGroup {
  kind: GroupKind;
  statement: number;
  caller: string | null;
  /** The line above `caller` that loops, if that one does not. */
  loop?: string;
  members: number[];
  more?: number;
  moreSlowestMs?: number;
  durationMs: number;
}

export interface KeptExcerpt {
  place: string;
  excerpt: SourceExcerpt;
}

export interface KeptStatement {
  sql: string;
  /** What a level above calls it: `User.findMany`. */
  above?: string;
  /** `postgresql`, `mysql`, `mongodb` …; absent: not known. */
  system?: string;
  server?: string;
}

export interface UnrunWrite {
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
  excerpts?: KeptExcerpt[];
  unrun?: UnrunWrite[];
  unkept?: Unkept;
  totals: {
    queries: number;
    statements: number;
    rows: number;
    /** Of `rows`: those that a statement wrote. */
    changed: number;
    connections: number;
    failed: number;
  };
}

export type KeptDatabase = Omit<DatabaseData, 'statements'> & { statements: KeptStatement[] };

export const GROUP_LABELS = {
  'n+1': 'N+1',
  loop: 'writes in a loop',
  duplicate: 'duplicate',
  repeated: 'repeated',
  pages: 'pages',
} as const;
export const GROUP_TONES = {
  'n+1': 'bad',
  loop: 'warn',
  duplicate: 'plain',
  repeated: 'plain',
  pages: 'plain',
} as const;
