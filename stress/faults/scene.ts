/** What a fault is driven against: the built service, its PostgreSQL behind a relay, and a folder of its own. */
import { rmSync } from 'node:fs';
import pg from 'pg';
import { freshVarDir, type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { freePort } from '../../bench/harness/process.ts';
import { type LedgerService, startService, untilReady } from '../ledger/service.ts';
import { type Relay, type RelayState, startRelay } from './relay.ts';

export interface SceneOptions {
  /** Settings of the database server. */
  settings?: readonly string[];
  /** Folder for the database server's. */
  parent?: string;
  /** Of the service. */
  env?: Readonly<Record<string, string>>;
  /** Of the relay when the service starts; `pass` waits until the service is ready. */
  state?: RelayState;
}

export interface Scene {
  server: PostgresServer;
  relay: Relay;
  varDir: string;
  port: number;
  /** The service that runs now. */
  service: LedgerService;
  /** Starts the service again, after the one before has ended. */
  restart(): Promise<void>;
  /** Starts one more on a port of its own; waits for its database unless told not to. */
  startAnother(env?: Readonly<Record<string, string>>, how?: { waits: boolean }): Promise<number>;
  /** Ends all by SIGTERM. */
  endAll(): Promise<void>;
  /** Asks the database, past the relay. */
  query: <Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>;
  close(): Promise<void>;
}

async function startServer({ settings = [], parent }: SceneOptions): Promise<PostgresServer> {
  const options = parent === undefined ? {} : { parent };
  return startPostgres(['fsync=on', ...settings], options);
}

export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { state = 'pass' } = options;
  const server = await startServer(options);
  const { host, port: serverPort, database, user } = server.connection;
  const relay = await startRelay({ host, port: serverPort });
  const varDir = freshVarDir();
  const env = {
    VAR_DIR: varDir,
    DB_HOST: '127.0.0.1',
    DB_PORT: String(relay.port),
    DB_NAME: database,
    DB_USER: user,
    ...options.env,
  };
  const port = await freePort();
  const others: LedgerService[] = [];
  relay.set(state);
  const scene: Scene = {
    server,
    relay,
    varDir,
    port,
    service: await startService(port, env),
    async restart() {
      await scene.service.kill();
      scene.service = await startService(port, env);
    },
    async startAnother(given = {}, { waits } = { waits: true }) {
      const another = await freePort();
      others.push(await startService(another, { ...env, ...given }));
      if (waits) await untilReady(another, 1);
      return another;
    },
    async endAll() {
      await Promise.all([scene.service, ...others].map((service) => service.end()));
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
  if (state === 'pass') await untilReady(port, 1);
  return scene;
}
