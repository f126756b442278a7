/**
 * Facts `query` -> stored data: each statement's text once, bindings named after their columns, so that the recorder masks a password by
 * its column, and source around the lines that loop, are slow or fail.
 */
import { endsTransaction, isControl } from '../../profiler/transaction-sql.ts';
import { isInLibrary } from '../../profiler/read/rows.ts';
import { round } from '../../profiler/read/span.ts';
import type { Counted } from '../../profiler/record/beyond-limit.ts';
import type { Context } from '../../profiler/record/context.ts';
import type { Facts } from '../../profiler/record/facts.ts';
import { withRoundedTimes } from '../../profiler/record/recorded-facts.ts';
import type { SourceExcerpt } from '../../profiler/record/thrown.ts';
import { loopAbove, type SourceAbove, usualPath } from '../shared/loop-path.ts';
import { isLoop, groupQueries, loopPlace, type QueryGroup, repeatKey } from '../shared/query-groups.ts';
import { coveredMs, pick } from '../shared/rows.ts';
import { isWriting, NAME_BINDING } from '../shared/statements.ts';
import { aboutStatement } from '../shared/about-statement.ts';
import { type Unkept, unkeptOf } from '../shared/unkept.ts';
import type { Binding } from '../shared/sql-values.ts';
import { keptRows } from '../shared/found-rows.ts';
import {
  type DatabaseData,
  type DatabaseGroup,
  type DatabaseQuery,
  isSlow,
  type KeptDatabase,
  type KeptExcerpt,
} from './data.ts';

const MOST_BINDINGS = 100;
const MOST_EXCERPTS = 5;
const MOST_UNRUN = 20;
/** The count of dropped bindings, after the last kept one. Escaped: one character beyond Latin-1 doubles a file's size in V8. */
const DROPPED = /^\u2026 \d+ more$/;

export interface Collecting {
  excerptAt: (place: string) => SourceExcerpt | null;
  sourceAbove: SourceAbove;
}

function bindingsOf({ sql, system, bindings, types }: Facts['query']): Binding[] {
  if (bindings.length === 0) return [];
  const { columns, fields } = aboutStatement(sql, system);
  return bindings.map((value, at) => {
    if (at >= MOST_BINDINGS && typeof value === 'string' && DROPPED.test(value)) return { name: '…', value };
    const name = columns[at] ?? `$${at + 1}`;
    const given = fields[at] === NAME_BINDING ? bindings[at - 1] : fields[at];
    const field = typeof given === 'string' ? given : null;
    const type = types?.[at] ?? null;
    return { name, ...(field === null ? {} : { field }), value, ...(type === null ? {} : { type }) };
  });
}

/** Statements that are only counted, by line and shape. */
function beyondByShape(context: Context, system: string | undefined): Map<string, Counted> {
  const byShape = new Map<string, Counted>();
  for (const [key, counted] of context.beyond('query')?.byKey ?? []) {
    const [caller, sql] = readKey(key);
    const shape = repeatKey(caller, aboutStatement(sql, system).shape);
    const known = byShape.get(shape) ?? { count: 0, durationMs: 0, slowestMs: 0, failed: 0, rows: 0 };
    known.count += counted.count;
    known.durationMs += counted.durationMs;
    known.slowestMs = Math.max(known.slowestMs, counted.slowestMs);
    known.failed += counted.failed;
    known.rows += counted.rows;
    byShape.set(shape, known);
  }
  return byShape;
}

function readKey(key: string): [caller: string, sql: string] {
  const end = key.indexOf('\n');
  return [key.slice(0, Math.max(0, end)), key.slice(end + 1)];
}

/** Without BEGIN, COMMIT and the like, which no total counts as queries. */
function unkeptQueries(context: Context): Unkept | null {
  const unkept = unkeptOf(context.beyond('query'));
  if (unkept === null) return null;
  for (const [key, { count }] of context.beyond('query')?.byKey ?? [])
    if (isControl(readKey(key)[1])) unkept.count -= count;
  return unkept;
}

function groupOf(
  { kind, members }: QueryGroup,
  queries: readonly DatabaseQuery[],
  { beyond, loop }: { beyond: Counted | undefined; loop: string | null },
): DatabaseGroup {
  const first = queries[members[0] ?? 0];
  const keptMs = coveredMs(pick(queries, members));
  const durationMs = keptMs + (beyond?.durationMs ?? 0);
  return {
    kind,
    statement: first?.statement ?? 0,
    caller: first?.caller ?? null,
    ...(loop === null ? {} : { loop }),
    members,
    ...(beyond === undefined ? {} : { more: beyond.count, moreSlowestMs: round(beyond.slowestMs) }),
    durationMs: round(durationMs),
  };
}

