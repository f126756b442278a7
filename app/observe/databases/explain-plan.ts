/**
 * The result of `EXPLAIN` -> the small tree that is stored. Only known fields are taken, and none of the values in them: a value of
 * the statement becomes its placeholder again, any other `…`, so that nothing is stored here that masking by column removed from
 * the query.
 */
import type { PlanNode } from '../../profiler/read/query-plan.ts';
import { isRecord } from '../../profiler/json.ts';

export interface ParsedPlan {
  root: PlanNode;
  dropped: number;
}

type Fields = Readonly<Record<string, unknown>>;

const MOST_NODES = 60;
const DEEPEST = 30;
const LONGEST_TERM = 400;
const LONGEST_NAME = 200;
const TERMS = [
  'Filter', 'Index Cond', 'Recheck Cond', 'Hash Cond', 'Merge Cond', 'Join Filter', 'One-Time Filter', 'TID Cond', 'Order By',
  'Sort Key', 'Presorted Key', 'Group Key', 'Conflict Filter', 'Cache Key',
] as const; // prettier-ignore
/** A quoted name, a text or a number, but no number within a name or placeholder. */
const LITERAL = /"(?:[^"]|"")*"|E?'(?:[^'\\]|\\[\s\S]|'')*'|(?<![\w$."])\d[\d.]*(?:e[+-]?\d+)?/gi;

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string').join(', ') : null;
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function contentOf(literal: string): string {
  if (!/^E?'/i.test(literal)) return literal;
  const text = literal.replace(/^E?'|'$/gi, '').replaceAll("''", "'");
  return /^e/i.test(literal) ? text.replace(/\\([\s\S])/g, '$1') : text;
}

/** `2026-11-20 18:06:29+00`, as PostgreSQL prints it, in milliseconds; NaN for anything else. */
function momentOf(text: string): number {
  return Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
}

function isSame(value: unknown, content: string): boolean {
  if (value instanceof Date) return value.getTime() === momentOf(content);
  if (Array.isArray(value)) return `{${value.join(',')}}` === content;
  return ['string', 'number', 'bigint'].includes(typeof value) && String(value) === content;
}

export function createValueRemover(sql: string, bindings: readonly unknown[]): (text: string) => string {
  const own = new Set(sql.match(LITERAL));
  return (text) =>
    text.replace(LITERAL, (literal) => {
      if (literal.startsWith('"')) return literal;
      const content = contentOf(literal);
      const at = bindings.findIndex((value) => isSame(value, content));
      if (at !== -1) return `$${at + 1}`;
      return own.has(literal) ? literal : '…';
    });
}

function relationOf(fields: Fields): Pick<PlanNode, 'relation' | 'alias'> {
  const name = textOf(fields['Relation Name']);
  const alias = textOf(fields.Alias)?.slice(0, LONGEST_NAME);
  if (name === null) return alias === undefined ? {} : { alias };
  const schema = textOf(fields.Schema);
  const relation = (schema === null ? name : `${schema}.${name}`).slice(0, LONGEST_NAME);
  return alias === undefined || alias === name ? { relation } : { relation, alias };
}

function withoutTable(text: string, fields: Fields): string {
  const alias = textOf(fields.Alias);
  return alias !== null && /^[a-z_]\w*$/.test(alias)
    ? text.replaceAll(new RegExp(`\\b${alias}\\.`, 'g'), '')
    : text;
}

function termsOf(fields: Fields, clean: (text: string) => string): Pick<PlanNode, 'terms'> {
  const terms: Record<string, string> = {};
  for (const name of TERMS) {
    const text = textOf(fields[name]);
    if (text === null) continue;
    terms[name] = clean(withoutTable(text.slice(0, LONGEST_TERM * 2), fields)).slice(0, LONGEST_TERM);
  }
  return Object.keys(terms).length === 0 ? {} : { terms };
}

const AGGREGATES: Readonly<Record<string, string>> = {
  Hashed: 'HashAggregate',
  Sorted: 'GroupAggregate',
  Mixed: 'MixedAggregate',
};

function typeOf(fields: Fields): string {
  const type = textOf(fields['Node Type']) ?? 'Node';
  const partial = fields['Partial Mode'] === 'Partial' ? 'Partial ' : '';
  const parallel = fields['Parallel Aware'] === true ? 'Parallel ' : '';
  if (type === 'Aggregate') return partial + (AGGREGATES[textOf(fields.Strategy) ?? ''] ?? type);
  if (type === 'ModifyTable') return textOf(fields.Operation) ?? type;
  return (parallel + type).slice(0, LONGEST_NAME);
}

function roleOf(fields: Fields): Pick<PlanNode, 'role'> {
  const name = textOf(fields['Subplan Name']);
  return name === null ? {} : { role: name.slice(0, LONGEST_NAME) };
}

function jsonOf(answer: unknown): unknown {
  return typeof answer === 'string' ? JSON.parse(answer) : answer;
}

function ranOf(rows: unknown, loops: unknown, ms: unknown): Pick<PlanNode, 'ran'> {
  if (typeof rows !== 'number' || typeof loops !== 'number') return {};
  return { ran: { rows, loops, ms: typeof ms === 'number' ? ms : null } };
}

/** PostgreSQL's, as JSON; null for anything that is not a plan. */
export function parsePlan(answer: unknown, clean: (text: string) => string): ParsedPlan | null {
  const parsed = jsonOf(answer);
  const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!isRecord(first) || !isRecord(first.Plan)) return null;
  let left = MOST_NODES;
  let dropped = 0;

  function take(fields: Fields, depth: number): PlanNode {
    left--;
    const nodes: PlanNode[] = [];
    const below = Array.isArray(fields.Plans) ? fields.Plans.filter(isRecord) : [];
    for (const node of below) {
      if (left > 0 && depth < DEEPEST) nodes.push(take(node, depth + 1));
      else dropped++;
    }
    const join = textOf(fields['Join Type']);
    const index = textOf(fields['Index Name']);
    return {
      type: typeOf(fields),
      ...(join === null || join === 'Inner' ? {} : { join }),
      ...roleOf(fields),
      ...relationOf(fields),
      ...(index === null ? {} : { index: index.slice(0, LONGEST_NAME) }),
      rows: numberOf(fields['Plan Rows']),
      cost: numberOf(fields['Total Cost']),
      ...ranOf(
        fields['Actual Rows'],
        fields['Actual Loops'],
        numberOf(fields['Actual Total Time']) * numberOf(fields['Actual Loops']),
      ),
      ...termsOf(fields, clean),
      ...(nodes.length === 0 ? {} : { nodes }),
    };
  }

  return { root: take(first.Plan, 0), dropped };
}

