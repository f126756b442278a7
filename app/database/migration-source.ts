/**
 * A Knex migration source for a folder, which may be missing or empty. Names have no extension: Knex's own source stores `.ts` or `.js` in
 * the version table, so a run from source and one from `dist` would disagree about what was executed.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import { moduleUrl } from '../paths.ts';
import { codeOf } from '../errors.ts';

const MODULE_ENDING = /(?<!\.d)\.[cm]?[jt]s$/;

export interface Migration {
  /** File name without its extension. */
  name: string;
  file: string;
}

/** Exports of a migration file. */
interface MigrationModule {
  up?: (knex: Knex) => Promise<unknown>;
  down?: (knex: Knex) => Promise<unknown>;
  config?: { transaction?: boolean };
}

/** The owner's migrations of this package's own service. */
export function ownerMigrationsFolder(): string {
  return fileURLToPath(new URL('../migrations/', moduleUrl('paths')));
}

/** Migrations of a folder, ordered by name; none if the folder is missing. */
export async function listMigrations(folder: string): Promise<Migration[]> {
  let files: string[];
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    files = entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
  const found = new Map<string, Migration>();
  for (const file of files.filter((name) => MODULE_ENDING.test(name)).sort()) {
    const name = file.replace(MODULE_ENDING, '');
    const other = found.get(name);
    if (other !== undefined) {
      throw new Error(`The migration "${name}" exists twice, as ${other.file} and ${join(folder, file)}.`);
    }
    found.set(name, { name, file: join(folder, file) });
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function load({ name, file }: Migration): Promise<Knex.Migration> {
  const loaded = (await import(pathToFileURL(file).href)) as MigrationModule & { default?: MigrationModule };
  const { up, down, config } = loaded.up === undefined ? (loaded.default ?? loaded) : loaded;
  if (up === undefined) throw new Error(`The migration "${name}" exports no function up (${file}).`);
  return {
    up: async (knex) => {
      await up(knex);
    },
    down: async (knex) => {
      if (down === undefined) throw new Error(`The migration "${name}" exports no function down (${file}).`);
      await down(knex);
    },
    ...(config === undefined ? {} : { config }),
  };
}

export function createMigrationSource({ folder }: { folder: string }): Knex.MigrationSource<Migration> {
  return {
    getMigrations: () => listMigrations(folder),
    getMigrationName: ({ name }) => name,
    getMigration: load,
  };
}
