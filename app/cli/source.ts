/** The source of the command line: the running application, else its files; or a database. */
import { realpathSync } from 'node:fs';
import { urls } from '../urls.ts';
import { type Client, CommandError, createClient, FAILED, PasswordError } from './client.ts';
import type { PrunableStore } from './prune.ts';

export interface OpenedStore extends PrunableStore {
  url: string;
  password: string;
  close(): Promise<void>;
}

/** What a project has left in its folder. */
export interface FoundProject {
  project: string;
  folder: string;
  /** False: it stores somewhere else. */
  hasProfiles: boolean;
  /** Where its applications listened, the last one first. */
  servers: readonly { address: string; isRunning: boolean }[];
}

export interface Openers {
  /** Projects at a path, above it and below it. */
  storedProjects: (path: string) => Promise<readonly FoundProject[]>;
  /** Opens the profiles of a folder; null: of none. */
  openFiles: (options: { folder: string | null; warn: (sentence: string) => void }) => Promise<OpenedStore>;
  openDatabase: (options: {
    database: string;
    schema: string;
    warn: (sentence: string) => void;
  }) => Promise<OpenedStore>;
}

export interface SourceOptions {
  url: string | undefined;
  password: string | undefined;
  database: string | undefined;
  schema: string;
  project: string | undefined;
}

export interface Source {
  /** Who answers now: it may be another one later. `sends`: to be sent a request again, so that it must be the only one. */
  client(sends?: boolean): Promise<Client>;
  /** Answers without an application, if only that it knows nothing. */
  offline(): Promise<Client>;
  close(): Promise<void>;
}

/** Where an application listens that left no address: in a container, or with its profiles in memory. */
const DEFAULT_URL = 'http://127.0.0.1:3000';
const PING_MS = 2000;

/** A folder as stores name it. */
function placeOf(project: string | undefined): string {
  try {
    return realpathSync(project ?? process.cwd());
  } catch {
    throw new CommandError(`${project} is no folder.`, FAILED);
  }
}

/** null: nothing is known of this folder. */
export async function findProject(
  { storedProjects }: Openers,
  given: string | undefined,
): Promise<FoundProject | null> {
  const path = placeOf(given);
  const near = await storedProjects(path);
  const exact = near.find((one) => one.project === path);
  if (exact !== undefined) return exact;
  if (near.length > 1)
    throw new CommandError(
      `Several projects have profiles; name one: ${near.map((one) => `--project ${one.project}`).join(', ')}`,
      FAILED,
    );
  if (near.length === 0 && given !== undefined)
    throw new CommandError(`No profiles of ${given} are stored.`, FAILED);
  return near[0] ?? null;
}

export function createSource(
  options: SourceOptions,
  openers: Openers,
  note: (sentence: string) => void,
): Source {
  const { url, password, database, schema, project } = options;
  const opened = new Map<string | null, Promise<OpenedStore>>();

  async function open(folder: string | null): Promise<Client> {
    const store =
      opened.get(folder) ??
      (database === undefined
        ? openers.openFiles({ folder, warn: note })
        : openers.openDatabase({ database, schema, warn: note }));
    opened.set(folder, store);
    return createClient(await store);
  }

  /** null: no profiler responds there, or not to us. */
  async function running(address: string): Promise<Client | null> {
    try {
      const client = createClient({ url: address, password });
      await client.json(urls.searchJson({ limit: 1 }), PING_MS);
      return client;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (error instanceof PasswordError) note(error.message);
      return null;
    }
  }

  async function ofProject(
    { project: path, folder, hasProfiles, servers }: FoundProject,
    sends: boolean,
  ): Promise<Client> {
    const found = new Map<string, Client>();
    for (const { address, isRunning } of servers) {
      // Another user may listen there by now, and would get the password.
      const client = password === undefined || isRunning ? await running(address) : null;
      if (client !== null && !sends) return client;
      if (client !== null) found.set(address, client);
    }
    if (found.size > 1)
      throw new CommandError(
        `Several servers of ${path} run; name the one to send to: --url, or PROFILER_URL (${[...found.keys()].join(', ')}).`,
        FAILED,
      );
    for (const client of found.values()) return client;
    if (hasProfiles || servers.length === 0) return open(folder);
    throw new CommandError(
      `The application of ${path} does not run, and no profiles are in its files. Start it; if it stores them elsewhere, name its database, --database, or its folder, PROFILER_DIR.`,
      FAILED,
    );
  }

  return {
    async client(sends = false) {
      if (database !== undefined) return open(null);
      if (url !== undefined) return createClient({ url, password });
      const found = await findProject(openers, project);
      if (found !== null) return ofProject(found, sends);
      const usual = await running(DEFAULT_URL);
      if (usual !== null) return usual;
      throw new CommandError(
        `No application of this folder has run with Hindsight, and none responds at ${DEFAULT_URL}. Start it, or name its address: --url, or PROFILER_URL.`,
        FAILED,
      );
    },
    offline: () => open(null),
    async close() {
      for (const store of opened.values()) await (await store).close();
    },
  };
}
