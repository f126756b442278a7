/** A store filled once and used by the rows that search and prune: 100 000 profiles, a million with --full. */
import type { Knex } from 'knex';
import type { ProfileStorage } from '../../app/index.ts';
import { openKnex, type TestConnection } from '../../test/support/postgres.ts';
import type { Bench } from './bench.ts';
import { builtDoor } from './built-door.ts';
import { batches } from './sample-profiles.ts';

export interface FilledStore {
  storage: ProfileStorage;
  knex: Knex;
  connection: TestConnection;
  schema: string;
  profiles: number;
  /** Wall clock of the newest profile; the oldest lies DAY_MS before it. */
  newest: number;
}

export const DAY_MS = 24 * 3_600_000;
const BATCH = 250;

/** The storage's own pool, two connections as a host would give it. */
export async function fillStore(bench: Bench): Promise<FilledStore> {
  const profiles = bench.options.full ? 1_000_000 : bench.options.stored;
  const database = await bench.database();
  const { connection, schema } = await database.freshSchema();
  const knex = openKnex(connection);
  const { createPostgresStorage } = await builtDoor();
  const storage = createPostgresStorage({ knex: () => knex, schema });
  bench.log(`  storing ${profiles} profiles`);
  const newest = Date.now();
  for (const batch of batches(0, profiles, profiles, BATCH)) await storage.write(batch);
  await knex.raw('vacuum analyze ??.hindsight_profiles', [schema]);
  return { storage, knex, connection, schema, profiles, newest };
}
