/** A transaction that was still open when the response finished. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { isInLibrary } from './shared/logged.ts';
import { rowOf, sqlOf, transactionsOf, workOf } from './shared/queries.ts';
import { count } from './shared/wording.ts';

const ENDS =
  /^\s*(?:commit|end|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)|abort|prepare\s+transaction)\b/i;
const BEGINS = /^\s*(?:begin|start\s+transaction)\b/i;

/** `pool.query('COMMIT')` takes any free connection. */
function endElsewhere(database: Kept['database'], members: readonly number[]): string {
  const { queries } = database;
  const { connection = null, instance } = queries[members[0] ?? -1] ?? {};
  const end = queries.find(
    (query) =>
      query.instance === instance &&
      query.connection !== connection &&
      query.transaction === null &&
      ENDS.test(sqlOf(database, query)),
  );
  if (end === undefined) return '';
  const word = /^\s*(\w+)/.exec(sqlOf(database, end))?.[1]?.toUpperCase() ?? '';
  return `: ${word} ran on another connection of the pool, so what was sent between them may not belong to it either`;
}

export const unendedTransaction: FindingRule<Pick<Kept, 'database'>> = {
  name: 'unended-transaction',
  needs: ['database'],
  labels: ['open transaction'],
  why: 'A BEGIN of this request was recorded, but no COMMIT or ROLLBACK on its connection by the time the response finished.',
  fix: 'Use `knex.transaction(async (trx) => …)`, which always ends it, and await it before you respond. With `pg`, send BEGIN, the statements and COMMIT through one client of `pool.connect()`.',
  find({ database }, { state }) {
    const { queries } = database;
    if (state === 'running' || !queries.some(({ transaction }) => transaction !== null)) return [];
    return transactionsOf(database)
      .filter(({ members }) => {
        const texts = members.flatMap((index) => {
          const query = queries[index];
          return query === undefined ? [] : [sqlOf(database, query)];
        });
        return texts.some((sql) => BEGINS.test(sql)) && !texts.some((sql) => ENDS.test(sql));
      })
      .map(({ members }) => {
        const callers = members.flatMap((index) => queries[index]?.caller ?? []);
        // BEGIN is often sent by a library, far from who asked for it.
        const place = callers.find((caller) => !isInLibrary(caller)) ?? callers[0];
        const work = workOf(database, members);
        const sentence = `A transaction (${count(work, 'statement')}) was neither committed nor rolled back when the response finished${endElsewhere(database, members)}`;
        return {
          broke: 'unseen',
          severity: 'bad',
          sentence,
          anchor: rowOf(database, members[0] ?? 0),
          place,
        };
      });
  },
};
