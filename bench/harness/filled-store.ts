/** Stores filled once and used by the rows that search: 100 000 records, a million with --full. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresStorage, runProfilerMigrations, type Store } from '../../app/index.ts';
import { createStoreIn } from '../../test/support/memory-store.ts';
import { openKnex } from '../../test/support/postgres.ts';
import type { Bench } from './bench.ts';
import { batches, storeAll } from './sample-profiles.ts';

export interface FilledStore {
  store: Store;
  profiles: number;
  /** Wall clock of the newest record; the oldest lies a day before it. */
  newest: number;
  close(): Promise<void>;
}

const BATCH = 250;
const SCHEMA = 'bench_profiles';

async function fill(bench: Bench, store: Store): Promise<Pick<FilledStore, 'profiles' | 'newest'>> {
  const profiles = bench.options.full ? 1_000_000 : bench.options.stored;
  bench.log(`  storing ${profiles} profiles in ${store.name}`);
  const newest = Date.now();
  for (const batch of batches(0, profiles, profiles, BATCH)) await storeAll(store, batch);
  return { profiles, newest };
}

export async function fillPostgres(bench: Bench): Promise<FilledStore> {
  const knex = openKnex((await bench.database()).connection);
  await runProfilerMigrations({ knex, schema: SCHEMA });
  const store = createPostgresStorage({ knex: () => knex, schema: SCHEMA });
  const filled = await fill(bench, store);
  await knex.raw('vacuum analyze ??.hindsight_profiles', [SCHEMA]);
  return {
    store,
    ...filled,
    async close() {
      await store.close();
      await knex.raw('drop schema ?? cascade', [SCHEMA]);
      await knex.destroy();
    },
  };
}

export async function fillFiles(bench: Bench): Promise<FilledStore> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-store-'));
  const writer = createStoreIn(folder);
  const filled = await fill(bench, writer);
  await writer.close();
  const store = createStoreIn(folder);
  return {
    store,
    ...filled,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}
