/** The database panel as Markdown: totals, what repeats, a table of all queries, and each different statement in full. */
import { blocks, code, fence, heading, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { DatabaseData, DatabaseQuery } from '../database.ts';

const { count, durationText } = numberHelpers;
/** Statements shown in full. */
const MOST_STATEMENTS = 40;
const KINDS: Readonly<Record<string, string>> = { 'n+1': 'N+1', duplicate: 'Repeated' };

function bindingsOf({ bindings }: DatabaseQuery): string | null {
  return bindings.length === 0
    ? null
    : bindings.map(({ name, value }) => `${name} = ${JSON.stringify(value)}`).join(', ');
}

export function databaseMarkdown({ statements, queries, groups, totals }: DatabaseData): string {
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
    ...shown.map(({ sql }, index) => `S${index + 1}\n\n${fence(sql, 'sql')}`),
    statements.length > shown.length
      ? `${count(statements.length - shown.length, 'more statement')} left out.`
      : '',
  ]);
}
