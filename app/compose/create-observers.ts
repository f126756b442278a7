/**
 * Creates all observers of one profiler. Libraries that a host passes (a Knex, an application, an EJS) are added one by one. `close`
 * restores everything.
 */
import type { Knex } from 'knex';
import type { ProfilerSettings } from '../config/settings.ts';
import { unobservedModules } from '../observe/es-modules.ts';
import { observeCache } from '../observe/databases/cache.ts';
import { createCallerFinder, type FindSender } from '../observe/stacks/caller.ts';
import { createMethodPlaces } from '../observe/stacks/class-places.ts';
import { bullmqPatch } from '../observe/channels/bullmq.ts';
import { childProcessPatch } from '../observe/channels/child-process.ts';
import { httpClientPatches } from '../observe/channels/http-clients.ts';
import { undiciPatch } from '../observe/channels/undici.ts';
import { http2Patches } from '../observe/channels/node-http.ts';
import { lazyQueryPatches } from '../observe/channels/lazy-query.ts';
import { graphqlPatches } from '../observe/channels/graphql.ts';
import { ioredisPatch } from '../observe/channels/ioredis.ts';
import { labelPatches } from '../observe/channels/labels.ts';
import { memoryCachePatches } from '../observe/channels/memory-cache.ts';
import { mongodbPatch } from '../observe/channels/mongodb.ts';
import { mysqlPatches } from '../observe/channels/mysql.ts';
import { nodemailerPatch } from '../observe/channels/nodemailer.ts';
import { pgPatch } from '../observe/channels/pg.ts';
import { redisPatches } from '../observe/channels/redis.ts';
import { socketIoPatch } from '../observe/channels/socket-io.ts';
import { sqlite3Patch } from '../observe/channels/sqlite3.ts';
import { observeAppLocals } from '../observe/layers/app-locals.ts';
import { observeConsole } from '../observe/logs/console.ts';
import { createDump } from '../observe/logs/dump.ts';
import { observeDriver } from '../observe/databases/drivers.ts';
import { createExplainer, type Explainer } from '../observe/databases/explain.ts';
import { observeViews } from '../observe/views.ts';
import { observeGraphql } from '../observe/graphql.ts';
import { observeHttpClient } from '../observe/http-client/http-client.ts';
import { observeTracePropagation } from '../observe/trace-propagation.ts';
import { observeKnex } from '../observe/databases/knex.ts';
import { observeJobs } from '../observe/jobs.ts';
import { observeLabels } from '../observe/databases/labels.ts';
import { createLayerObserver } from '../observe/layers/layers.ts';
import { createLogGate } from '../observe/logs/logs.ts';
import { createManual, type Manual } from '../observe/manual.ts';
import { observeMail } from '../observe/mail.ts';
import {
  createMountedApplications,
  type MountedApplications,
} from '../observe/layers/mounted-applications.ts';
import { nestPatches, observeNest } from '../observe/layers/nestjs.ts';
import { observeOutput } from '../observe/logs/output.ts';
import { type FoundLibrary, type LibraryPatch, watchLibraries } from '../observe/libraries.ts';
import { observeMemoryCaches } from '../observe/databases/memory-cache.ts';
import { createLockHolders } from '../observe/databases/lock-holder.ts';
import { mongodbDriver } from '../observe/databases/mongodb.ts';
import { mysqlDriver } from '../observe/databases/mysql.ts';
import { pgDriver } from '../observe/databases/pg.ts';
import { postgresDriver, postgresPatch } from '../observe/databases/postgres.ts';
import { sqliteDriver, sqlitePatches } from '../observe/databases/sqlite.ts';
import { observePino, pinoPatch } from '../observe/logs/pino.ts';
import { observeProcesses } from '../observe/processes.ts';
import { observeProcessErrors } from '../observe/errors-seen.ts';
import { noteStillWaiting } from '../observe/databases/pool-waits.ts';
import { createQueryRecorder } from '../observe/databases/queries.ts';
import {
  endEarlyRegistrations,
  observeRegistrations,
  type RouterLibrary,
} from '../observe/layers/registrations.ts';
import { observeRuntime } from '../observe/runtime.ts';
import { observeSocketEvents } from '../observe/socket-events.ts';
import type { SourceMaps } from '../observe/stacks/source-maps.ts';
import { observeWinston } from '../observe/logs/winston.ts';
import type { Context, ContextTracker } from '../profiler/record/context.ts';
import type { Profiles } from '../profiler/read/profiles.ts';
import type { Recorder } from '../profiler/record/recorder.ts';
import type { SummaryReason } from '../profiler/record/recording-limit.ts';
import type { IncomingMessage } from 'node:http';
import type { Profiler } from './profiler-options.ts';

