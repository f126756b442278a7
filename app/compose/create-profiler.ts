/**
 * Joins core, panels, observers, middleware and pages into what a host mounts: `watch` first, then `pages`, the application, and `errors` last.
 * Everything is created here in the order in which it is needed, and passed on: nothing is module state, so two profilers can run in one process.
 */
import type { Server } from 'node:http';
import { hostname } from 'node:os';
import { findRelease, isEnabled, isProduction, measuresCoverage } from '../config.ts';
import { otlpTarget } from '../config/otlp.ts';
import { readOptions } from '../config/settings.ts';
import { createPageNotFound } from '../controllers/profiler/routes/route-errors.ts';
import { createFindingRules } from '../findings/index.ts';
import { createTokenExposure } from '../middleware/expose-token.ts';
import { createServerTiming } from '../middleware/server-timing.ts';
import { createHostSource } from '../middleware/host-source.ts';
import { refuseRequests } from '../middleware/refuse.ts';
import { createWatch } from '../middleware/watch.ts';
import type { RenderingApp } from '../observe/views.ts';
import { createCpuSampler } from '../observe/cpu/cpu.ts';
import { recordError } from '../observe/errors-seen.ts';
import { createSourceFiles } from '../observe/stacks/source-files.ts';
import { createSourceMaps } from '../observe/stacks/source-maps.ts';
import { createValueFrames } from '../observe/values/value-frames.ts';
import { createValueReader } from '../observe/values/values.ts';
import { packageRoot } from '../paths.ts';
import { createPublicAddressNotice, listAddress, speaksForAll, watchListening } from './announce.ts';
import { attach } from './attach.ts';
import { createCore } from './create-core.ts';
import { createExport } from './create-export.ts';
import { createObservers } from './create-observers.ts';
import { createRecordedPlans } from './explain-recorded.ts';
import { createHostPages } from './create-host-pages.ts';
import { createAddressNote } from './open-files.ts';
import { openHostStore } from './create-postgres-storage.ts';
import { createHostPanels } from './create-panels.ts';
import { createHostRouting } from './describe-routing.ts';
import { createHostLog, hostRedactor } from './host-log.ts';
import { createOffProfiler } from './off-profiler.ts';
import { createTestable, noteProfiler } from './process-profilers.ts';
import { type Profiler, type ServiceOptions, unknownOptions } from './profiler-options.ts';

const CLOSE_WITHIN = 5000;
const EXPORT_WITHIN = 700;

const PREVIEW_BYTES = 16_384;

function whyNoValues({ isStored }: ServiceOptions): string | null {
  if (isStored === true) return 'Values can only be read while the application is running.';
  return isProduction()
    ? 'Values are not read in production, because each throw would pause the process.'
    : null;
}

