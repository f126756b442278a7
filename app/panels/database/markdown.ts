/** The database panel as Markdown: totals, what repeats with its line, a table of all queries, statements in full, plans. */
import { blocks, code, fence, heading, prose, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { PanelPage } from '../../profiler/panel.ts';
import type { DatabaseData, DatabaseQuery } from './index.ts';
import { sqlLines } from '../shared/sql-lines.ts';
import { type ShownPlan, shownPlans } from './plans.ts';
import { transactionMarks } from './transactions.ts';

const { count, durationText } = numberHelpers;
/** Statements shown in full. */
const MOST_STATEMENTS = 40;
const KINDS: Readonly<Record<string, string>> = { 'n+1': 'N+1', duplicate: 'Repeated' };

function bindingsOf({ bindings }: DatabaseQuery): string | null {
  return bindings.length === 0
    ? null
    : bindings.map(({ name, value }) => `${name} = ${JSON.stringify(value)}`).join(', ');
}

function formatted(sql: string): string {
  return sqlLines(sql)
    .map((line) => line.map(([, text]) => text).join(''))
    .join('\n');
}

function excerptsOf({ excerpts = [] }: DatabaseData): string[] {
  return excerpts.map(({ place, excerpt }) => {
    const lines = excerpt.lines.map((text, index) => `${String(excerpt.from + index).padStart(5)}  ${text}`);
    return `${code(place)}\n\n${fence(lines.join('\n'))}`;
  });
}

function planText({ tree = [] }: ShownPlan): string {
  return tree
    .flatMap(({ depth, title, about, rows, share, terms }) => {
      const indent = '  '.repeat(depth);
      const cost = Math.round(share * 100);
      return [
        `${indent}${title} ${about} (about ${count(rows, 'row')}, ${cost} % of the cost)`,
        ...terms.map(({ name, tokens }) => `${indent}  ${name}: ${tokens.map(([, text]) => text).join('')}`),
      ];
    })
    .join('\n');
}

function plansOf(plans: ReadonlyMap<number, ShownPlan>): string[] {
  return [...plans].map(([index, plan]) =>
    blocks([
      `Query ${index + 1}${plan.says.length === 0 ? '' : `: ${plan.says.map(prose).join('; ')}`}`,
      plan.tree === undefined ? '' : fence(planText(plan)),
    ]),
  );
}

export function databaseMarkdown(data: DatabaseData, { amendments = {} }: Partial<PanelPage> = {}): string {
  const { statements, queries, groups, totals } = data;
  const plans = plansOf(shownPlans(data, amendments.plan));
  const excerpts = excerptsOf(data);
  const transactions = transactionMarks(data);
  const sqlOf = (index: number): string => statements[index]?.sql ?? '';
  const repeated = groups.map((group) => {
    const at = group.caller === null ? '' : `, from ${code(group.caller)}`;
    return `- ${KINDS[group.kind] ?? group.kind}: ${count(group.members.length, 'time')}, ${durationText(group.durationMs)}${at}: ${code(sqlOf(group.statement), 200)}`;
  });
  const all = table<DatabaseQuery>(
    [
      { title: 'Query', value: (query) => `${queries.indexOf(query) + 1}`, plain: true },
      { title: 'Time', value: ({ durationMs }) => durationText(durationMs), plain: true },
      { title: 'Rows', value: ({ rows }) => rows },
      { title: 'Statement', value: ({ statement }) => `S${statement + 1}`, plain: true },
      { title: 'Bindings', value: bindingsOf },
      {
        title: 'Waited for the pool',
        value: ({ waitMs }) => (waitMs > 0 ? durationText(waitMs) : null),
        plain: true,
      },
      {
        title: 'Transaction',
        value: (query) => transactions.get(queries.indexOf(query))?.name ?? null,
        plain: true,
      },
      { title: 'Error', value: ({ error }) => error },
      { title: 'Place', value: ({ caller }) => caller },
    ],
    queries,
  );
  const shown = statements.slice(0, MOST_STATEMENTS);
  return blocks([
    `${count(queries.length, 'query', 'queries')}, ${count(statements.length, 'statement')}, ${durationText(totals.durationMs)} in all.`,
    repeated.join('\n'),
    heading(3, 'Queries'),
    all,
    heading(3, 'Statements'),
    ...shown.map(({ sql }, index) => `S${index + 1}\n\n${fence(formatted(sql), 'sql')}`),
    statements.length > shown.length
      ? `${count(statements.length - shown.length, 'more statement')} left out.`
      : '',
    ...(plans.length === 0 ? [] : [heading(3, 'Plans'), ...plans]),
    ...(excerpts.length === 0 ? [] : [heading(3, 'Source'), ...excerpts]),
  ]);
}