/** Libraries of the database panel. */
const DATABASES = new Set(
  [pgPatch, postgresPatch, mongodbPatch, ...mysqlPatches, ...sqlitePatches, sqlite3Patch].map(
    ({ name }) => name,
  ),
);

export interface ObserverOptions {
  tracker: ContextTracker;
  recorder: Recorder;
  summaryReason: () => SummaryReason | null;
  root: string;
  maps: SourceMaps;
  /** The Router of the host's Express, if it can't be found, as in a bundle. */
  Router?: RouterLibrary | undefined;
  settings: ProfilerSettings;
  callBodyBytes: number;
  profiles: Profiles;
  warn: (sentence: string) => void;
  /** Libraries that are observed: all of them, none, or these by name. */
  observe?: boolean | readonly string[] | undefined;
}

export interface Observers {
  /** The libraries found that send queries, and the Knex instances that were passed in. */
  databases: () => readonly FoundLibrary[];
  explainer: Explainer;
  onRequest: (context: Context) => void;
  /** Called at the start of each request, and at its end, when it is certain to have an application. */
  observeApp: (req: IncomingMessage) => void;
  host: Manual & Pick<Profiler, HostCalls>;
  findSender: FindSender;
  sourceOf: Profiler['sourceOf'];
  applications: MountedApplications;
  onFinish: (context: Context) => void;
  close(): void;
}

type HostCalls =
  | 'dump'
  | 'observe'
  | 'sourceOf'
  | 'libraries'
  | 'watchKnex'
  | 'watchApp'
  | 'watchEngine'
  | 'watchWinston';

