import type { Facts } from '../../profiler/facts.ts';

type Fact = Facts['migrations'];

export interface MigrationsData {
  state: Fact['state'];
  schema: string;
  table: string;
  /** Executed ones in all. */
  executedCount: number;
  /** The newest, newest first. */
  executed: Fact['executed'];
  pending: string[];
  unknown: string[];
  /** Names left out of `pending` and `unknown`. */
  dropped: number;
  durationMs: number;
  message: string | null;
}
