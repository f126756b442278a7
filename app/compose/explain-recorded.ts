/** Plans of recorded statements, for the pages: from a profile to the pool of the statement's connection. */
import type { Explainer } from '../observe/databases/explain.ts';
import { plannable, statementToPlan } from '../panels/database/explain.ts';
import { dataOf } from '../panels/shared/panel-data.ts';
import type { Profile } from '../profiler/profile.ts';
import type { RecordedPlans } from '../profiler/read/query-plan.ts';

export function createRecordedPlans({
  explainer,
  process: name,
}: {
  explainer: Explainer;
  process: string;
}): RecordedPlans {
  /** An earlier process may have had the same name. */
  function whyNot({ process: recordedBy, startedAt }: Profile): string | null {
    return recordedBy === name && startedAt >= performance.timeOrigin
      ? null
      : 'EXPLAIN needs a connection of the process that ran the statement, which is not this one.';
  }

  return {
    formOf(profile) {
      const data = dataOf(profile, 'database');
      const queries = data === null ? [] : plannable(data);
      return queries.length === 0 ? null : { queries, problem: whyNot(profile) };
    },
    async plan(profile, index, { analyze, isSure }) {
      const data = dataOf(profile, 'database');
      const sql = data?.statements[data.queries[index]?.statement ?? -1]?.sql ?? '';
      const wanted = data === null ? 'There are no statements.' : statementToPlan(data, index, analyze);
      const problem = whyNot(profile) ?? (typeof wanted === 'string' ? wanted : null);
      if (problem !== null || typeof wanted === 'string') return { sql, problem };
      const { connection, ...statement } = wanted;
      if (!explainer.knows(connection))
        return {
          sql,
          problem: 'Its connection is closed, or Hindsight does not know the pool of its driver.',
        };
      if (analyze && !isSure) return { sql, problem: null };
      return await explainer.explain(connection, statement);
    },
  };
}
