/**
 * Joins core, panels, storage and pages into what a host mounts:
 *
 *   app.use(profiler.watch);   // first
 *   app.use(profiler.pages);
 *   …                          // the application
 *   app.use(profiler.errors);  // last
 *
 * Everything is made here and handed on; nothing is module state, so two profilers can live in one process.
 */
import type { Knex } from 'knex';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import { isProduction } from '../config.ts';
import { checkEditor } from '../config/editor.ts';
import { checkOrigins } from '../config/origins.ts';
import { createLive } from '../controllers/profiler/live.ts';
import { createErrorPages, type ErrorPages } from './create-error-pages.ts';
import { createObservers } from './create-observers.ts';
import { createHostPanels } from './create-panels.ts';
import { createFindingRules } from '../findings/index.ts';
import { createHostRouting } from './describe-routing.ts';
import { createLazyPages } from './lazy-pages.ts';
import { createTokenExposure } from '../middleware/expose-token.ts';
import { createHostSource } from '../middleware/host-source.ts';
import { createRefusal, type RefusalOptions } from '../middleware/refuse.ts';
import type { RequestSource } from '../middleware/request-fact.ts';
import { createWatch, type Watch } from '../middleware/watch.ts';
import type { Dump } from '../observe/dump.ts';
import { createExplainer } from '../observe/explain.ts';
import type { CompilingEngine, RenderingApp } from '../observe/ejs.ts';
import { createSourceFiles } from '../observe/source-files.ts';
import { createSourceMaps } from '../observe/source-maps.ts';
import type { RouterLibrary } from '../observe/registrations.ts';
import type { WinstonLibrary } from '../observe/winston.ts';
import { packageRoot } from '../paths.ts';
import { type Context, type ContextLimits, ContextTracker } from '../profiler/context.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { createFormSigner } from '../profiler/form-signature.ts';
import { createHousekeeper, defaultRetention, type Retention } from '../profiler/housekeeper.ts';
import type { Panel } from '../profiler/panel.ts';
import { createPatientRead } from '../profiler/patient-read.ts';
import { createProfiles, type Profiles } from '../profiler/profiles.ts';
import { createRecorder } from '../profiler/recorder.ts';
import { createRecording } from '../profiler/recording.ts';
import { createRedactor, type Redactor } from '../profiler/redact.ts';
import { createSampler, defaultSampling, type Sampling } from '../profiler/sampling.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import { createTokenReserve } from '../profiler/token-reserve.ts';
import { createTokenSource } from '../profiler/token-source.ts';
import { createWriter, type WriterCounters } from '../profiler/writer.ts';
import { createMemoryStorage } from '../storage/memory-profile-storage.ts';
import { urls } from '../urls.ts';

export interface ProfilerOptions {
  /** Where profiles are kept; default: the memory of this process. */
  storage?: ProfileStorage;
  /** Panels of your own, shown after the built-in ones. */
  panels?: readonly Panel[];
  /** Rules of your own by which findings are made, asked after the built-in ones. */
  findings?: readonly FindingRule[];
  /** Secret values by the name of their setting: masked wherever they occur. */
  secrets?: Readonly<Record<string, string>>;
  /** Words that make a field, header or parameter secret, in addition to the built-in ones. */
  secretNames?: readonly string[];
  /** Values that are no secret although one has the same: names of host, schema, user, database. */
  publicValues?: readonly string[];
  /** Instead of the three above: a redactor made elsewhere. */
  redactor?: Redactor;
  retention?: Partial<Retention>;
  limits?: ContextLimits;
  /** Bytes of a body kept as preview; default 16 KiB. */
  previewBytes?: number;
  /**
   * Milliseconds from which on a statement that PostgreSQL ran is planned again after the answer (`EXPLAIN`, read-only, on an
   * idle connection of the Knex that ran it), and the plan kept with the profile; default 100, 0: none is.
   */
  explainMs?: number;
  /** Which requests are recorded in full; default: all. Those that fail or are slow are kept in outline. */
  sampling?: Partial<Sampling>;
  /** Folder where a process leaves some tokens for the next one; absent: the first requests guess theirs. */
  tokenFolder?: string;
  /** Shown as the process that answered; default: host name and pid. */
  process?: string;
  /** Settings shown in the configuration panel; masked like everything else. */
  settings?: Readonly<Record<string, unknown>>;
  /** Folder of the application's own code; default: the working directory. */
  root?: string;
  /** Places on the pages open it: `vscode`, `cursor`, `webstorm`, `zed`, or an address with `%f`, `%l` and `%c`. */
  editor?: {
    url: string;
    /** Folders here -> on the developer's machine, where the application runs in a container. */
    paths?: Readonly<Record<string, string>>;
  };
  /** Whether HTML documents that browsers ask for get the toolbar; default: they do, but not where NODE_ENV is `production`. */
  toolbar?: boolean;
  /** Origins of separate front ends that load the toolbar by its tag, such as `http://localhost:5173`; default: none. */
  toolbarOrigins?: readonly string[];
  /** Asked for as HTTP Basic before any page is shown. */
  password?: string | null;
  /** Who may see the pages; asked when there is no password. */
  authorize?: (req: IncomingMessage) => boolean | Promise<boolean>;
  /** Where a request came from; default: what the host's Express makes of it. */
  sourceOf?: (req: IncomingMessage) => RequestSource;
  /** `express.Router`, to show where each route and middleware was registered. */
  Router?: RouterLibrary;
  /**
   * Requests and responses of a server that serves one Express application are made with the prototypes which Express
   * gives them anyway; default true. Answers are the same, and on Node.js 20 and 22 cheaper.
   */
  adoptPrototypes?: boolean;
  /** Called once per request, inside its context, to add facts beside it. */
  onRequest?: readonly ((context: Context) => void)[];
  /** Takes the profiler's own warnings; default: stderr. */
  warn?: (sentence: string) => void;
}

