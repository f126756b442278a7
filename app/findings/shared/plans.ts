/** What a finding says about a query plan: a table was scanned completely for a few of its rows. */
import type { KeptPlans, PlanNode, QueryPlan } from '../../profiler/query-plan.ts';
import { count } from './wording.ts';

/** Scanning a smaller table completely is usually right. */
const LARGE_TABLE = 1000;
const KEPT_SHARE = 0.1;

interface Scan {
  table: string;
  rows: number;
  kept: number;
}

function nodesOf(root: PlanNode): PlanNode[] {
  const nodes: PlanNode[] = [];
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    nodes.push(node);
    waiting.push(...(node.nodes ?? []));
  }
  return nodes;
}

function wastefulScans({ root, tables }: QueryPlan): Scan[] {
  return nodesOf(root).flatMap(({ type, relation = '', rows: kept, terms }) => {
    const rows = tables[relation] ?? 0;
    const wasteful = type.endsWith('Seq Scan') && terms?.Filter !== undefined && kept <= rows * KEPT_SHARE;
    return wasteful && rows >= LARGE_TABLE
      ? [{ table: relation.slice(relation.lastIndexOf('.') + 1), rows, kept }]
      : [];
  });
}

/** A remark on the stored plan of one query; null if there is no plan or nothing unusual. */
export function describePlan(amendment: unknown, isQuery: (index: number) => boolean): string | null {
  const { plans } = (amendment ?? {}) as Partial<KeptPlans>;
  const plan = plans?.find((entry): entry is QueryPlan => 'root' in entry && isQuery(entry.query));
  const [most] = plan === undefined ? [] : wastefulScans(plan).sort((a, b) => b.rows - a.rows);
  if (most === undefined) return null;
  return `the plan reads about ${count(most.rows, 'row')} of ${most.table} and keeps about ${count(most.kept)}`;
}
