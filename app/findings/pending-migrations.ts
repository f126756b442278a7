/** The code has migrations that the database has not seen. */
import type { FindingRule } from '../profiler/finding.ts';
import { namesOf } from './shared/migrations.ts';
import type { Kept } from './shared/kept.ts';
import { placed } from './shared/wording.ts';

export const pendingMigrations: FindingRule<Pick<Kept, 'migrations'>> = {
  name: 'pending-migrations',
  needs: ['migrations'],
  labels: ['pending'],
  known:
    'The version table was read beside the request, and compared with the files in the folder of migrations.',
  mends:
    'Run them (`npx knex migrate:latest`), as a step of the release, before the code that needs them is started.',
  find({ migrations: { pending, table } }) {
    if (pending.length === 0) return [];
    const verb = pending.length === 1 ? '1 migration is' : `${pending.length} migrations are`;
    const sentence = `${verb} pending: ${namesOf(pending)}`;
    const common = { label: 'pending', panel: 'migrations', anchor: 'pending' };
    return [placed({ ...common, severity: 'warn', sentence }, table.slice(0, 100))];
  },
};