export function createObservers(options: ObserverOptions): Observers {
  const {
    tracker,
    recorder,
    summaryReason,
    root,
    maps,
    Router,
    settings,
    profiles,
    warn,
    observe = true,
  } = options;
  const { explainMs, traceHosts } = settings;
  const explainer = createExplainer({
    overMs: explainMs,
    mask: (context, plans) => recorder.mask(context, plans),
    store: (token, plans) => profiles.amend(token, 'plan', plans),
    unobserved: (work) => tracker.unobserved(work),
  });
  const findCaller = createCallerFinder(root, maps);
  const findMethod = createMethodPlaces(findCaller.registration);
  const registrations = observeRegistrations({
    findRegistration: findCaller.registration,
    findMethod,
    findNextCaller: findCaller.next,
  });
  const runtime = observeRuntime({ tracker, findCaller });
  const appLocals = observeAppLocals();
  const gate = createLogGate();
  const views = observeViews({ tracker, findCaller, root });
  const sourceOf = (layer: object): string | null => registrations.sourceOf(layer);
  const applications = createMountedApplications({
    onUse(app) {
      layers.observeApplication(app);
    },
  });
  const layers = createLayerObserver({
    findNextCaller: findCaller.next,
    tracker,
    sourceOf,
    isOfLibrary: (layer) => registrations.isOfLibrary(layer),
    onRouter: (router) => {
      registrations.observe(router);
    },
    onMounted: (layer, app) => {
      applications.learn(layer, app);
    },
  });
  if (Router !== undefined) {
    registrations.observe(Router);
    layers.observeLibrary(Router);
  }
  const locks = createLockHolders(() => recorder.runningContexts());
  const queries = createQueryRecorder({ tracker, findCaller, explainer, onEnd: locks.note });
  const parts = { tracker, findCaller, gate, recorder, summaryReason, queries, explainer };
  const isWanted = (name: string): boolean =>
    observe === true || (observe !== false && observe.includes(name));
  /** Libraries that are observed if they are found: how they publish, and which observer subscribes. */
  const observed: { patches: readonly LibraryPatch[]; listen: () => { close(): void } }[] = [
    { patches: [pgPatch], listen: () => observeDriver(pgDriver, parts) },
    { patches: [postgresPatch], listen: () => observeDriver(postgresDriver, parts) },
    { patches: [mongodbPatch], listen: () => observeDriver(mongodbDriver, parts) },
    { patches: mysqlPatches, listen: () => observeDriver(mysqlDriver, parts) },
    { patches: [...labelPatches, ...lazyQueryPatches], listen: () => observeLabels(parts) },
    { patches: [...sqlitePatches, sqlite3Patch], listen: () => observeDriver(sqliteDriver, parts) },
    { patches: [ioredisPatch, ...redisPatches], listen: () => observeCache(parts) },
    { patches: memoryCachePatches, listen: () => observeMemoryCaches(parts) },
    { patches: [nodemailerPatch], listen: () => observeMail(parts) },
    { patches: [childProcessPatch], listen: () => observeProcesses(parts) },
    { patches: nestPatches, listen: () => observeNest({ tracker, findMethod }) },
    { patches: graphqlPatches, listen: () => observeGraphql(parts) },
    { patches: [bullmqPatch], listen: () => observeJobs(parts) },
    { patches: [socketIoPatch], listen: () => observeSocketEvents(parts) },
  ].filter(({ patches }) => patches.some(({ name }) => isWanted(name)));
  const express: LibraryPatch[] = ['express', 'router'].map((name) => ({
    name,
    patch(exports) {
      registrations.observe((exports as { Router?: unknown }).Router ?? exports);
      applications.watchLibrary(exports);
      views.watchLibrary(exports);
      return () => undefined;
    },
  }));
  const engines = ['ejs', 'pug', 'handlebars']
    .filter(isWanted)
    .map((name): LibraryPatch => ({ name, patch: (exports) => views.watchLibrary(exports) }));
  const patches = observed.flatMap((one) => one.patches);
  const libraries = watchLibraries([
    ...express,
    ...engines,
    pinoPatch,
    ...http2Patches,
    ...httpClientPatches,
    undiciPatch,
    ...patches,
  ]);
  const unobserved = patches.some(({ module }) => module !== undefined) ? unobservedModules() : null;
  if (unobserved !== null) warn(unobserved);
  endEarlyRegistrations();
  const closing: { close(): void }[] = [
    registrations,
    applications,
    layers,
    libraries,
    ...observed.map(({ listen }) => listen()),
    observeConsole(parts),
    observePino(parts),
    observeOutput(parts),
    // First, so that the header is recorded.
    observeTracePropagation({ tracker, hosts: traceHosts }),
    observeHttpClient({ tracker, findCaller, bodyBytes: options.callBodyBytes }),
    observeProcessErrors(parts),
    runtime,
    views,
  ];
  let knexes = 0;
  return {
    databases: () => [
      ...(knexes === 0 ? [] : [{ name: 'knex', version: null }]),
      ...libraries.found().filter(({ name }) => DATABASES.has(name)),
    ],
    explainer,
    onRequest(context) {
      runtime.onRequest(context);
      appLocals.onRequest(context);
    },
    observeApp(req) {
      const { app } = req as IncomingMessage & { app?: unknown };
      applications.watch(app);
      layers.observeApplication(app);
    },
    onFinish(context) {
      noteStillWaiting(context, queries);
      locks.ended(context);
      layers.onFinish(context);
      appLocals.onFinish(context);
    },
    findSender: findCaller.sender,
    sourceOf,
    applications,
    host: {
      ...createManual(parts),
      dump: createDump(parts),
      sourceOf,
      observe(name, exports) {
        if (!libraries.observe(name, exports))
          warn(`observe('${name}', …): this library is unknown, or this is not the object that it exports.`);
      },
      libraries: () => libraries.found(),
      watchKnex(knex: Knex, instance) {
        knexes++;
        closing.push(observeKnex(knex, { ...parts, instance }));
      },
      watchApp(app) {
        views.watchApp(app);
        applications.watch(app);
      },
      watchEngine(engine) {
        views.watchEngine(engine);
      },
      watchWinston(library) {
        closing.push(observeWinston(library, parts));
      },
    },
    close() {
      explainer.close();
      for (const observer of closing.splice(0).reverse()) observer.close();
      queries.calls.disable();
    },
  };
}
