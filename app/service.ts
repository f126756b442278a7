/**
 * The service without its process: configuration -> an HTTP server that does not listen yet, and a database that is opened once it
 * does. A door of its own, `express-hindsight/service`: a host that mounts the profiler loads none of it.
 */
import type { Server } from 'node:http';
import { createServer } from './node-http.ts';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type expressPackage from 'express';
import { createApp } from './service/app.ts';
import { type Config, isOpenBehindProxies } from './config.ts';
import type { ConnectionSettings } from './database/connection-settings.ts';
import { createProfiler } from './compose/create-profiler.ts';
import type { Profiler } from './compose/profiler-options.ts';
import { createDatabaseAccess } from './service/database-access.ts';
import type { DatabaseAccess } from './service/open-database.ts';
import { createDrain, firstResponse } from './service/drain.ts';
import { migrationRules, migrationsPanel } from './service/migrations-panel.ts';
import { attachOrigin } from './middleware/attach-origin.ts';
import { createOriginResolver } from './middleware/origin.ts';
import { createDeferredStore } from './profiler/store/deferred-store.ts';
import { escapeLogEntry } from './profiler/escape-controls.ts';
import { createRedactor, type Redactor } from './profiler/masking/redact.ts';
import { stackText } from './profiler/record/thrown-value.ts';
import { requirePackage } from './paths.ts';
import { ignoreFailedWrites, printError } from './print.ts';
import type { RouteEntry, Services } from './routes/services.ts';

export { type Config, ConfigError, readConfig } from './config.ts';
export type { RouteEntry, Services } from './routes/services.ts';

const express = requirePackage('express') as typeof expressPackage;

export interface ServiceOptions {
  config: Config;
  routes: readonly RouteEntry[];
  /** Folders of the application's own views. */
  viewFolders?: readonly string[];
  /** Folder of the owner's migrations; default: `migrations/` of the service. */
  migrationsFolder?: string;
  /** Receives the service's own log lines; default: stderr. */
  log?: (line: string) => void;
  /** Receives the lines of the access log, each with its line feed; default: stdout. */
  writeAccess?: (line: string) => void;
}

export interface Service {
  server: Server;
  /** null with debug off. */
  profiler: Profiler | null;
  /** `http://host:port` it listens on. */
  address(): string;
  /** Starts or finds the database and migrates it; resolves when it is ready, or if there is none. */
  openDatabase(): Promise<void>;
  /** The database's settings, for tools that connect by themselves. */
  databaseSettings(): Promise<ConnectionSettings>;
  /** The text of an error for a log, without secrets. */
  describe(error: unknown): string;
  /**
   * Stops accepting connections, finishes running requests, stores what is queued, closes the database. Takes `withinMs` at most; default:
   * PROFILER_DRAIN_MS.
   */
  close(withinMs?: number): Promise<void>;
}

/** Slow clients: headers within this many milliseconds, the whole request within the other. */
const HEADERS_WITHIN = 15_000;
const REQUEST_WITHIN = 300_000;
/** Longer than the idle time of common proxies (60 s), so that the proxy closes first. */
const KEEP_ALIVE = 65_000;
/** Milliseconds of the end that are left for storing what is queued, whatever requests still run; half of a short end. */
const STORE_WITHIN = 5000;

function createRedactorFor({ secrets, database, domain, schema }: Config): Redactor {
  const publicValues = [domain, schema, database?.host, database?.name, database?.user].filter(
    (value) => value !== undefined,
  );
  return createRedactor({ secrets, publicValues });
}

/** A slow reader of the access log loses nothing of it. Captured before the profiler wraps it: these lines are not logs of the application. */
function openOutput(): (line: string) => void {
  const write = process.stdout.write.bind(process.stdout);
  ignoreFailedWrites(process.stdout);
  return (line) => void write(line);
}

export function createService(options: ServiceOptions): Service {
  const { config, routes } = options;
  const writeAccess = options.writeAccess ?? openOutput();
  const print = options.log ?? ((line) => printError(`${line}\n`));
  const log = (line: string): void => {
    print(escapeLogEntry(line));
  };
  const redactor = createRedactorFor(config);
  const resolver = createOriginResolver(config);
  const storage = createDeferredStore();
  const access: DatabaseAccess = createDatabaseAccess({
    config,
    redactor,
    log,
    ...(options.migrationsFolder === undefined ? {} : { migrationsFolder: options.migrationsFolder }),
    onKnex: (knex) => profiler?.watchKnex(knex),
    onStorage: (opened) => {
      storage.resolve(opened);
    },
  });
  const profiler: Profiler | null = config.debug ? openProfiler() : null;
  const services: Services = {
    config,
    db: () => access.knex(),
    dump: profiler?.dump ?? ((value) => value),
  };
  const app = createApp({
    config,
    profiler,
    resolver,
    redactor,
    services,
    routes,
    log,
    writeAccess,
    ...(options.viewFolders === undefined ? {} : { viewFolders: options.viewFolders }),
  });
  const server = createServer(
    {
      requireHostHeader: false,
      headersTimeout: HEADERS_WITHIN,
      requestTimeout: REQUEST_WITHIN,
      keepAliveTimeout: KEEP_ALIVE,
      connectionsCheckingInterval: 5000,
    },
    app.app,
  );
  app.refuse(server);
  const drain = createDrain(server, { isShared: config.workers > 1 });

  function openProfiler(): Profiler {
    const { domain, trustedHosts } = config;
    return createProfiler({
      ...config.profiler,
      hosts: [...config.profiler.hosts, `.${domain}`, ...(trustedHosts ?? [])],
      anyHostBehindProxy: isOpenBehindProxies(config),
      enabled: true,
      storage,
      redactor,
      ...(config.instance === null ? {} : { process: `${config.instance}:${process.pid}` }),
      settings: config.shown,
      sourceOf: (req) => attachOrigin(req, resolver),
      Router: express.Router,
      describesAllRoutes: true,
      panels: [migrationsPanel],
      findings: migrationRules,
      onRequest: [access.readMigrations],
      warn: log,
    });
  }

  /** Without a database there is nothing to wait for at the end. */
  let storing = false;
  async function openDatabase(): Promise<void> {
    storing = true;
    await firstResponse(server);
    import('./service/middleware/uploads.ts')
      .then(({ cleanUploads }) => cleanUploads(join(config.varDir, 'tmp')))
      .catch(() => undefined);
    await access.open();
    await profiler?.sayIfPaused().catch(() => undefined);
  }

  return {
    server,
    profiler,
    address() {
      const { address, port } = server.address() as AddressInfo;
      return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
    },
    openDatabase,
    databaseSettings: access.connection,
    describe: (error) => escapeLogEntry(redactor.text(stackText(error))),
    async close(withinMs = config.drainMs) {
      const deadline = performance.now() + withinMs;
      profiler?.leave();
      await drain(withinMs - Math.min(STORE_WITHIN, withinMs / 2));
      app.close();
      const counters = await profiler?.close(storing ? deadline - performance.now() : 0);
      const lost = Object.entries(counters?.dropped ?? {});
      if (lost.length > 0)
        log(`Profiles lost: ${lost.map(([reason, count]) => `${count} (${reason})`).join(', ')}.`);
      await access.close();
    },
  };
}
