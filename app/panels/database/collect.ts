/**
 * Facts `query` -> kept data: each statement's text once, bindings under the names of their columns, so that the recorder
 * masks a password by its column, and the source around the lines that loop, are slow or fail.
 */
import type { Context } from '../../profiler/context.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { SourceExcerpt } from '../../profiler/thrown.ts';
import { groupQueries, type QueryGroup } from '../shared/query-groups.ts';
import { coveredMs, round, roundOrNull } from '../shared/rows.ts';
import type { StatementBook } from '../shared/statement-book.ts';
import type { Binding } from '../shared/sql-values.ts';
import type { DatabaseData, DatabaseGroup, DatabaseQuery, KeptExcerpt } from './data.ts';

/** Kept of a statement (app/observe/knex.ts). */
const MOST_BINDINGS = 100;
const MOST_EXCERPTS = 5;
/** The count of dropped bindings, after the last kept one. Escaped: one character beyond Latin-1 doubles a file's size in V8. */
const DROPPED = /^\u2026 \d+ more$/;

export interface Collecting {
  book: StatementBook;
  slowMs: number;
  excerptAt: (place: string) => SourceExcerpt | null;
}

function bindingsOf({ bindings, types }: Facts['query'], columns: readonly (string | null)[]): Binding[] {
  return bindings.map((value, at) => {
    if (at >= MOST_BINDINGS && typeof value === 'string' && DROPPED.test(value)) return { name: '…', value };
    const name = columns[at] ?? `$${at + 1}`;
    const type = types?.[at] ?? null;
    return type === null ? { name, value } : { name, value, type };
  });
}

function groupOf({ kind, members }: QueryGroup, queries: readonly DatabaseQuery[]): DatabaseGroup {
  const first = queries[members[0] ?? 0];
  const durationMs = members.reduce((total, index) => total + (queries[index]?.durationMs ?? 0), 0);
  return {
    kind,
    statement: first?.statement ?? 0,
    caller: first?.caller ?? null,
    members,
    durationMs: round(durationMs),
  };
}

/** Taken now, because the file may have changed when the page is opened. */
function takeExcerpts(
  { queries, groups }: Pick<DatabaseData, 'queries' | 'groups'>,
  { slowMs, excerptAt }: Collecting,
): KeptExcerpt[] {
  const loops = groups.filter(({ kind }) => kind !== 'duplicate').sort((a, b) => b.durationMs - a.durationMs);
  const slowOrFailed = queries.filter(
    ({ durationMs, error }) => error !== null || (durationMs !== null && durationMs >= slowMs),
  );
  const places = new Set([...loops, ...slowOrFailed].flatMap(({ caller }) => caller ?? []));
  return [...places].slice(0, MOST_EXCERPTS).flatMap((place) => {
    const excerpt = excerptAt(place);
    return excerpt === null ? [] : { place, excerpt };
  });
}

export function collectQueries(context: Context, collecting: Collecting): DatabaseData | null {
  const { book } = collecting;
  const facts = context.all('query');
  if (facts.length === 0) return null;
  const statements: DatabaseData['statements'] = [];
  const numbers = new Map<string, number>();
  const shapes = new Set<string>();
  const grouped = groupQueries(facts, book);
  const groupAt = new Map(
    grouped.flatMap(({ members }, group) => members.map((index) => [index, group] as const)),
  );

  function statementOf({ sql, label: above, system }: Facts['query']): number {
    const key = `${above ?? ''}\n${system ?? ''}\n${sql}`;
    let number = numbers.get(key);
    if (number === undefined) {
      const { label } = book.about(sql);
      const shown = above === undefined || sql === '' ? label : `${above}: ${label}`;
      number = statements.push({ sql, label: shown, ...(system === undefined ? {} : { system }) }) - 1;
      numbers.set(key, number);
    }
    return number;
  }

  const queries = facts.map((fact, index): DatabaseQuery => {
    const { columns, shape } = book.about(fact.sql);
    shapes.add(shape);
    return {
      statement: statementOf(fact),
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
      group: groupAt.get(index) ?? null,
    };
  });
  const sum = (of: (query: DatabaseQuery) => number | null): number =>
    round(queries.reduce((total, query) => total + (of(query) ?? 0), 0));
  const groups = grouped.map((group) => groupOf(group, queries));
  const excerpts = takeExcerpts({ queries, groups }, collecting);
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
