/**
 * A search: a page of rows, and how many match in all. Counting stops at a bound; beyond it the planner's estimate has
 * to do, marked as such, because an exact count of a million rows costs far more than the page.
 */
import type { Knex } from 'knex';
import type { FindResult, ProfileQuery } from '../profiler/storage.ts';
import { conditionOf, orderOf } from './find-sql.ts';
import { INDEX_COLUMNS, indexOfRow, type ProfileRow } from './rows.ts';

/** Matching profiles that are counted one by one: each may cost the server a page, so that 10 000 take 10 to 40 ms. */
const COUNTED_EXACTLY = 2000;

interface Plan {
  'QUERY PLAN': { Plan: { 'Plan Rows': number } }[];
}

export async function findProfiles(
  knex: Knex,
  options: { schema: string; timeoutMs: number },
  query: ProfileQuery,
): Promise<FindResult> {
  const { schema, timeoutMs } = options;
  const { sql, values } = conditionOf(query);
  const bindings = [schema, ...values] as Knex.RawBinding[];
  const columns = INDEX_COLUMNS.join(', ');
  return knex.transaction(
    async (trx) => {
      await trx.raw(`set local statement_timeout = ${Math.trunc(timeoutMs)}`);
      const found = await trx.raw<{ rows: ProfileRow[] }>(
        `select ${columns} from ??.hindsight_profiles where ${sql} order by ${orderOf(query)} limit ? offset ?`,
        [...bindings, query.limit, query.offset],
      );
      const rows = found.rows.map(indexOfRow);
      // A page that is not full ends the list, unless it is past the end.
      if (rows.length < query.limit && (rows.length > 0 || query.offset === 0))
        return { rows, total: query.offset + rows.length, totalIsExact: true };
      const counted = await trx.raw<{ rows: { total: number }[] }>(
        `select count(*)::int as total from
           (select 1 from ??.hindsight_profiles where ${sql} limit ${COUNTED_EXACTLY + 1}) as matching`,
        bindings,
      );
      const total = counted.rows[0]?.total ?? 0;
      if (total <= COUNTED_EXACTLY) return { rows, total, totalIsExact: true };
      const planned = await trx.raw<{ rows: Plan[] }>(
        `explain (format json) select 1 from ??.hindsight_profiles where ${sql}`,
        bindings,
      );
      const estimate = planned.rows[0]?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0;
      return {
        rows,
        total: Math.max(total, query.offset + rows.length, Math.round(estimate)),
        totalIsExact: false,
      };
    },
    { readOnly: true },
  );
}
