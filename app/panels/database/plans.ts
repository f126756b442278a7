/**
 * Query plans of slow statements: a tree with each node's share of the cost, and what stands out, in sentences. They are late
 * facts beside the profile (app/profiler/read/query-plan.ts); values are put in place from the profile's own, masked bindings.
 */
import type { KeptPlans, MissingPlan, PlanNode, QueryPlan } from '../../profiler/read/query-plan.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import type { DatabaseData, DatabaseQuery } from './data.ts';
import { LARGE_TABLE, wastefulScan } from '../shared/wasteful-scan.ts';
import { joinTokens, type SqlToken } from '../shared/sql-tokens.ts';
import { valuesInPlace } from '../shared/sql-values.ts';

export interface PlanRow {
  depth: number;
  title: string;
  about: string;
  rows: number | null;
  ran: string | null;
  share: number | null;
  terms: { name: string; tokens: SqlToken[] }[];
  marked: boolean;
}

export interface ShownPlan {
  id: string;
  tree?: PlanRow[];
  /** Notable; or why there is no plan. */
  says: string[];
  plannedAt: number | null;
  isAnalyzed: boolean;
  dropped: number;
}

const MANY_SORTED = 10_000;
/** A sort of plain columns is named from this share of the cost. */
const SORT_SHARE = 0.2;
const PLAIN_KEYS = /^[\w$."]+(?: DESC)?(?:, [\w$."]+(?: DESC)?)*$/;
const CHANGES = new Set(['Insert', 'Update', 'Delete', 'Merge']);
const REPEATED = 10;
/** From here on an estimate is wrong. */
const WRONG_BY = 10;
const WRONG_ROWS = 100;
const LONGEST_VALUE = 60;
const MOST_SAYS = 4;
const GENERIC = 'This is the generic plan, because values of the statement are masked';
const DEEPEST_SHOWN = 8;
function bareName(relation: string): string {
  return relation.slice(relation.lastIndexOf('.') + 1);
}

interface Visit {
  node: PlanNode;
  parent: PlanNode | null;
  depth: number;
  own: number;
}

function spentOf(node: PlanNode, above: PlanNode): number {
  const [cost, limit] = [costOf(node), costOf(above)];
  return cost > limit && cost > 0 ? limit / cost : 1;
}

function costOf({ cost = 0 }: PlanNode): number {
  return cost;
}

function visits(root: PlanNode): Visit[] {
  const found: Visit[] = [];
  const waiting: (Omit<Visit, 'own'> & { part: number })[] = [
    { node: root, parent: null, depth: 0, part: 1 },
  ];
  for (let visit = waiting.pop(); visit !== undefined; visit = waiting.pop()) {
    const { node, parent, depth, part } = visit;
    let own = costOf(node) * part;
    for (const below of (node.nodes ?? []).toReversed()) {
      const spent = part * spentOf(below, node);
      own -= costOf(below) * spent;
      waiting.push({ node: below, parent: node, depth: depth + 1, part: spent });
    }
    found.push({ node, parent, depth, own: Math.max(0, own) });
  }
  return found;
}

function outerOf(parent: PlanNode | null, node: PlanNode): PlanNode | null {
  const [outer, inner] = parent?.nodes ?? [];
  return parent?.type === 'Nested Loop' && inner === node && outer !== undefined ? outer : null;
}

function sayOfScan({ node, parent }: Visit, tables: QueryPlan['tables']): string | null {
  if (!node.type.endsWith('Seq Scan') || node.relation === undefined) return null;
  const total = tables[node.relation];
  if (total === undefined || total < LARGE_TABLE) return null;
  const name = bareName(node.relation);
  const outer = outerOf(parent, node);
  const again =
    outer !== null && (outer.rows ?? 0) >= REPEATED
      ? `, once for each of about ${count(outer.rows ?? 0, 'row')}`
      : '';
  const scan = wastefulScan(node, tables);
  if (scan === null)
    return again === '' ? null : `Reads all of about ${count(total, 'row')} of ${name}${again}`;
  const index = scan.columns.length === 0 ? name : `${name} (${scan.columns.join(', ')})`;
  return `Reads about ${count(total, 'row')} of ${name} to keep about ${count(scan.kept)}${again}: an index on ${index} may help`;
}

