/** A write that was built with Knex and never run: `await` is missing. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';

export const queryNeverRun: FindingRule<Pick<Kept, 'database'>> = {
  name: 'query-never-run',
  needs: ['database'],
  labels: ['query not run'],
  why: 'A Knex query became an insert, update or delete during this request, and it was neither run nor made part of another query.',
  fix: 'Await it (`await knex(…).update(…)`), or return it to whoever does: a Knex query is sent when its `then` is called.',
  find({ database }) {
    return (database.unrun ?? []).map(({ label, caller }, index) => ({
      broke: 'unseen',
      severity: 'bad',
      sentence: `${label} was built and never run: nothing awaited it`,
      anchor: `u${index + 1}`,
      place: caller,
    }));
  },
};
