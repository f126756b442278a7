/** A transaction that was still open when the response finished. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { rowOf, sqlOf, transactionsOf, workOf } from './shared/queries.ts';
import { count } from './shared/wording.ts';

const ENDS =
  /^\s*(?:commit|end|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)|abort|prepare\s+transaction)\b/i;
const BEGINS = /^\s*(?:begin|start\s+transaction)\b/i;

export const unendedTransaction: FindingRule<Pick<Kept, 'database'>> = {
  name: 'unended-transaction',
  needs: ['database'],
  labels: ['open transaction'],
  why: 'A BEGIN of this request was recorded, but no COMMIT or ROLLBACK on its connection by the time the response finished.',
  fix: 'Use `knex.transaction(async (trx) => …)`, which always ends the transaction, and await it before you respond.',
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
        const caller = members.map((index) => queries[index]?.caller ?? null).find((place) => place !== null);
        const work = workOf(database, members);
        const sentence = `A transaction (${count(work, 'statement')}) was neither committed nor rolled back when the response finished`;
        return {
          broke: 'unseen',
          severity: 'bad',
          sentence,
          anchor: rowOf(database, members[0] ?? 0),
          place: caller,
        };
      });
  },
};
