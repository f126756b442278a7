/** Queries as two profiles are compared by them: statements that differ only in values are the same. */
import { addUpWork, type Comparable } from '../../profiler/comparable.ts';
import type { DatabaseData } from './index.ts';
import { sqlTokens } from '../shared/sql-tokens.ts';
import { isControl, shapeOf } from '../shared/statements.ts';

/** Characters of a statement that a row shows. */
const LENGTH = 300;

function shorten(sql: string): string {
  const line = sql.replace(/\s+/g, ' ').trim();
  return line.length > LENGTH ? `${line.slice(0, LENGTH)}…` : line;
}

export function comparableDatabase({ statements, queries, groups, totals }: DatabaseData): Comparable {
  const known = statements.map(({ sql }) => {
    const label = shorten(sql);
    return { key: shapeOf(sql), label, tokens: sqlTokens(label), control: isControl(sql) };
  });
  const work = queries.flatMap(({ statement, durationMs, group }) => {
    const about = known[statement];
    if (about === undefined || about.control || about.label === '') return [];
    const { key, label, tokens } = about;
    const mark = group !== null && groups[group]?.kind === 'n+1' ? { mark: 'N+1' } : {};
    return [{ section: 'Statements', key, label, tokens, times: 1, ms: durationMs, ...mark }];
  });
  return {
    figures: [
      { label: 'Queries', value: work.length, unit: 'count', cost: true },
      { label: 'Query time', value: totals.durationMs, unit: 'ms', cost: true },
      { label: 'Waited for the pool', value: totals.waitMs, unit: 'ms', cost: true },
    ],
    work: addUpWork(work),
  };
}
