/** The code has migrations that have not run on the database. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { namesOf } from './shared/migrations.ts';
import type { Kept } from './shared/kept.ts';

export const pendingMigrations: FindingRule<Pick<Kept, 'migrations'>> = {
  name: 'pending-migrations',
  needs: ['migrations'],
  labels: ['pending migration'],
  why: 'The migrations table was read alongside the request and compared with the files in the migrations folder.',
  fix: 'Run them (`npx knex migrate:latest`) as a step of the release, before the code that needs them starts.',
  find({ migrations: { pending, table } }) {
    if (pending.length === 0) return [];
    const verb = pending.length === 1 ? '1 migration is' : `${pending.length} migrations are`;
    const sentence = `${verb} pending: ${namesOf(pending)}`;
    return [{ severity: 'warn', sentence, anchor: 'pending', place: table.slice(0, 100) }];
  },
};
