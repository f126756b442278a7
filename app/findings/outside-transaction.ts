/** A write that ran on another connection while a transaction of the same request was open: it is neither committed nor undone with it. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { endOf, type Kept, type Query } from './shared/kept.ts';
import { kindOf, labelOf, rowOf, sqlOf, transactionsOf, workOf } from './shared/queries.ts';
import { count } from './shared/wording.ts';

type Database = Kept['database'];

const ROLLED_BACK = /^\s*rollback(?!\s+(?:work\s+|transaction\s+)?to\b)/i;

function isOutside(
  database: Database,
  query: Query,
  { first, last }: { first: Query; last: Query },
): boolean {
  return (
    query.transaction === null &&
    query.error === null &&
    query.instance === first.instance &&
    query.connection !== first.connection &&
    query.startMs - query.waitMs >= endOf(first) &&
    endOf(query) <= last.startMs &&
    kindOf(sqlOf(database, query)) === 'write'
  );
}

export const outsideTransaction: FindingRule<Pick<Kept, 'database'>> = {
  name: 'outside-transaction',
  needs: ['database'],
  labels: ['outside transaction'],
  why: 'A write began and ended on another connection while a transaction of this request was open, so it does not belong to the transaction.',
  fix: 'Send it through the transaction (`trx`, or `.transacting(trx)`) if it has to be undone with it; otherwise send it after the commit.',
  find({ database }) {
    const { queries } = database;
    if (!queries.some(({ transaction }) => transaction !== null)) return [];
    return transactionsOf(database).flatMap(({ members }) => {
      const [first, last] = [queries[members[0] ?? -1], queries[members.at(-1) ?? -1]];
      if (first === undefined || last === undefined) return [];
      const index = queries.findIndex((query) => isOutside(database, query, { first, last }));
      const query = queries[index];
      if (query === undefined) return [];
      const isUndone = ROLLED_BACK.test(sqlOf(database, last));
      const work = count(workOf(database, members), 'statement');
      const end = isUndone ? `: the rollback did not undo it` : '';
      const sentence = `${labelOf(database, query)} ran outside the transaction (${work}) that was open on another connection${end}`;
      const how = isUndone
        ? ({ broke: 'unseen', severity: 'warn' } as const)
        : ({ severity: 'info' } as const);
      return [{ ...how, sentence, anchor: rowOf(database, index), place: query.caller }];
    });
  },
};
