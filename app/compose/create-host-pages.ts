/** The pages of a profiler: the guard, the profiles with their live list, and the error pages. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { editorOf } from '../config.ts';
import { createLive, type Live } from '../controllers/profiler/list/live.ts';
import type { RespondWithError } from '../middleware/cut-off.ts';
import { responseOfError } from '../middleware/error-response.ts';
import { createGuard, type Guard } from '../middleware/guard.ts';
import type { RequestSource } from '../middleware/request-fact.ts';
import { createFormSigner } from '../profiler/form-signature.ts';
import type { PageServices } from '../controllers/profiler/page-services.ts';
import { createDefinitions } from '../observe/stacks/definitions.ts';
import { createFrontEndFiles } from '../observe/stacks/front-end-files.ts';
import { createPlaceExcerpts } from '../observe/stacks/place-excerpts.ts';
import type { SourceFiles } from '../observe/stacks/source-files.ts';
import type { SourceMaps } from '../observe/stacks/source-maps.ts';
import type { Redactor } from '../profiler/masking/redact.ts';
import type { CpuSampler } from '../profiler/record/cpu-samples.ts';
import type { ValueReader } from '../profiler/record/values.ts';
import type { RecordedPlans } from '../profiler/read/query-plan.ts';
import type { ExportCounters } from '../profiler/export.ts';
import { readHealth } from '../profiler/health.ts';
import type { Core, CoreOptions } from './create-core.ts';
import { createErrorPages, type ErrorPages } from './create-error-pages.ts';
import type { HostRouting } from './describe-routing.ts';
import { createLazyPages, type LazyPages } from './lazy-pages.ts';
import type { Profiler, ServiceOptions } from './profiler-options.ts';

const FORM_KEY_BYTES = 32;
const LINES_AROUND = 40;

interface SourceViewOptions {
  root: string;
  files: SourceFiles;
  maps: SourceMaps;
  redactor: Redactor;
}

function createSourceViews({ root, files, maps, redactor }: SourceViewOptions): PageServices['sourceAt'] {
  const excerptOf = createPlaceExcerpts({ root, files, maps, before: LINES_AROUND, after: LINES_AROUND });
  return (place) => {
    const excerpt = excerptOf(place);
    if (excerpt === null) return null;
    const file = resolve(root, place.replace(/:\d+$/, ''));
    // As one text: a list of keys may have several lines.
    const { value } = redactor.tree({ excerpt: excerpt.lines.join('\n') });
    return { excerpt: { ...excerpt, lines: value.excerpt.split('\n') }, changedAt: files.changedAt(file) };
  };
}

interface HostPagesParts extends Pick<
  CoreOptions,
  'store' | 'panels' | 'rules' | 'settings' | 'process' | 'warn'
> {
  options: ServiceOptions;
  core: Core;
  exported: (() => ExportCounters) | undefined;
  cpu: CpuSampler;
  values: ValueReader;
  explain: RecordedPlans;
  source: SourceViewOptions;
  sourceOf: (req: IncomingMessage) => RequestSource;
  onMiss: HostRouting['onMiss'];
  redactText: (text: string) => string;
  log: (error: unknown) => void;
}

export interface HostPages {
  guard: Guard;
  live: Live;
  pages: LazyPages;
  errors: ErrorPages;
  handlers: Pick<Profiler, 'pages' | 'errors' | 'respondWithError'>;
}

/** All processes of a store accept each other's forms. */
async function sharedKeyOf(store: CoreOptions['store']): Promise<Buffer> {
  const proposed = randomBytes(FORM_KEY_BYTES).toString('hex');
  return Buffer.from((await store.setting('form-key', proposed, { onlyIfAbsent: true })) ?? proposed, 'hex');
}

export function createHostPages(parts: HostPagesParts): HostPages {
  const { options, core, settings, store, source, sourceOf, redactText, warn } = parts;
  const { root } = source;
  const editor = editorOf(settings.editor, root);
  const { tracker, profiles } = core;

  const guard = createGuard({
    password: settings.password,
    authorize: options.authorize,
    hosts: settings.hosts,
    isFromProxy: (req) => options.anyHostBehindProxy === true && sourceOf(req).origin.trusted,
    addressOf: (req) => sourceOf(req).origin.clientAddress,
    warn: (sentence) => {
      warn(redactText(sentence));
    },
  });
  const live = createLive({ find: (query) => profiles.find(query) });
  const pages = createLazyPages({
    ...core,
    ...parts,
    forms: createFormSigner({ sharedKey: () => sharedKeyOf(store) }),
    live,
    isStored: options.isStored === true,
    editor: editor === null ? undefined : { ...editor, paths: settings.editorPaths, root },
    sourceAt: createSourceViews(source),
    definitions: createDefinitions(source),
    locateFrontEnd: createFrontEndFiles(source),
    originOf: (req) => sourceOf(req).origin.origin,
    clientOf: (req) => sourceOf(req).origin.clientAddress,
    frontEnds: new Set(settings.toolbarOrigins),
    health: () => readHealth({ ...core, ...parts }),
    storageName: () => store.name,
    guard,
  });
  const errors = createErrorPages({
    ...core,
    ...parts,
    renderErrorPage: pages.renderErrorPage,
    guard,
    summaryReason: () => core.summaryReason({}),
  });
  /** Loads the pages first, if nothing has needed them yet. */
  const respondWithError: RespondWithError = (error, req, res) => {
    const context = tracker.of(req);
    const { status } = responseOfError(error);
    if (context !== undefined && (status === 404 || status === 405)) parts.onMiss(context, req);
    const goOn = context?.stopClock('error page');
    pages.whenRenderable(() => {
      goOn?.();
      errors.respond(error, req, res);
    });
  };

  return {
    guard,
    live,
    pages,
    errors,
    handlers: {
      pages(req, res, next) {
        pages.dispatch(req, res, (error) => {
          if (error === undefined) next();
          else respondWithError(error, req, res);
        });
      },
      errors: function errorPage(error, req, res, _next) {
        respondWithError(error, req, res);
      },
      respondWithError,
    },
  };
}
