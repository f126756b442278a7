/**
 * PostgreSQL's plan of a slow statement, stored beside its profile as the late fact `plan`: made by app/observe/explain.ts after the
 * response, read by the database panel. It contains placeholders instead of the statement's values.
 */

/** The late fact of a profile. */
export interface KeptPlans {
  /** Milliseconds from which a statement gets a plan. */
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
  /** Number of nodes left out. */
  dropped?: number;
}

export interface MissingPlan {
  query: number;
  /** Why there is no plan, as a sentence. */
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
  /** Estimate for each run. */
  rows: number;
  /** In the planner's unit, including child nodes. */
  cost: number;
  /** Conditions and keys by PostgreSQL's names for them. */
  terms?: Record<string, string>;
  nodes?: PlanNode[];
}