const ACCESS: Readonly<Record<string, string>> = {
  ALL: 'Table scan', index: 'Index scan', range: 'Index range scan', ref: 'Index lookup', eq_ref: 'Unique index lookup',
  const: 'Unique index lookup', system: 'One row', fulltext: 'Fulltext lookup', index_merge: 'Index merge', ref_or_null: 'Index lookup or NULL',
}; // prettier-ignore
const STEPS: Readonly<Record<string, string>> = {
  filesort: 'Sort', temporary_table: 'Temporary table', 'block-nl-join': 'Block nested loop', materialized: 'Materialized',
  subqueries: 'Subquery', expression_cache: 'Cached subquery', union_result: 'Union', read_sorted_file: 'Read sorted rows',
}; // prettier-ignore

/** MariaDB's, as JSON; null for anything that is not a plan. */
export function parseMariadbPlan(answer: unknown, clean: (text: string) => string): ParsedPlan | null {
  const parsed = jsonOf(answer);
  if (!isRecord(parsed) || !isRecord(parsed.query_block)) return null;
  let left = MOST_NODES;
  let dropped = 0;

  function below(value: unknown, depth: number): PlanNode[] {
    if (Array.isArray(value)) return value.flatMap((item) => below(item, depth));
    if (!isRecord(value) || depth > DEEPEST) return [];
    return Object.entries(value).flatMap(([name, part]): PlanNode[] => {
      if (typeof part !== 'object' || part === null) return [];
      const step = STEPS[name];
      if (name !== 'table' && step === undefined) return below(part, depth + 1);
      if (left-- <= 0) {
        dropped++;
        return [];
      }
      const fields = part as Fields;
      const nodes = below(part, depth + 1);
      const condition = textOf(fields.attached_condition);
      const key = textOf(fields.sort_key);
      const terms = {
        ...(condition === null
          ? {}
          : { Filter: clean(condition.slice(0, LONGEST_TERM * 2)).slice(0, LONGEST_TERM) }),
        ...(key === null ? {} : { 'Sort Key': clean(key.slice(0, LONGEST_TERM)) }),
      };
      const [relation, index] = [textOf(fields.table_name), textOf(fields.key)];
      return [
        {
          type: step ?? ACCESS[textOf(fields.access_type) ?? ''] ?? 'Table',
          ...(relation === null ? {} : { relation: relation.slice(0, LONGEST_NAME) }),
          ...(index === null ? {} : { index: index.slice(0, LONGEST_NAME) }),
          ...(typeof fields.rows === 'number' ? { rows: fields.rows } : {}),
          ...(typeof fields.cost === 'number' ? { cost: fields.cost } : {}),
          ...ranOf(fields.r_rows, fields.r_loops, fields.r_total_time_ms ?? fields.r_table_time_ms),
          ...(Object.keys(terms).length === 0 ? {} : { terms }),
          ...(nodes.length === 0 ? {} : { nodes }),
        },
      ];
    });
  }

  const nodes = below(parsed.query_block, 0);
  const [first] = nodes;
  const root = first !== undefined && nodes.length === 1 ? first : { type: 'Nested loop', nodes };
  return nodes.length === 0 ? null : { root, dropped };
}