/** Taken now, because the file may have changed when the page is opened. */
function takeExcerpts(
  { queries, groups }: Pick<DatabaseData, 'queries' | 'groups'>,
  excerptAt: Collecting['excerptAt'],
): KeptExcerpt[] {
  const loops = groups.filter(isLoop).sort((a, b) => b.durationMs - a.durationMs);
  const slowOrFailed = queries.filter((query) => query.error !== null || isSlow(query));
  const places = new Set([
    ...loops.flatMap((group) => loopPlace(group) ?? []),
    ...slowOrFailed.flatMap(({ caller }) => caller ?? []),
  ]);
  return [...places].slice(0, MOST_EXCERPTS).flatMap((place) => {
    const excerpt = excerptAt(place);
    return excerpt === null ? [] : { place, excerpt };
  });
}

export function collectQueries(
  context: Context,
  { excerptAt, sourceAbove }: Collecting,
): KeptDatabase | null {
  const facts = context.all('query');
  const unrun = context
    .all('built')
    .flatMap(({ label, caller, ran }) => (ran ? [] : [{ label, caller }]))
    .slice(0, MOST_UNRUN);
  if (facts.length === 0 && unrun.length === 0) return null;
  const statements: KeptDatabase['statements'] = [];
  const numbers = new Map<string, number>();
  const shapes = new Set<string>();
  const grouped = groupQueries(facts, context.durationMs);
  const groupAt = new Map(
    grouped.flatMap(({ members }, group) => members.map((index) => [index, group] as const)),
  );

  function statementOf({ sql, label: above, system, server }: Facts['query']): number {
    const key = `${above ?? ''}\n${system ?? ''}\n${server ?? ''}\n${sql}`;
    let number = numbers.get(key);
    if (number === undefined) {
      number =
        statements.push({
          sql,
          ...(above === undefined || sql === '' ? {} : { above }),
          ...(system === undefined ? {} : { system }),
          ...(server === undefined ? {} : { server }),
        }) - 1;
      numbers.set(key, number);
    }
    return number;
  }

  const shapeAt = (index: number): string =>
    aboutStatement(facts[index]?.sql ?? '', facts[index]?.system).shape;

  const begunAt = new Map<string, string | null>();

  /** A library that runs a callback in a transaction ends it later, far from the line that asked for it: it is the line that began it. */
  function callerOf({ transaction, connection, caller, sql }: Facts['query']): string | null {
    if (transaction === null) return caller;
    const key = `${connection ?? ''} ${transaction}`;
    const begun = begunAt.get(key);
    if (begun === undefined) begunAt.set(key, caller);
    return isInLibrary(caller) && endsTransaction(sql) ? (begun ?? caller) : caller;
  }

  const queries = facts.map((fact, index): DatabaseQuery => {
    const { shape } = aboutStatement(fact.sql, fact.system);
    shapes.add(shape);
    const { sql: _sql, label: _label, system: _system, server: _server, types: _types, found, ...query } = fact; // prettier-ignore
    return {
      ...withRoundedTimes(query),
      caller: callerOf(fact),
      statement: statementOf(fact),
      bindings: bindingsOf(fact),
      ...(found === undefined ? {} : { found: keptRows(found, fact.sql, fact.system) }),
      ...(fact.lockedBy === undefined ? {} : { lockedBy: withRoundedTimes(fact.lockedBy) }),
      group: groupAt.get(index) ?? null,
    };
  });
  const beyond = beyondByShape(context, facts[0]?.system);
  for (const key of beyond.keys()) shapes.add(readKey(key)[1]);
  const unkept = unkeptQueries(context);
  const groups = grouped.map((group) => {
    const [first = 0] = group.members;
    const caller = facts[first]?.caller ?? null;
    const above = usualPath(group.members.map((index) => facts[index]?.path));
    const loop = caller === null || above === undefined ? null : loopAbove(caller, above, sourceAbove);
    return groupOf(group, queries, { beyond: beyond.get(repeatKey(caller, shapeAt(first))), loop });
  });
  const written = (sql: string, rows: number | null): number => (isWriting(sql) ? (rows ?? 0) : 0);
  const unkeptChanged = [...(context.beyond('query')?.byKey ?? [])].reduce(
    (sum, [key, { rows }]) => sum + written(readKey(key)[1], rows),
    0,
  );
  const excerpts = takeExcerpts({ queries, groups }, excerptAt);
  return {
    statements,
    queries,
    groups,
    ...(excerpts.length === 0 ? {} : { excerpts }),
    ...(unrun.length === 0 ? {} : { unrun }),
    ...(unkept === null ? {} : { unkept }),
    totals: {
      queries: queries.length + (unkept?.count ?? 0),
      statements: shapes.size,
      rows: queries.reduce((sum, { rows }) => sum + (rows ?? 0), 0) + (unkept?.rows ?? 0),
      changed: facts.reduce((sum, { sql, rows }) => sum + written(sql, rows), unkeptChanged),
      connections: new Set(queries.map(({ connection }) => connection).filter((name) => name !== null)).size,
      failed: queries.filter(({ error }) => error !== null).length + (unkept?.failed ?? 0),
    },
  };
}
