/** An outgoing call inside a transaction: its connection and its locks wait for a stranger. */
import type { Finding, FindingRule } from '../profiler/finding.ts';
import { callName } from './shared/calls.ts';
import { endOf, type Kept } from './shared/kept.ts';
import { transactionsOf, workOf } from './shared/queries.ts';
import { counted, dearestFirst, duration, placed } from './shared/wording.ts';

export const transactionAcrossCall: FindingRule<Pick<Kept, 'database' | 'http_client'>> = {
  name: 'transaction-across-call',
  needs: ['database', 'http_client'],
  labels: ['call in transaction'],
  known:
    'Between two statements of one transaction an outgoing call began and ended, so the transaction was open all the while.',
  mends:
    'Make the call before the transaction begins or after it ends, and write its result in a short transaction of its own.',
  find({ database, http_client: { calls } }) {
    const { queries } = database;
    if (!queries.some(({ transaction }) => transaction !== null)) return [];
    const found: Finding[] = [];
    for (const { members } of transactionsOf(database)) {
      const ran = members.map((index) => queries[index]).filter((query) => query !== undefined);
      const first = ran[0];
      const last = ran.at(-1);
      if (first === undefined || last === undefined || first === last) continue;
      calls.forEach((call, index) => {
        if (call.startMs < endOf(first) || endOf(call) > last.startMs) return;
        const costMs = call.durationMs ?? 0;
        const open = duration(endOf(last) - first.startMs);
        const sentence = `A transaction of ${counted(workOf(database, members), 'statement')} was open across ${callName(call)}, ${duration(costMs)} of the ${open} that it was open for`;
        const common = { label: 'call in transaction', panel: 'http_client', anchor: `c${index + 1}` };
        const place = call.caller ?? ran.map(({ caller }) => caller).find((caller) => caller !== null);
        found.push(placed({ ...common, severity: 'warn', sentence, costMs }, place));
      });
    }
    return dearestFirst(found);
  },
};