const TREE_LINE =
  /^(\s*)-> (.*?)(?:\s+\(cost=(?:[\d.e+]+\.\.)?([\d.e+]+) rows=([\d.e+]+)\))?(?:\s+\(actual time=[\d.e+-]+\.\.([\d.e+-]+) rows=([\d.e+]+) loops=(\d+)\))?(?:\s+\(never executed\))?\s*$/;

interface Placed {
  depth: number;
  node: PlanNode;
}

function treeOf(placed: readonly Placed[], dropped: number): ParsedPlan | null {
  const roots: PlanNode[] = [];
  const open: Placed[] = [];
  for (const one of placed) {
    while ((open.at(-1)?.depth ?? -1) >= one.depth) open.pop();
    const parent = open.at(-1)?.node;
    if (parent === undefined) roots.push(one.node);
    else (parent.nodes ??= []).push(one.node);
    open.push(one);
  }
  const [first] = roots;
  if (first === undefined) return null;
  return { root: roots.length === 1 ? first : { type: 'Statement', nodes: roots }, dropped };
}

/** MySQL's, as its text tree; null for anything that is not a plan. */
export function parseMysqlPlan(answer: string, clean: (text: string) => string): ParsedPlan | null {
  const placed = answer.split('\n').flatMap((line): Placed[] => {
    const [, indent, text, cost, rows, ms, ranRows, loops] = TREE_LINE.exec(line) ?? [];
    if (indent === undefined || text === undefined) return [];
    const node: PlanNode = {
      type: clean(text.slice(0, LONGEST_TERM)).slice(0, LONGEST_NAME),
      ...(rows === undefined ? {} : { rows: Number(rows) }),
      ...(cost === undefined ? {} : { cost: Number(cost) }),
      ...(loops === undefined ? {} : ranOf(Number(ranRows), Number(loops), Number(ms) * Number(loops))),
    };
    return [{ depth: indent.length, node }];
  });
  return treeOf(placed.slice(0, MOST_NODES), Math.max(0, placed.length - MOST_NODES));
}

/** SQLite's `EXPLAIN QUERY PLAN`: no estimates; null for anything that is not a plan. */
export function parseSqlitePlan(rows: unknown, clean: (text: string) => string): ParsedPlan | null {
  const depths = new Map<unknown, number>();
  const placed = (Array.isArray(rows) ? rows : []).flatMap((row: unknown): Placed[] => {
    if (!isRecord(row) || typeof row.detail !== 'string') return [];
    const depth = (depths.get(row.parent) ?? -1) + 1;
    depths.set(row.id, depth);
    return [{ depth, node: { type: clean(row.detail).slice(0, LONGEST_NAME) } }];
  });
  return treeOf(placed.slice(0, MOST_NODES), Math.max(0, placed.length - MOST_NODES));
}

export function nodesOf(root: PlanNode): PlanNode[] {
  return [root, ...(root.nodes ?? []).flatMap(nodesOf)];
}
