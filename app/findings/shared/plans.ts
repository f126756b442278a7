/** What a finding says about a query plan: a table was scanned completely for a few of its rows. */
import type { KeptPlans, PlanNode, QueryPlan } from '../../profiler/query-plan.ts';
import { comparedColumns } from '../../panels/shared/compared-columns.ts';
import type { FixCode } from '../../profiler/finding.ts';
import { count } from './wording.ts';

/** Scanning a smaller table completely is usually right. */
const LARGE_TABLE = 1000;
const KEPT_SHARE = 0.1;

interface Scan {
  /** With its schema, unless that is `public`. */
  table: string;
  columns: readonly string[];
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
    const filter = terms?.Filter;
    if (!type.endsWith('Seq Scan') || filter === undefined) return [];
    if (rows < LARGE_TABLE || kept > rows * KEPT_SHARE) return [];
    return [{ table: relation.replace(/^public\./, ''), columns: comparedColumns(filter), rows, kept }];
  });
}

/** The worst one in the stored plan of one query. */
function worstScan(amendment: unknown, isQuery: (index: number) => boolean): Scan | undefined {
  const { plans } = (amendment ?? {}) as Partial<KeptPlans>;
  const plan = plans?.find((entry): entry is QueryPlan => 'root' in entry && isQuery(entry.query));
  return plan === undefined ? undefined : wastefulScans(plan).sort((a, b) => b.rows - a.rows)[0];
}

/** A remark on the plan; null if there is none or nothing unusual. */
export function describePlan(amendment: unknown, isQuery: (index: number) => boolean): string | null {
  const scan = worstScan(amendment, isQuery);
  if (scan === undefined) return null;
  const table = scan.table.slice(scan.table.lastIndexOf('.') + 1);
  return `the plan reads about ${count(scan.rows, 'row')} of ${table} and keeps about ${count(scan.kept)}`;
}

/** The index that the plan lacks; null if that is unclear. */
export function indexCode(amendment: unknown, isQuery: (index: number) => boolean): FixCode | null {
  const scan = worstScan(amendment, isQuery);
  if (scan === undefined || scan.columns.length === 0) return null;
  return {
    language: 'sql',
    text: `create index concurrently on ${scan.table} (${scan.columns.join(', ')});`,
    assumes:
      'Assumes that no index begins with these columns yet, and that the table is read more often than written. With concurrently it blocks no writes, but cannot run in a transaction, as migrations do.',
  };
}
