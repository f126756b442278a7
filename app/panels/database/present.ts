import { isControl } from '../../profiler/transaction-sql.ts';
import type { PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { SHORTEST_WAIT_MS } from '../../profiler/read/span.ts';
import type { Block, Figure, Presentation, Row, Section } from '../../profiler/read/rows.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { excerptText } from '../../view-helpers/source.ts';
import { loopPlace, timesOf } from '../shared/query-groups.ts';
import { pick, totalMs } from '../shared/rows.ts';
import { shareFigure, timeFigure } from '../shared/timeline-data.ts';
import { sqlTokens } from '../shared/sql-tokens.ts';
import { isWriting } from '../shared/statements.ts';
import { aboutStatement } from '../shared/about-statement.ts';
import { keptNote } from '../shared/unkept.ts';
import {
  type DatabaseData,
  type DatabaseGroup,
  type DatabaseQuery,
  GROUP_LABELS,
  GROUP_TONES,
  isSlow,
} from './data.ts';
import { type ShownPlan, shownPlans } from './plans.ts';
import { queryNumbers } from '../shared/query-numbers.ts';
import { lineOf, queryDetail, shownName, sqlBlock } from './query-detail.ts';
import { transactionMarks } from './transactions.ts';

/** From here on waiting for a connection is a warning. */
const LONG_WAIT_MS = 20;
const COLOURED = 300;

function groupRow({ statements, queries }: DatabaseData, group: DatabaseGroup, index: number): Row {
  const { kind, statement, members, more = 0, durationMs } = group;
  const failed = members.filter((member) => (queries[member]?.error ?? null) !== null).length;
  return {
    id: `g${index + 1}`,
    text: statements[statement]?.label ?? '',
    times: timesOf(group),
    number: durationMs,
    tone: failed > 0 ? 'bad' : GROUP_TONES[kind],
    badges: [GROUP_LABELS[kind], ...(failed > 0 ? [`${count(failed)} failed`] : [])],
    note: more > 0 ? `${count(members.length)} kept` : null,
    place: loopPlace(group),
  };
}

function heldByText({ heldBy }: DatabaseQuery): string | null {
  if (heldBy === undefined) return null;
  return heldBy
    .map(({ what, profile, connections }) => `${what} (${profile}, ${count(connections, 'connection')})`)
    .join(', ');
}

function lockedByText({ lockedBy }: DatabaseQuery): string | null {
  return lockedBy === undefined ? null : `${lockedBy.what} (${lockedBy.profile}): rows of ${lockedBy.table}`;
}

interface Showing {
  marks: ReturnType<typeof transactionMarks>;
  plans: ReadonlyMap<number, ShownPlan>;
}

function badgesOf(query: DatabaseQuery, index: number, { marks, plans }: Showing): string[] {
  const { waitMs, error } = query;
  return [
    ...(error === null ? [] : ['failed']),
    ...(isSlow(query) ? ['slow'] : []),
    ...(waitMs >= SHORTEST_WAIT_MS ? [`waited ${durationText(waitMs)}`] : []),
    ...(plans.get(index)?.tree === undefined ? [] : ['plan']),
    ...(marks.has(index) ? [marks.get(index)?.name ?? ''] : []),
  ];
}

function queryRows(data: DatabaseData, showing: Showing): Row[] {
  const { statements, queries } = data;
  const { marks, plans } = showing;
  const numbers = queryNumbers(data);
  return queries.map((query, index): Row => {
    const { statement, bindings, startMs, durationMs, rows, waitMs, error, caller, path, group } = query;
    const { sql = '' } = statements[statement] ?? {};
    return {
      id: `q${index + 1}`,
      text: statements[statement]?.label || 'waiting for a connection',
      ...(sql ? { line: (marked) => lineOf(data, query, marked) } : {}),
      number: durationMs,
      tone: error !== null ? 'bad' : isSlow(query) || waitMs >= LONG_WAIT_MS ? 'warn' : 'plain',
      badges: badgesOf(query, index, showing),
      note: rows === null ? null : count(rows, 'row'),
      place: caller,
      path,
      fields: [
        { label: 'Query', value: numbers[index] ?? null, unit: 'count' },
        { label: 'Start', value: startMs, unit: 'at' },
        { label: 'SQL', value: `S${statement + 1}` },
        { label: 'System', value: statements[statement]?.system ?? null },
        { label: 'Server', value: statements[statement]?.server ?? null },
        {
          label: 'Bindings',
          value:
            bindings
              .map(({ name, value }) => `${shownName(name, sql)} = ${JSON.stringify(value)}`)
              .join(', ') || null,
          compared: true,
        },
        { label: 'Waiting for a connection', value: waitMs > 0 ? waitMs : null, unit: 'ms' },
        { label: 'Connections held by', value: heldByText(query) },
        { label: 'May have waited for', value: lockedByText(query) },
        { label: 'Connection', value: query.connection?.replace(/^__knexUid/, '') ?? null },
        {
          label: 'Knex',
          value: ['default', statements[statement]?.system].includes(query.instance) ? null : query.instance,
        },
        { label: 'Transaction', value: marks.get(index)?.name ?? null },
        { label: 'Sent by', value: query.through ?? null },
        { label: 'Error', value: error },
      ],
      detail: () => queryDetail(data, index, plans),
      ...(group === null ? {} : { within: `g${group + 1}` }),
    };
  });
}

/** Those past the recording limit are counted with what they repeat. */
function countedOf(index: number, { queries, groups }: DatabaseData): { times: number; ms: number } {
  const counted = groups.filter(({ statement, more }) => statement === index && more !== undefined);
  return {
    times: counted.reduce((sum, { more = 0 }) => sum + more, 0),
    ms: counted.reduce(
      (sum, { durationMs, members }) => sum + durationMs - totalMs(pick(queries, members)),
      0,
    ),
  };
}

function statementRows(data: DatabaseData): Row[] {
  const { statements, queries, groups } = data;
  const ran = statements.map((): DatabaseQuery[] => []);
  for (const query of queries) ran[query.statement]?.push(query);
  return statements.map(({ sql, system, label }, index): Row => {
    const members = ran[index] ?? [];
    const unkept = countedOf(index, data);
    const isLoop = members.some(({ group }) => group !== null && groups[group]?.kind === 'n+1');
    const key = sql === '' || isControl(sql) ? undefined : aboutStatement(sql, system).shape;
    return {
      id: `s${index + 1}`,
      label: `S${index + 1}`,
      text: label,
      times: members.length + unkept.times,
      number: totalMs(members) + unkept.ms,
      badges: isLoop ? [GROUP_LABELS['n+1']] : [],
      ...(key === undefined ? {} : { key }),
      // Made for the writers that show them: with a thousand statements they cost more than all else.
      get block(): Block {
        return sqlBlock(sqlTokens(sql, system));
      },
      detail: () => [{ title: 'SQL', block: sqlBlock(sqlTokens(sql, system)) }],
      get tokens() {
        return key === undefined ? undefined : sqlTokens(key.slice(0, COLOURED), system);
      },
    };
  });
}

function planText({ tree = [] }: ShownPlan): string {
  return tree
    .flatMap(({ depth, title, about, rows, ran, share, terms }) => {
      const indent = '  '.repeat(depth);
      const figures = [
        ...(rows === null ? [] : [`about ${count(rows, 'row')}`]),
        ...(ran === null ? [] : [`${ran} measured`]),
        ...(share === null ? [] : [`${Math.round(share * 100)} % of the cost`]),
      ];
      return [
        `${indent}${`${title} ${about}`.trim()}${figures.length === 0 ? '' : ` (${figures.join(', ')})`}`,
        ...terms.map(({ name, tokens }) => `${indent}  ${name}: ${tokens.map(([, text]) => text).join('')}`),
      ];
    })
    .join('\n');
}

function planRow(plan: ShownPlan, number: number | null): Row {
  return {
    id: plan.id,
    label: `Query ${number ?? ''}`,
    note: plan.says.join('; ') || null,
    ...(plan.tree === undefined ? {} : { block: { text: planText(plan) } }),
  };
}

/** Waits that are too short for the ledger are in no total: the figure says so, because their rows show them. */
function waitFigure(profile: Profile, queries: readonly DatabaseQuery[]): Figure {
  const short = queries.filter(({ waitMs }) => waitMs > 0 && waitMs < SHORTEST_WAIT_MS);
  const sumMs = short.reduce((sum, { waitMs }) => sum + waitMs, 0);
  const figure = timeFigure(profile, 'connection');
  const said = `without ${durationText(sumMs)} in ${count(short.length, 'wait')} below ${durationText(SHORTEST_WAIT_MS)}`;
  return sumMs === 0 ? figure : { ...figure, note: noteOf([figure.note, said]) ?? undefined };
}

export function presentQueries(data: DatabaseData, { profile, amendments }: PresentFrom): Presentation {
  const { statements, queries, groups, excerpts = [], unkept, totals } = data;
  const asked = statements.map(({ sql }) => !isControl(sql));
  const isWrite = ({ statement }: DatabaseQuery): boolean => isWriting(statements[statement]?.sql ?? '');
  /** Of a cursor or a stream, they are not known. */
  const rowsFigure = (label: string, rows: number, isOf: (query: DatabaseQuery) => boolean): Figure => ({
    label,
    value: rows === 0 && !queries.some((query) => query.rows !== null && isOf(query)) ? null : rows,
  });
  const marks = transactionMarks(data);
  const plans = shownPlans(data, amendments.plan);
  const numbers = queryNumbers(data);
  const kept = numbers.filter((number) => number !== null).length;
  const sections: Section[] = [
    {
      id: 'repeated',
      title: 'Repeated statements',
      columns: { text: 'Statement', place: 'Called from' },
      rows: groups.map((group, index) => groupRow(data, group, index)),
      card: 'largest',
      inPage: false,
    },
    {
      id: 'queries',
      title: 'Queries',
      note: 'in the order they ran',
      columns: { text: 'Statement', badges: 'Marks', note: 'Result', place: 'Called from' },
      rows: queryRows(data, { marks, plans }),
      card: 'largest',
      bars: 'db',
      facets: ['Marks'],
    },
    {
      id: 'unrun',
      title: 'Built and never run',
      columns: { text: 'Statement', place: 'Built at' },
      rows: (data.unrun ?? []).map(({ label, caller }, index) => ({
        id: `u${index + 1}`,
        text: label,
        tone: 'warn',
        place: caller,
      })),
    },
    {
      id: 'transactions',
      title: 'Transactions',
      columns: { label: 'Transaction' },
      rows: [...marks.values()].flatMap(({ name, says }) =>
        says === null ? [] : { label: name, note: says },
      ),
    },
    {
      id: 'statements',
      title: 'Statements',
      columns: { label: 'SQL', text: 'Statement', number: 'Total time' },
      rows: statementRows(data),
    },
    {
      id: 'plans',
      title: 'Query plans',
      columns: { label: 'Query', note: 'Notable' },
      rows: [...plans].map(([index, plan]) => planRow(plan, numbers[index] ?? null)),
      inPage: false,
    },
    {
      id: 'source',
      title: 'Source',
      inPage: false,
      rows: excerpts.map(({ place, excerpt }) => ({
        label: place,
        block: { text: excerptText(excerpt, Number(/\d+$/.exec(place))), language: 'ts' },
      })),
    },
  ];
  return {
    figures: [
      {
        label: 'Queries',
        value: kept + (unkept?.count ?? 0),
        note:
          noteOf([
            keptNote(kept, unkept),
            kept === queries.length
              ? null
              : `without ${count(queries.length - kept)} such as BEGIN; times include them`,
          ]) || undefined,
        compare: 'cost',
      },
      {
        label: 'Different statements',
        value: unkept === undefined ? asked.filter(Boolean).length : totals.statements,
      },
      timeFigure(profile, 'db', 'Query time'),
      shareFigure(profile, 'db'),
      waitFigure(profile, queries),
      rowsFigure('Rows read', totals.rows - totals.changed, (query) => !isWrite(query)),
      rowsFigure('Rows changed', totals.changed, isWrite),
      { label: 'Connections', value: totals.connections > 1 ? totals.connections : null },
      { label: 'Failed', value: totals.failed > 0 ? totals.failed : null, tone: 'bad' },
    ],
    sections,
  };
}
