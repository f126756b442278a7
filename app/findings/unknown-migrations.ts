/** The database ran migrations that the code does not have. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { namesOf } from './shared/migrations.ts';
import type { Kept } from './shared/kept.ts';

export const unknownMigrations: FindingRule<Pick<Kept, 'migrations'>> = {
  name: 'unknown-migrations',
  needs: ['migrations'],
  labels: ['unknown migration'],
  why: 'The migrations table lists migrations that have no file in the migrations folder.',
  fix: 'Start the release that has them. After switching branches, roll them back on the branch that has them, or start with a fresh database.',
  find({ migrations: { unknown, table } }) {
    if (unknown.length === 0) return [];
    const noun = unknown.length === 1 ? '1 migration' : `${unknown.length} migrations`;
    const sentence = `The database has ${noun} that this code does not have: ${namesOf(unknown)}`;
    return [{ severity: 'info', sentence, anchor: 'unknown', place: table.slice(0, 100) }];
  },
};