/** `note`: called if the profiler records; returns the function to call at close. */
export function createProfiler(options: ServiceOptions = {}, note = noteProfiler): Profiler {
  const redactor = hostRedactor(options);
  const redactText = (text: string): string => redactor.text(text);
  const log = createHostLog({ print: options.warn, redactText });
  const { warn } = log;
  for (const sentence of unknownOptions(options)) log.say(sentence);
  if (!isEnabled(options.enabled)) return createOffProfiler({ ...options, warn: log.say });
  const noteEnd = note();
  const isDevelopment = !isProduction();
  const settings = readOptions({
    ...options,
    toolbar: options.toolbar ?? isDevelopment,
  });
  const otlp = otlpTarget(settings);
  const {
    storage: store = openHostStore(options.databaseUrl, {
      dir: settings.dir,
      guard: settings.password ?? (options.authorize === undefined ? null : 'authorize'),
      warn,
    }),
    sourceOf = createHostSource(),
    root = process.cwd(),
    process: name = `${hostname()}:${process.pid}`,
  } = options;

  const files = createSourceFiles({ roots: [root, packageRoot()] });
  const maps = createSourceMaps({ files });
  const valueFrames = createValueFrames({ root, files, maps });
  const panels = createHostPanels({
    root,
    files,
    maps,
    values: valueFrames,
    settings: options.settings ?? {},
    process: name,
    databases: () => observers.databases(),
    own: options.panels,
  });
  const rules = [...createFindingRules(), ...(options.findings ?? [])];
  const core = createCore({
    store,
    panels,
    rules,
    redactor,
    settings,
    process: name,
    release: findRelease(settings.release, root),
    onProfile(stored) {
      testable.add(stored);
      exporter?.add(stored);
    },
    warn,
  });
  const { tracker, recorder, profiles, ledger } = core;
  const testable = createTestable({ recorder, panels, rules });
  const exporter = createExport(otlp, settings, core, warn);

  const observers = createObservers({
    tracker,
    recorder,
    summaryReason: () => core.summaryReason({}),
    root,
    maps,
    Router: options.Router,
    settings,
    callBodyBytes: isDevelopment ? PREVIEW_BYTES : 0,
    profiles,
    observe: options.observe,
    warn,
  });

  const routing = createHostRouting(observers, options.describesAllRoutes);
  const cpu = createCpuSampler({
    tracker,
    mode: settings.cpu ?? (isProduction() ? 'off' : 'auto'),
    measuresCoverage: measuresCoverage(),
    root,
    files,
    maps,
    onSampled(of, sampled) {
      void profiles.amend(of, 'sampled', sampled).catch(() => false);
    },
  });
  const values = createValueReader({
    tracker,
    root,
    forbidden: whyNoValues(options),
    measuresCoverage: measuresCoverage(),
    onRead(of, token) {
      void profiles.amend(of, 'values', { token }).catch(() => false);
    },
    warn,
  });
  const { guard, live, pages, errors, handlers } = createHostPages({
    options,
    core,
    settings,
    panels,
    rules,
    store,
    exported: exporter?.counters,
    cpu,
    values,
    explain: createRecordedPlans({ explainer: observers.explainer, process: name }),
    process: name,
    source: { root, files, maps, redactor },
    sourceOf,
    onMiss: routing.onMiss,
    redactText,
    warn,
    log: log.error,
  });

  const isLookedAt = settings.toolbar || isDevelopment;
  const noteAddress = options.storage === undefined ? createAddressNote(settings.dir) : () => undefined;
  const warnOfAddress = guard.isSet ? undefined : createPublicAddressNotice(warn);
  const watch = createWatch({
    recorder,
    tracker,
    sourceOf,
    previewBytes: PREVIEW_BYTES,
    summaryReason: core.summaryReason,
    observeApp: observers.observeApp,
    findSender: observers.findSender,
    onSourceError: (context, error) => recordError(context, error, { origin: 'stream' }),
    exposeToken: createTokenExposure(new Set(settings.toolbarOrigins)),
    serverTiming: settings.serverTiming ? createServerTiming() : undefined,
    toolbar: settings.toolbar ? { scriptUrl: () => pages.toolbarUrl() } : undefined,
    cpu: cpu.isOff
      ? undefined
      : {
          sampler: cpu,
          mayAsk: (req) =>
            guard.check(req).then(
              () => true,
              () => false,
            ),
        },
    values,
    onServer(server) {
      warnOfAddress?.(server);
      noteAddress(server);
    },
    onOtherProfiler: warn,
    warn,
    onRequest: [observers.onRequest, values.begin, ...(options.onRequest ?? [])],
    onFinish(context, req) {
      if (context.kind === 'request' && context.summary === null) observers.onFinish(context);
      if (!cpu.isOff) cpu.finish(context);
      values.finish(context);
      routing.onFinish(context, req);
      // The pages take 10 MB. They are loaded after the first response, unless they are unlikely to be opened.
      if (isLookedAt) pages.preload();
    },
  });

  let isAnnounced = !speaksForAll();
  function announce(server: Server): void {
    noteAddress(server);
    const address = listAddress(server);
    if (isAnnounced || address === null) return;
    isAnnounced = true;
    log.say(address);
    warnOfAddress?.(server);
  }

  const detaching: (() => void)[] = [];
  const profiler: Profiler = {
    isOn: true,
    attach(app) {
      const unwrap = attach(app, profiler);
      observers.host.watchApp(app as RenderingApp);
      const endAnnouncing = watchListening(app, announce);
      const detach = (): void => {
        endAnnouncing();
        unwrap();
      };
      detaching.push(detach);
      return detach;
    },
    watch,
    ...handlers,
    notFound(req, res) {
      handlers.respondWithError(createPageNotFound(req, redactText), req, res);
    },
    refuse(server, { resolver, methods }) {
      // Refused requests get their response synchronously, so the error page has to be loaded by then.
      pages.whenRenderable(() => undefined);
      watch.watchServer(server);
      const { recordRefusal: record } = errors;
      const { respondWithError: respond } = handlers;
      return refuseRequests(server, { resolver, methods, respond, record, redactText });
    },
    ...observers.host,
    profiles,
    redactor,
    sayIfPaused: core.sayIfPaused,
    counters: () => ledger.counts('application'),
    leave() {
      live.close();
    },
    async close(timeoutMs = CLOSE_WITHIN) {
      noteEnd();
      testable.close();
      for (const detach of detaching.splice(0)) detach();
      live.close();
      observers.close();
      cpu.close();
      values.close();
      await core.close(timeoutMs);
      await exporter?.close(EXPORT_WITHIN);
      log.close();
      return ledger.counts('application');
    },
  };
  return profiler;
}
