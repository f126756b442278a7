/**
 * The panel of queries: what ran, for how long, from which line, and what repeats.
 *
 * Facts `query` -> data with each statement's text stored once and bindings under the names of their columns, so that
 * the recorder masks a password by its column. Order, groups and colours are made when the page is asked for
 * (`database/page.ts`). Queries of the profiler itself are never facts.
 */
import type { Context } from '../../profiler/context.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { PanelSummary } from '../../profiler/profile.ts';
import type { SourceExcerpt } from '../../profiler/thrown.ts';
import { comparableDatabase } from './comparable.ts';
import { type KeptExcerpt, takeExcerpts } from './excerpts.ts';
import { presentDatabase } from './page.ts';
import { previewDatabase } from './preview.ts';
import { type GroupKind, groupQueries } from '../shared/query-groups.ts';
import { querySpans } from './spans.ts';
import { coveredMs, round, roundOrNull } from '../shared/rows.ts';
import { createStatementBook, type StatementBook } from '../shared/statement-book.ts';
import type { Binding } from '../shared/sql-values.ts';
import { isControl } from '../shared/statements.ts';

export interface DatabaseQuery {
  /** Index in `statements`. */
  statement: number;
  bindings: Binding[];
  startMs: number;
  durationMs: number | null;
  rows: number | null;
  connection: string | null;
  transaction: string | null;
  waitMs: number;
  error: string | null;
  caller: string | null;
  instance: string;
  /** Index in `groups`; null where it stands alone. */
  group: number | null;
}

export interface DatabaseGroup {
  kind: GroupKind;
  statement: number;
  caller: string | null;
  /** Indexes in `queries`. */
  members: number[];
  durationMs: number;
}

export interface DatabaseData {
  statements: { sql: string; label: string }[];
  queries: DatabaseQuery[];
  groups: DatabaseGroup[];
  /** Source round the lines that loop, are slow or fail; absent where there are none. */
  excerpts?: KeptExcerpt[];
  totals: {
    queries: number;
    /** Different ones, values aside. */
    statements: number;
    /** Sum over all queries. */
    durationMs: number;
    /** Time in which at least one ran. */
    busyMs: number;
    waitMs: number;
    rows: number;
    connections: number;
    failed: number;
  };
}

export interface DatabasePanelOptions {
  /** From here on a statement is called slow. */
  slowMs?: number;
  /** Source round a place in own code, `src/a.ts:41`; null where it may not or can't be read. */
  excerptAt?: (place: string) => SourceExcerpt | null;
}

const SLOW_MS = 100;
/** Kept of a statement (app/observe/knex.ts). */
const MOST_BINDINGS = 100;

interface Collecting {
  book: StatementBook;
  slowMs: number;
  excerptAt: (place: string) => SourceExcerpt | null;
}

/** How many were left out stands behind the last one that is kept. */
/** Escaped, since V8 keeps a file's text at two bytes for each character where one of them is beyond Latin-1. */
const LEFT_OUT = /^\u2026 \d+ more$/;

function bindingsOf({ bindings, types }: Facts['query'], columns: readonly (string | null)[]): Binding[] {
  return bindings.map((value, at) => {
    if (at >= MOST_BINDINGS && typeof value === 'string' && LEFT_OUT.test(value)) return { name: '…', value };
    const name = columns[at] ?? `$${at + 1}`;
    const type = types?.[at] ?? null;
    return type === null ? { name, value } : { name, value, type };
  });
}

function collect(context: Context, { book, slowMs, excerptAt }: Collecting): DatabaseData | null {
  const facts = context.all('query');
  if (facts.length === 0) return null;
  const statements: DatabaseData['statements'] = [];
  const numbers = new Map<string, number>();
  const shapes = new Set<string>();
  const grouped = groupQueries(facts, book);
  const groupOf = new Map(
    grouped.flatMap(({ members }, group) => members.map((index) => [index, group] as const)),
  );

  function statementOf(sql: string): number {
    let number = numbers.get(sql);
    if (number === undefined) {
      number = statements.push({ sql, label: book.about(sql).label }) - 1;
      numbers.set(sql, number);
    }
    return number;
  }

  const queries = facts.map((fact, index): DatabaseQuery => {
    const { columns, shape } = book.about(fact.sql);
    shapes.add(shape);
    return {
      statement: statementOf(fact.sql),
      bindings: bindingsOf(fact, columns),
      startMs: round(fact.startMs),
      durationMs: roundOrNull(fact.durationMs),
      rows: fact.rows,
      connection: fact.connection,
      transaction: fact.transaction,
      waitMs: round(fact.waitMs),
      error: fact.error,
      caller: fact.caller,
      instance: fact.instance,
      group: groupOf.get(index) ?? null,
    };
  });
  const sum = (of: (query: DatabaseQuery) => number | null): number =>
    round(queries.reduce((total, query) => total + (of(query) ?? 0), 0));
  const groups = grouped.map(({ kind, members }): DatabaseGroup => {
    const first = queries[members[0] ?? 0];
    const durationMs = members.reduce((total, index) => total + (queries[index]?.durationMs ?? 0), 0);
    return {
      kind,
      statement: first?.statement ?? 0,
      caller: first?.caller ?? null,
      members,
      durationMs: round(durationMs),
    };
  });
  const excerpts = takeExcerpts({ queries, groups, slowMs, excerptAt });
  return {
    statements,
    queries,
    groups,
    ...(excerpts.length === 0 ? {} : { excerpts }),
    totals: {
      queries: queries.length,
      statements: shapes.size,
      durationMs: sum(({ durationMs }) => durationMs),
      busyMs: round(coveredMs(facts)),
      waitMs: sum(({ waitMs }) => waitMs),
      rows: sum(({ rows }) => rows),
      connections: new Set(queries.map(({ connection }) => connection).filter((name) => name !== null)).size,
      failed: queries.filter(({ error }) => error !== null).length,
    },
  };
}

function summaryOf({ totals, groups, queries, statements }: DatabaseData): PanelSummary {
  const count = queries.filter(({ statement }) => !isControl(statements[statement]?.sql ?? '')).length;
  if (groups.some(({ kind }) => kind === 'n+1')) return { text: `N+1 · ${count}`, tone: 'bad', count };
  const worried = totals.failed > 0 || groups.some(({ kind }) => kind === 'loop');
  return { text: String(count), tone: worried ? 'warn' : 'plain', count };
}

export function createDatabasePanel({
  slowMs = SLOW_MS,
  excerptAt = () => null,
}: DatabasePanelOptions = {}): Panel<DatabaseData> {
  const book = createStatementBook();
  return {
    name: 'database',
    title: 'Database',
    key: 'd',
    toolbar: { rank: 20, label: 'queries' },
    spanKind: 'db',
    spans: (kept, { endMs }) => querySpans(kept, endMs),
    searched: ['sql', 'bindings', 'error'],
    comparable: comparableDatabase,
    collect: (context) => collect(context, { book, slowMs, excerptAt }),
    summary: summaryOf,
    draw: (data, page) => presentDatabase(data, { ...page, slowMs }),
    preview: (data) => previewDatabase(data, slowMs),
  };
}
