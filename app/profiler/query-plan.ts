/**
 * How PostgreSQL meant to run a slow statement, kept beside its profile as the late fact `plan`: made by app/observe/explain.ts
 * after the answer, read by the database panel. Values of the statement stand in it as their placeholders.
 */

/** The late fact of a profile. */
export interface KeptPlans {
  /** Milliseconds from which on a statement is planned. */
  overMs: number;
  plans: (QueryPlan | MissingPlan)[];
}

export interface QueryPlan {
  /** Index among the queries of the profile. */
  query: number;
  /** Milliseconds since 1970. */
  plannedAt: number;
  root: PlanNode;
  /** Rows of the tables it reads, by the statistics of the database; `schema.table`. */
  tables: Record<string, number>;
  /** Nodes left out. */
  cut?: number;
}

export interface MissingPlan {
  query: number;
  /** Why there is none, as a sentence. */
  problem: string;
}

export interface PlanNode {
  /** `Seq Scan`, `Hash Join` … */
  type: string;
  /** `Inner`, `Left` … of a join, where it is not inner. */
  join?: string;
  /** How it belongs to the node above, where that is no plain input: `InitPlan 1`, `SubPlan 1`, `CTE counts`. */
  role?: string;
  /** `schema.table`. */
  relation?: string;
  /** Where it differs from the table's name. */
  alias?: string;
  index?: string;
  /** Estimated, each time it runs. */
  rows: number;
  /** In the planner's unit, with what lies below. */
  cost: number;
  /** Conditions and keys by PostgreSQL's own names for them. */
  terms?: Record<string, string>;
  nodes?: PlanNode[];
}
