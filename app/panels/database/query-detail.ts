/** The detail of a query: its statement with its values, the requests it waited for, its line, its plan. */
import type { Block, BlockLine, Detail } from '../../profiler/read/rows.ts';
import { queryNumbers } from '../shared/query-numbers.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { excerptText, sourceHelpers } from '../../view-helpers/source.ts';
import { textOf, valueLine } from '../../view-helpers/value-line.ts';
import { sqlLines } from '../shared/sql-lines.ts';
import { joinTokens, type SqlToken, sqlTokens } from '../shared/sql-tokens.ts';
import { typeNameOf, valuesInPlace } from '../shared/sql-values.ts';
import type { DatabaseData, DatabaseQuery, KeptExcerpt } from './data.ts';
import { foundRows } from '../shared/found-rows.ts';
import type { ShownPlan } from './plans.ts';
import { oneLine } from './statement-line.ts';

const STATEMENT_LENGTH = 12_000;
const ROW_LENGTH = 1000;

export function lineOf(
  { statements }: DatabaseData,
  { statement, bindings }: DatabaseQuery,
  marked?: ReadonlySet<string>,
): SqlToken[] {
  const { sql = '', system } = statements[statement] ?? {};
  return joinTokens(oneLine(sql, system, { bindings, ...(marked === undefined ? {} : { marked }) }));
}

export function sqlBlock(tokens: readonly SqlToken[]): Block {
  const lines = sqlLines(tokens);
  return {
    text: lines.map((line) => line.map(([, text]) => text).join('')).join('\n'),
    language: 'sql',
    lines: lines.map((line) => ({ tokens: line })),
  };
}

function statementDetail({ statements }: DatabaseData, { statement, bindings }: DatabaseQuery): Detail[] {
  const { sql = '', system } = statements[statement] ?? {};
  if (sql === '') return [];
  const shown = sql.slice(0, STATEMENT_LENGTH);
  const { tokens, isWhole } = valuesInPlace(sqlTokens(shown, system), bindings, { system });
  const left = sql.length - shown.length;
  const notes = [
    left > 0 ? `${count(left, 'more character')} not shown.` : '',
    isWhole && left === 0
      ? ''
      : 'This copy can’t be run as it is: a value is masked, truncated, or an object that only the driver can write.',
  ].filter((note) => note !== '');
  const note = notes.length === 0 ? {} : { note: notes.join(' ') };
  return [{ title: 'Statement', ...note, block: sqlBlock(tokens) }];
}

/** `?2` if the statement's placeholders have no numbers. */
export function shownName(name: string, sql: string): string {
  return /^\$\d+$/.test(name) && !sql.includes(name) ? name.replace('$', '?') : name;
}

function valuesDetail({ statements }: DatabaseData, { statement, bindings }: DatabaseQuery): Detail[] {
  if (bindings.length === 0) return [];
  const { sql = '' } = statements[statement] ?? {};
  const fields = bindings.map((binding) => {
    const type = typeNameOf(binding);
    const { name, value } = binding;
    return {
      label: shownName(name, sql),
      value: value as string,
      ...(type === 'null' ? {} : { note: type }),
    };
  });
  return [{ title: 'Bindings', fields }];
}

function rowsDetail(query: DatabaseQuery): Detail[] {
  const found = foundRows(query);
  if (found.length === 0) return [];
  const left = (query.rows ?? found.length) - found.length;
  const lines = found.map((row) => textOf(valueLine(row, { longest: ROW_LENGTH })));
  const title = left > 0 ? `First ${found.length} of ${count(found.length + left, 'row')}` : 'Rows';
  return [{ title, block: { text: lines.join('\n') } }];
}

/** Requests that had what it waited for. */
function waitDetail({ heldBy = [], lockedBy }: DatabaseQuery): Detail[] {
  return [
    ...heldBy.map(({ what, profile, connections, place }) => ({
      note: 'All connections were in use when it requested one. This request held some of them:',
      link: {
        label: `${what} (${[profile, count(connections, 'connection'), ...(place === null ? [] : [place])].join(', ')})`,
        token: profile,
      },
    })),
    ...(lockedBy === undefined
      ? []
      : [
          {
            note: `It may have waited ${durationText(lockedBy.waitedMs)} for a lock on rows of ${lockedBy.table}, held by:`,
            link: {
              label: `${lockedBy.what} (${[lockedBy.profile, ...(lockedBy.place === null ? [] : [lockedBy.place])].join(', ')})`,
              token: lockedBy.profile,
            },
          },
        ]),
  ];
}

function sourceDetail(excerpts: readonly KeptExcerpt[], caller: string | null): Detail[] {
  const found = excerpts.find(({ place }) => place === caller)?.excerpt;
  if (found === undefined) return [];
  const line = Number(/\d+$/.exec(caller ?? ''));
  const lines = sourceHelpers
    .excerptLines(found, { line, column: null })
    .map((one): BlockLine => ({ ...one, mark: one.mark === undefined ? undefined : 'loop' }));
  return [{ title: 'Source', block: { text: excerptText(found, line), language: 'ts', lines } }];
}

function planDetail(data: DatabaseData, index: number, plans: ReadonlyMap<number, ShownPlan>): Detail[] {
  const own = plans.get(index);
  if (own !== undefined) return [{ link: { label: 'Query plan', row: own.id } }];
  const { queries } = data;
  const statement = queries[index]?.statement;
  const same = [...plans].find(
    ([at, { tree }]) => tree !== undefined && queries[at]?.statement === statement,
  );
  if (same === undefined) return [];
  const number = queryNumbers(data)[same[0]] ?? '';
  return [{ link: { label: `Query plan of the same statement: query ${number}`, row: same[1].id } }];
}

export function queryDetail(
  data: DatabaseData,
  index: number,
  plans: ReadonlyMap<number, ShownPlan>,
): Detail[] {
  const query = data.queries[index];
  if (query === undefined) return [];
  return [
    ...statementDetail(data, query),
    ...valuesDetail(data, query),
    ...rowsDetail(query),
    ...waitDetail(query),
    ...sourceDetail(data.excerpts ?? [], query.caller),
    ...planDetail(data, index, plans),
  ];
}
