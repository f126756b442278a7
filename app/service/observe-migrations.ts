/**
 * The state of the owner's migrations as a fact of each request, read beside it and never in its way; the final profile waits for
 * the result within the recorder's limit.
 */
import type { MigrationFact, MigrationReader } from './database/migration-state.ts';
import type { Context } from '../profiler/context.ts';

declare module '../profiler/facts.ts' {
  interface Facts {
    migrations: MigrationFact;
  }
}

/** Estimated bytes of one executed migration in memory. */
const BYTES_PER_MIGRATION = 150;

/** Starts a read for this request and adds its result when it arrives. */
export function appendMigrations(context: Context, reader: Pick<MigrationReader, 'read'>): void {
  context.expect(
    reader.read().then((fact) => {
      context.add('migrations', fact, fact.executed.length * BYTES_PER_MIGRATION);
    }),
  );
}