export interface Profiler {
  watch: Watch;
  /** `(req, res, next)`: answers everything below `/_profiler`. */
  pages: (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;
  /** `(error, req, res, next)`: the error page. */
  errors: ErrorPages['handler'];
  /** Answers an error found outside the middleware. */
  answerError: ErrorPages['answer'];
  /** Answers what the HTTP parser refuses by the error page too; returns the function that stops it. */
  refuse(server: Server, options: Pick<RefusalOptions, 'resolver' | 'methods'>): () => void;
  /** Shows a value in the dump panel; returns it. */
  dump: Dump;
  /** `file:line` where a layer of a router was registered; null where not known. */
  sourceOf: (layer: object) => string | null;
  watchKnex(knex: Knex, instance?: string): void;
  watchApp(app: RenderingApp): void;
  watchEngine(engine: CompilingEngine): void;
  /** Lines of winston's loggers, wherever they go; other loggers are seen without being handed over. */
  watchWinston(winston: WinstonLibrary): void;
  profiles: Profiles;
  redactor: Redactor;
  /** Asks the storage, once it is there, for a block of tokens, and whether recording is paused. */
  refillTokens(): Promise<void>;
  counters(): WriterCounters;
  /** Makes open profiles final, stores what waits within `timeoutMs`, undoes what was observed. */
  close(timeoutMs?: number): Promise<WriterCounters>;
}

const PREVIEW_BYTES = 16_384;
const EXPLAIN_MS = 100;
const CLOSE_WITHIN = 5000;

export function createProfiler(options: ProfilerOptions = {}): Profiler {
  const {
    storage = createMemoryStorage(),
    warn = (sentence) => void process.stderr.write(`hindsight: ${sentence}\n`),
    sourceOf = createHostSource(),
    previewBytes = PREVIEW_BYTES,
    root = process.cwd(),
    explainMs = EXPLAIN_MS,
  } = options;
  const withToolbar = options.toolbar ?? !isProduction();
  /** Whether somebody is likely to open a page: else they stay unloaded until then, 10 MB at saturation. */
  const isLookedAt = withToolbar || !isProduction();
  const name = options.process ?? `${hostname()}:${process.pid}`;
  const retention = { ...defaultRetention, ...options.retention };
  const editor = options.editor === undefined ? null : checkEditor(options.editor);
  const frontEnds = checkOrigins(options.toolbarOrigins ?? []);
  const tracker = new ContextTracker();
  const redactor =
    options.redactor ??
    createRedactor({
      ...(options.secrets === undefined ? {} : { secrets: options.secrets }),
      ...(options.secretNames === undefined ? {} : { names: options.secretNames }),
      ...(options.publicValues === undefined ? {} : { publicValues: options.publicValues }),
    });
  const files = createSourceFiles({ roots: [root, packageRoot()] });
  const maps = createSourceMaps({ files });
  const panels = [
    ...createHostPanels({ root, files, maps, settings: options.settings ?? {}, process: name }),
    ...(options.panels ?? []),
  ];
  const rules = [...createFindingRules(), ...(options.findings ?? [])];
  const tokens = createTokenSource({
    ...(storage.leaseTokens === undefined
      ? {}
      : { lease: (key) => storage.leaseTokens?.(key) ?? Promise.reject(new Error('No leases.')) }),
    ...(options.tokenFolder === undefined ? {} : { reserve: createTokenReserve(options.tokenFolder) }),
  });
  const sampling = { ...defaultSampling, ...options.sampling };
  const recording = createRecording(storage);
  const sampler = createSampler({ ...sampling, isPaused: () => recording.pausedAt() !== null });
  const writer = createWriter({ storage, warn });
  const recorder = createRecorder({
    panels,
    rules,
    redactor,
    nextToken: () => tokens.next(),
    nextSampledOut: () => tokens.nextSampledOut(),
    sampler,
    write: (profile, shared) => {
      if (profile.index.kind !== 'profiler' && recording.leavesOut(profile.index.startedAt)) return;
      writer.enqueue(profile, shared);
      if (profile.index.state === 'final') explainer?.ended(profile.index.token);
      // The first answer is out: what the next ones may need is loaded now.
      if (isLookedAt) pages.preload();
    },
    process: name,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    warn,
  });
  const profiles = createProfiles({
    recorder,
    writer,
    storage,
    readStored: createPatientRead(storage, tokens),
    isSampledOut: (token) => (sampling.rate < 1 || recording.wasPaused()) && tokens.isSampledOut(token),
  });
  const explainer =
    explainMs > 0
      ? createExplainer({
          overMs: explainMs,
          mask: (context, plans) => recorder.mask(context, plans),
          keep: (token, plans) => profiles.amend(token, 'plan', plans),
          unobserved: (work) => tracker.unobserved(work),
        })
      : undefined;
  const housekeeper = createHousekeeper({ storage, retention, warn });
  // The watch comes after the observers, which ask it.
  const watched: Pick<Watch, 'contextOf' | 'layerEntered' | 'layerLeft'> = {
    contextOf: () => undefined,
    layerEntered: () => undefined,
    layerLeft: () => undefined,
  };
  const observers = createObservers({
    tracker,
    contextOf: (req) => watched.contextOf(req),
    onLayerEntered: (req) => {
      watched.layerEntered(req);
    },
    onLayerLeft: (req, layer) => {
      watched.layerLeft(req, layer);
    },
    root,
    maps,
    Router: options.Router,
    explainer,
  });
  const watch = createWatch({
    recorder,
    tracker,
    sourceOf,
    previewBytes,
    takes: (headers) => !recording.check() && sampler.takes(headers),
    layerOf: observers.layerOf,
    see: observers.see,
    exposeToken: createTokenExposure(frontEnds),
    toolbar: withToolbar ? { script: () => pages.toolbarScript() } : undefined,
    adoptPrototypes: options.adoptPrototypes ?? true,
    onRequest: [observers.onRequest, ...(options.onRequest ?? [])],
    // Figures of the process over hours would say nothing, and make every other request one of two.
    onUpgrade: options.onRequest ?? [],
    onFinish: createHostRouting(observers.sourceOf).onFinish,
  });
  const { layerEntered, layerLeft } = watch;
  Object.assign(watched, { contextOf: watch.contextOf, layerEntered, layerLeft });

  const live = createLive({ find: (query) => profiles.find(query) });
  const pages = createLazyPages({
    profiles,
    recording,
    forms: createFormSigner(
      storage.formKey === undefined
        ? {}
        : { sharedKey: () => storage.formKey?.() ?? Promise.reject(new Error('No key.')) },
    ),
    live,
    panels,
    rules,
    retention,
    process: name,
    ...(editor === null ? {} : { editor: { ...editor, root } }),
    originOf: (req) => sourceOf(req).origin.origin,
    clientOf: (req) => sourceOf(req).origin.clientAddress,
    frontEnds,
    redactText: (text) => redactor.text(text),
    access: {
      password: options.password ?? null,
      ...(options.authorize === undefined ? {} : { authorize: options.authorize }),
    },
  });
  const errors = createErrorPages({
    recorder,
    tracker,
    contextOf: watch.contextOf,
    renderErrorPage: pages.renderErrorPage,
    redactText: (text) => redactor.text(text),
    log: (error) => {
      warn(redactor.text(error instanceof Error ? (error.stack ?? error.message) : String(error)));
    },
  });

  const answerError: ErrorPages['answer'] = (error, req, res) => {
    pages.whenRenderable(() => {
      errors.answer(error, req, res);
    });
  };

  return {
    watch,
    pages(req, res, next) {
      pages.dispatch(req, res, (error) => {
        if (error === undefined) next();
        else answerError(error, req, res);
      });
    },
    errors: function errorPage(error, req, res, _next) {
      answerError(error, req, res);
    },
    answerError,
    refuse(server, { resolver, methods }) {
      // What the parser refuses is answered in the same turn.
      pages.whenRenderable(() => undefined);
      watch.watchServer(server);
      return createRefusal({
        resolver,
        methods,
        answer: answerError,
        record: errors.recordRefusal,
        redactText: (text) => redactor.text(text),
      }).attach(server);
    },
    dump: observers.dump,
    sourceOf: observers.sourceOf,
    watchKnex: observers.watchKnex,
    watchApp: observers.watchApp,
    watchEngine: observers.watchEngine,
    watchWinston: observers.watchWinston,
    profiles,
    redactor,
    async refillTokens() {
      await tokens.refill();
      await recording.refresh();
      const pausedAt = recording.pausedAt();
      if (pausedAt !== null)
        warn(`Recording is paused since ${new Date(pausedAt).toISOString()}; resume it at ${urls.home()}.`);
    },
    counters: () => writer.counters(),
    async close(timeoutMs = CLOSE_WITHIN) {
      live.close();
      housekeeper.close();
      explainer?.close();
      observers.close();
      watch.close();
      recorder.close();
      await writer.close(timeoutMs);
      await storage.close();
      return writer.counters();
    },
  };
}
