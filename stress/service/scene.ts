/** What is put under stress: the built service, its PostgreSQL behind a relay, and a folder of its own. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { rootFolder } from '../../bench/harness/folders.ts';
import { freePort } from '../../test/support/server-process.ts';
import { freshVarDir, type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { type ListeningProcess, startService } from '../../test/support/service-process.ts';
import { type Relay, type RelayState, startRelay } from './relay.ts';

export interface SceneOptions {
  /** Settings of the database server. */
  settings?: readonly string[];
  /** Folder for the database server's. */
  parent?: string;
  /** Of the service. */
  env?: Readonly<Record<string, string>>;
  /** Modules that the service loads before its own code. */
  preloads?: readonly string[];
  /** Of the relay when the service starts; `pass` waits until the service is ready. */
  state?: RelayState;
}

export interface Scene {
  server: PostgresServer;
  relay: Relay;
  varDir: string;
  port: number;
  /** The service that runs now. */
  service: ListeningProcess;
  pid: () => number;
  /** Starts the service again, after the one before has ended; by SIGKILL if it runs. */
  restart(): Promise<void>;
  /** Starts one more on a port of its own; waits for its database unless told not to. */
  startAnother(how?: { waits: boolean }): Promise<number>;
  /** Ends all by SIGTERM. */
  endAll(): Promise<void>;
  /** Asks the database, past the relay. */
  query: <Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>;
  close(): Promise<void>;
}

/** Nothing that was recorded may go by retention. */
const RETENTION = { PROFILER_RETENTION_COUNT: '8000000', PROFILER_RETENTION_MB: '1000000' };
const ROUTES = join(rootFolder, 'stress', 'service', 'owner-routes.mjs');

/** Resolves when the list answers whole so often in a row, whichever process is asked: what comes before that waits in memory. */
export async function untilReady(port: number, answers = 1): Promise<void> {
  for (let whole = 0; whole < answers;) {
    const answer = await fetch(`http://127.0.0.1:${port}/_profiler/search.json`, {
      headers: { connection: 'close' },
    });
    const { notice } = (await answer.json()) as { notice: string | null };
    whole = notice === null ? whole + 1 : 0;
    await sleep(20);
  }
}

export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { state = 'pass', settings = [], parent, preloads = [] } = options;
  const server = await startPostgres(['fsync=on', ...settings], parent === undefined ? {} : { parent });
  const { host, port: serverPort, database, user } = server.connection;
  const relay = await startRelay({ host, port: serverPort });
  const varDir = freshVarDir();
  const port = await freePort();
  const others: ListeningProcess[] = [];

  const start = (at: number): Promise<ListeningProcess> =>
    startService({
      PORT: String(at),
      APP_ENV: 'dev',
      NODE_ENV: 'production',
      NODE_OPTIONS: [ROUTES, ...preloads].map((file) => `--import=${pathToFileURL(file).href}`).join(' '),
      ...RETENTION,
      VAR_DIR: varDir,
      DB_HOST: '127.0.0.1',
      DB_PORT: String(relay.port),
      DB_NAME: database,
      DB_USER: user,
      ...options.env,
    });

  relay.set(state);
  const scene: Scene = {
    server,
    relay,
    varDir,
    port,
    service: await start(port),
    pid: () => scene.service.child.pid ?? 0,
    async restart() {
      await scene.service.ended('SIGKILL');
      scene.service = await start(port);
    },
    async startAnother({ waits } = { waits: true }) {
      const another = await freePort();
      others.push(await start(another));
      if (waits) await untilReady(another);
      return another;
    },
    async endAll() {
      await Promise.all([scene.service, ...others].map((service) => service.ended('SIGTERM')));
    },
    async query(text, values = []) {
      const client = new pg.Client({ ...server.connection });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return (await client.query(text, [...values])).rows as never[];
      } finally {
        await client.end();
      }
    },
    async close() {
      relay.set('pass');
      await scene.endAll();
      await relay.close();
      await server.stop();
      rmSync(varDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    },
  };
  if (state === 'pass') await untilReady(port);
  return scene;
}
