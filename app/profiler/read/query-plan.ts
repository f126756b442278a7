/**
 * Plans of statements, stored beside their profile as the late fact `plan`: made by app/observe/databases/explain.ts, of slow ones after the response
 * and of any when somebody asks, read by the database panel. They contain placeholders instead of the statement's values.
 */

import type { Profile } from '../profile.ts';

/** The late fact of a profile. */
export interface KeptPlans {
  plans: (QueryPlan | MissingPlan)[];
}

export interface QueryPlan {
  query: number;
  plannedAt: number;
  root: PlanNode;
  tables: Record<string, number>;
  dropped?: number;
  /** Made without the values. */
  isGeneric?: true;
  isAnalyzed?: true;
}

export interface MissingPlan {
  query: number;
  problem: string;
}

export interface PlanNode {
  /** `Seq Scan`, `Hash Join` … */
  type: string;
  /** `Inner`, `Left` … of a join other than an inner one. */
  join?: string;
  /** Its relation to the parent node, unless it is a plain input: `InitPlan 1`, `SubPlan 1`, `CTE counts`. */
  role?: string;
  /** `schema.table`. */
  relation?: string;
  /** If it differs from the table's name. */
  alias?: string;
  index?: string;
  rows?: number;
  /** In the planner's unit, including child nodes; absent: the database gives none. */
  cost?: number;
  /** Measured: rows of each run, runs, and milliseconds of all runs with child nodes; absent if it was not run. */
  ran?: { rows: number; loops: number; ms: number | null };
  /** Conditions and keys by PostgreSQL's names for them. */
  terms?: Record<string, string>;
  nodes?: PlanNode[];
}

export type PlanOutcome = Omit<QueryPlan, 'query'> | Omit<MissingPlan, 'query'>;

export interface StatementToPlan {
  system: string;
  sql: string;
  /** As executed; null in place of those that are not known. */
  values: readonly unknown[];
  /** Not all values are known: only the generic plan can be had. */
  isGeneric?: boolean;
  /** Of a statement with named placeholders. */
  names?: readonly string[] | null;
  analyze?: boolean;
  /** `set local search_path …`: what the connection was set to when the statement ran. */
  settings?: readonly string[];
}

/** For the pages: plans of recorded statements, made when somebody asks. */
export interface RecordedPlans {
  /** What can be asked for; `problem`: why nothing of this profile can be. null: it has no statement with a plan. */
  formOf(profile: Profile): { queries: { index: number; text: string }[]; problem: string | null } | null;
  /** The plan of a query, by its index. With `sql` there is none: for a reason, or because nobody is sure yet that it shall run. */
  plan(
    profile: Profile,
    index: number,
    how: { analyze: boolean; isSure: boolean },
  ): Promise<PlanOutcome | { sql: string; problem: string | null }>;
}
