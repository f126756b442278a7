/**
 * `EXPLAIN (FORMAT JSON)` -> the small tree that is stored. Only known fields are taken, and none of the values in them: a value of
 * the statement becomes its placeholder again, any other `…`, so that nothing is stored here that masking by column removed from
 * the query.
 */
import type { PlanNode } from '../profiler/query-plan.ts';
import { isRecord } from '../profiler/json.ts';

export interface ParsedPlan {
  root: PlanNode;
  /** Nodes left out. */
  dropped: number;
}

type Fields = Readonly<Record<string, unknown>>;

const MOST_NODES = 60;
const DEEPEST = 30;
const LONGEST_TERM = 400;
const LONGEST_NAME = 200;
/** Conditions and keys worth reading; others are left out. */
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

/** The content of a literal, without quotes. */
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

/** Replaces values by their placeholders. Literals of the statement's own text stay. */
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

/** Removes the name of the one table that a scan reads, which only repeats it. */
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

/** As the text format of `EXPLAIN` names it. */
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

/** null for anything that is not a plan. */
export function parsePlan(answer: unknown, clean: (text: string) => string): ParsedPlan | null {
  const parsed: unknown = typeof answer === 'string' ? JSON.parse(answer) : answer;
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
      ...termsOf(fields, clean),
      ...(nodes.length === 0 ? {} : { nodes }),
    };
  }

  return { root: take(first.Plan, 0), dropped };
}

/** Every node of a plan. */
export function nodesOf(root: PlanNode): PlanNode[] {
  return [root, ...(root.nodes ?? []).flatMap(nodesOf)];
}
