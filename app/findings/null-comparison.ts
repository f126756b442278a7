/** A statement compared a column with NULL, which is never true in SQL, and found nothing. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept, Query } from './shared/kept.ts';
import { labelOf, rowOf, sqlOf } from './shared/queries.ts';

const CONDITION = /\bwhere\b([^]*)$/i;
/** `or` and functions may be written with NULL in mind. */
const WITH_NULL = /\bor\b|\bis\s+(?:not\s+)?null\b|\bdistinct\s+from\b|<=>|\bcoalesce\b|\bcase\b|\bunion\b/i;
const COMPARED = /(?:=|<>|!=|<|>|\bi?like)\s*(\$\d+|\?)/gi;

function isNull({ name, value, type }: Query['bindings'][number]): boolean {
  return name !== '…' && (value === null || type === 'undefined');
}

/** Number of the first value of a WHERE that is NULL and compared by an operator; null if there is none. */
function comparedNull(sql: string, bindings: Query['bindings']): number | null {
  const condition = CONDITION.exec(sql)?.[1] ?? '';
  if (condition === '' || WITH_NULL.test(condition)) return null;
  const before = sql.length - condition.length;
  for (const { 1: placeholder = '', index, 0: text } of condition.matchAll(COMPARED)) {
    const end = before + index + text.length - 1;
    const number = placeholder === '?' ? sql.slice(0, end).split('?').length : Number(placeholder.slice(1));
    const binding = bindings[number - 1];
    if (binding !== undefined && isNull(binding)) return number;
  }
  return null;
}

export const nullComparison: FindingRule<Pick<Kept, 'database'>> = {
  name: 'null-comparison',
  needs: ['database'],
  labels: ['compared with NULL'],
  why: 'A value in the WHERE of the statement was `null` or `undefined`, an operator such as `=` compares a column with it, and no row was found.',
  fix: 'Look for the misspelled or missing parameter that the value comes from, and refuse the request without it. To find NULL, use `IS NULL` or `IS NOT DISTINCT FROM`.',
  find({ database }, { status }) {
    const { queries } = database;
    for (const [index, query] of queries.entries()) {
      if (query.rows !== 0 || query.error !== null || !query.bindings.some(isNull)) continue;
      const number = comparedNull(sqlOf(database, query), query.bindings);
      if (number === null) continue;
      return [
        {
          label: 'compared with NULL',
          severity: 'warn',
          broke: status !== null && status >= 400 ? 'response' : 'unseen',
          sentence: `${labelOf(database, query)} compares a column with NULL (value ${number} of ${query.bindings.length}), which is never true: it found no row`,
          anchor: rowOf(database, index),
          place: query.caller,
        },
      ];
    }
    return [];
  },
};
