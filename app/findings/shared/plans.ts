/** The one thing of a plan that a finding says: a table that is read whole for a few of its rows. */
import type { KeptPlans, PlanNode, QueryPlan } from '../../profiler/query-plan.ts';
import { counted } from './wording.ts';

/** Smaller tables are read whole for good reason. */
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

/** What the plan of a query says, by its index; null where there is none, or nothing stands out. */
export function sayOfPlan(amendment: unknown, isQuery: (index: number) => boolean): string | null {
  const { plans } = (amendment ?? {}) as Partial<KeptPlans>;
  const plan = plans?.find((one): one is QueryPlan => 'root' in one && isQuery(one.query));
  const [most] = plan === undefined ? [] : wastefulScans(plan).sort((a, b) => b.rows - a.rows);
  if (most === undefined) return null;
  return `its plan reads about ${counted(most.rows, 'row')} of ${most.table} to keep about ${counted(most.kept)}`;
}
