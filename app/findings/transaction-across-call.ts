/** An outgoing call inside a transaction, which holds its connection and its locks meanwhile. */
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { callName } from './shared/calls.ts';
import { endOf, type Kept } from './shared/kept.ts';
import { transactionsOf, workOf } from './shared/queries.ts';
import { count, duration } from './shared/wording.ts';
import { pick } from '../panels/shared/rows.ts';

export const transactionAcrossCall: FindingRule<Pick<Kept, 'database' | 'http_client'>> = {
  name: 'transaction-across-call',
  needs: ['database', 'http_client'],
  labels: ['call in transaction'],
  why: 'An outgoing call started and ended between two statements of one transaction, so the transaction was open the whole time.',
  fix: 'Make the call before the transaction begins or after it ends, and store its result in a short transaction of its own.',
  find({ database, http_client: { calls } }) {
    const { queries } = database;
    if (!queries.some(({ transaction }) => transaction !== null)) return [];
    const found: FindingDraft[] = [];
    for (const { members } of transactionsOf(database)) {
      const ran = pick(queries, members);
      const first = ran[0];
      const last = ran.at(-1);
      if (first === undefined || last === undefined || first === last) continue;
      calls.forEach((call, index) => {
        if (call.startMs < endOf(first) || endOf(call) > last.startMs) return;
        const costMs = call.durationMs ?? 0;
        const open = duration(endOf(last) - first.startMs);
        const sentence = `A transaction (${count(workOf(database, members), 'statement')}, ${open}) stayed open during the call to ${callName(call)} (${duration(costMs)})`;
        const place = call.caller ?? ran.map(({ caller }) => caller).find((caller) => caller !== null);
        found.push({
          severity: 'warn',
          sentence,
          panel: 'http_client',
          anchor: `c${index + 1}`,
          costMs,
          place,
        });
      });
    }
    return found;
  },
};
