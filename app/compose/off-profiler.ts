/** The profiler of a host that records nothing: every function exists and passes on; nothing is observed, stored or shown. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isProduction } from '../config.ts';
import { readOptions } from '../config/settings.ts';
import { endEarlyRegistrations } from '../observe/layers/registrations.ts';
import { createRedactor } from '../profiler/masking/redact.ts';
import { attach } from './attach.ts';
import { createCore } from './create-core.ts';
import { openFiles } from './open-files.ts';
import type { Profiler, ServiceOptions } from './profiler-options.ts';

function pass(_req: IncomingMessage, _res: ServerResponse, next: (error?: unknown) => void): void {
  next();
}

const nothing = (): void => undefined;

const WHY =
  'nothing is recorded, because NODE_ENV is production; set PROFILER=on, or the option `enabled`, to record.';

export function createOffProfiler(options: ServiceOptions & { warn: (sentence: string) => void }): Profiler {
  if (options.enabled === undefined && isProduction()) options.warn(WHY);
  endEarlyRegistrations();
  const redactor = options.redactor ?? createRedactor({});
  const core = createCore({
    store: openFiles({ dir: '', guard: null, warn: nothing }),
    panels: [],
    rules: [],
    redactor,
    settings: readOptions({}),
    process: '',
    release: null,
    warn: nothing,
  });
  // Nothing is stored, so no timer is needed.
  const closed = core.close(0);

  const detaching: (() => void)[] = [];
  const profiler: Profiler = {
    isOn: false,
    attach(app) {
      const detach = attach(app, profiler);
      detaching.push(detach);
      return detach;
    },
    watch: Object.assign(pass.bind(null), {
      watchServer: nothing,
      close: nothing,
    }),
    pages: pass,
    errors: (error, _req, _res, next) => {
      next(error);
    },
    notFound: pass,
    respondWithError(error) {
      throw error;
    },
    refuse: () => nothing,
    span: (_name, work) => work(),
    bind: (work) => work,
    fact: () => false,
    record: async (_kind, _name, work) => work(),
    dump: (value) => value,
    sourceOf: () => null,
    observe: nothing,
    libraries: () => [],
    watchKnex: nothing,
    watchApp: nothing,
    watchEngine: nothing,
    watchWinston: nothing,
    profiles: core.profiles,
    redactor,
    sayIfPaused: () => Promise.resolve(),
    counters: () => core.ledger.counts('application'),
    leave: nothing,
    async close() {
      for (const detach of detaching.splice(0)) detach();
      await closed;
      await options.storage?.close();
      return core.ledger.counts('application');
    },
  };
  return profiler;
}