function sayOfSort({ node, own }: Visit, whole: number): string | null {
  const rows = node.nodes?.[0]?.rows ?? 0;
  const key = node.terms?.['Sort Key'] ?? '';
  if (node.type !== 'Sort' || rows < MANY_SORTED || !PLAIN_KEYS.test(key)) return null;
  if (own < whole * SORT_SHARE) return null;
  return `Sorts about ${count(rows, 'row')} by ${key}: an index in that order may avoid the sort`;
}

function sayOfEstimate({ type, rows: expected }: PlanNode, { rows }: DatabaseQuery): string | null {
  if (rows === null || expected === undefined || CHANGES.has(type)) return null;
  if (Math.abs(rows - expected) < WRONG_ROWS) return null;
  const [less, more] = [Math.max(1, Math.min(rows, expected)), Math.max(rows, expected)];
  if (more / less < WRONG_BY) return null;
  return `Expected about ${count(expected, 'row')}, got ${count(rows)}: table statistics may be outdated (run ANALYZE)`;
}

function aboutOf({ relation, alias, index, role }: PlanNode): string {
  const parts: string[] = [];
  if (index !== undefined) parts.push(`using ${index}`);
  if (relation !== undefined) parts.push(`on ${bareName(relation)}`);
  if (alias !== undefined) parts.push(relation === undefined ? `on ${alias}` : `as ${alias}`);
  if (role !== undefined) parts.push(`(${role})`);
  return parts.join(' ');
}

function ranText({ ran }: PlanNode): string | null {
  if (ran === undefined) return null;
  const rows = ran.loops > 1 ? `${count(ran.rows)} × ${count(ran.loops, 'run')}` : count(ran.rows);
  return ran.ms === null ? rows : `${rows}, ${durationText(ran.ms)}`;
}

function rowOf({ node, depth, own }: Visit, whole: number, query: DatabaseQuery, marked: boolean): PlanRow {
  return {
    depth: Math.min(depth, DEEPEST_SHOWN),
    title: node.join === undefined ? node.type : `${node.join} ${node.type}`,
    about: aboutOf(node),
    rows: node.rows ?? null,
    ran: ranText(node),
    share: whole > 0 ? Math.min(1, own / whole) : null,
    terms: Object.entries(node.terms ?? {}).map(([name, text]) => ({
      name,
      tokens: joinTokens(valuesInPlace(text, query.bindings, { longest: LONGEST_VALUE }).tokens),
    })),
    marked,
  };
}

function showPlan(plan: QueryPlan, query: DatabaseQuery): ShownPlan {
  const { root, tables, plannedAt, dropped = 0 } = plan;
  const marked = new Set<PlanNode>();
  const says: string[] = [];
  const found = visits(root);
  for (const visit of found) {
    const sentence = sayOfScan(visit, tables) ?? sayOfSort(visit, costOf(root));
    if (sentence === null) continue;
    marked.add(visit.node);
    if (says.length < MOST_SAYS) says.push(sentence);
  }
  const estimate = plan.isGeneric === true ? null : sayOfEstimate(root, query);
  if (estimate !== null) says.push(estimate);
  if (plan.isGeneric === true) says.push(GENERIC);
  return {
    id: `p${plan.query + 1}`,
    tree: found.map((visit) => rowOf(visit, costOf(root), query, marked.has(visit.node))),
    says,
    plannedAt,
    isAnalyzed: plan.isAnalyzed === true,
    dropped,
  };
}

function isPlans(value: unknown): value is KeptPlans {
  return typeof value === 'object' && value !== null && Array.isArray((value as Partial<KeptPlans>).plans);
}

function isMissing(plan: QueryPlan | MissingPlan): plan is MissingPlan {
  return 'problem' in plan;
}

export function shownPlans(data: DatabaseData, amendment: unknown): Map<number, ShownPlan> {
  const shown = new Map<number, ShownPlan>();
  if (!isPlans(amendment)) return shown;
  for (const plan of amendment.plans) {
    const query = data.queries[plan.query];
    if (query === undefined) continue;
    const missing = { id: `p${plan.query + 1}`, plannedAt: null, isAnalyzed: false, dropped: 0 };
    shown.set(plan.query, isMissing(plan) ? { ...missing, says: [plan.problem] } : showPlan(plan, query));
  }
  return shown;
}
