/**
 * Profiles made by hand, through the real recorder and panels, and the pages over them: for tests of views and controllers.
 */
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { createAssets } from '../../app/controllers/profiler/assets.ts';
import { createProfilerControllers } from '../../app/controllers/profiler/index.ts';
import { createLive } from '../../app/controllers/profiler/list/live.ts';
import type { PageServices } from '../../app/controllers/profiler/page-services.ts';
import type { Dispatch } from '../../app/controllers/profiler/dispatch.ts';
import { createFindingRules } from '../../app/findings/index.ts';
import { securityHeaders } from '../../app/middleware/security-headers.ts';
import { packageRoot } from '../../app/paths.ts';
import type { Context, ProfileKind } from '../../app/profiler/record/context.ts';
import type { RequestFact, ResponseFact } from '../../app/profiler/record/facts.ts';
import { type FindingRule, ruleTexts } from '../../app/profiler/read/finding-rule.ts';
import { searchedFields } from '../../app/profiler/store/find-text.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { createDefinitions } from '../../app/observe/stacks/definitions.ts';
import { createFormSigner } from '../../app/profiler/form-signature.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { createProfiles, type Profiles } from '../../app/profiler/read/profiles.ts';
import { createRecording } from '../../app/profiler/record/recording.ts';
import { createRouteInFull } from '../../app/profiler/record/route-in-full.ts';
import { createRecorder, type Recorder } from '../../app/profiler/record/recorder.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { readHealth } from '../../app/profiler/health.ts';
import { createLedger } from '../../app/profiler/record/ledger.ts';
import { createPageRenderer, type RenderPage } from '../../app/render/render-page.ts';
import type { EditorOptions } from '../../app/view-helpers/editor.ts';
import { createPages } from '../../app/routes/profiler.ts';
import type { Store } from '../../app/profiler/store/store.ts';
import { createMemoryStore } from './memory-store.ts';
import { until } from './waiting.ts';

export const ORIGIN = 'https://shop.example.com';

export interface Recorded {
  /** Default `GET`. */
  method?: string;
  url?: string;
  kind?: ProfileKind;
  parent?: Context;
  headers?: readonly string[];
  request?: Partial<RequestFact>;
  status?: number;
  responseHeaders?: readonly string[];
  response?: Partial<ResponseFact>;
  /** Adds what else is known of the request. */
  more?: (context: Context) => void;
  /** Records the rendering of an error page as its child. */
  errorPage?: boolean;
  /** Leaves the request running. */
  running?: boolean;
}

export interface PageFixture {
  profiles: Profiles;
  store: Store;
  recorder: Recorder;
  services: PageServices;
  pages: Dispatch;
  /** Records a request; returns its context, its profile is stored. */
  record(given?: Recorded): Promise<Context>;
  /** The same, as pages read it. */
  profileOf(given?: Recorded): Promise<Profile>;
}

export function requestFact(given: Recorded): RequestFact {
  return {
    method: given.method ?? 'GET',
    url: given.url ?? '/orders/4712?tab=items',
    httpVersion: '1.1',
    rawHeaders: given.headers ?? ['Host', 'shop.example.com', 'Accept', 'text/html'],
    remoteAddress: '10.0.3.7',
    remotePort: 51234,
    origin: {
      scheme: 'https',
      host: 'shop.example.com',
      port: 443,
      origin: ORIGIN,
      clientAddress: '203.0.113.24',
      chain: ['203.0.113.24', '10.0.3.7'],
      trusted: true,
      hostError: null,
    },
    requestId: '0191f2c4-77aa-7c3e-9f0d-5e2b84a1d6c0',
    receivedRequestId: null,
    ...given.request,
  };
}

export function responseFact(given: Recorded): ResponseFact {
  return {
    status: given.status ?? 200,
    statusMessage: given.status === 500 ? 'Internal Server Error' : 'OK',
    rawHeaders: given.responseHeaders ?? [
      'Content-Type',
      'text/html; charset=utf-8',
      'X-Robots-Tag',
      'noindex',
    ],
    headersAtMs: 12.3,
    bodyBytes: 18_402,
    preview: Buffer.from('<!doctype html>\n<title>Order 4712</title>\n'),
    truncated: true,
    outcome: 'finished',
    ...given.response,
  };
}

const assets = createAssets();
let renderer: RenderPage | undefined;

/** One for all fixtures without options of their own: each compiles its templates. */
function rendererOf(viewsFolder: string | undefined, editor: EditorOptions | undefined): RenderPage {
  const create = (): RenderPage =>
    createPageRenderer({ viewsFolder: viewsFolder ?? join(packageRoot(), 'views'), assets, editor });
  return viewsFolder === undefined && editor === undefined ? (renderer ??= create()) : create();
}

export function createPageFixture(
  panels: readonly Panel[],
  options: {
    originOf?: (req: IncomingMessage) => string | null;
    viewsFolder?: string;
    editor?: EditorOptions;
    sourceAt?: PageServices['sourceAt'];
    definitions?: PageServices['definitions'];
    frontEnds?: readonly string[];
    /** Beside the built-in ones. */
    rules?: readonly FindingRule[];
  } = {},
): PageFixture {
  let counter = 0xa00000;
  const store = createMemoryStore();
  const redactor = createRedactor();
  const ledger = createLedger();
  const rules = [...createFindingRules(), ...(options.rules ?? [])];
  const recorder = createRecorder({
    panels,
    rules,
    redactor,
    nextToken: () => (counter++).toString(16),
    ledger,
    write(record, _shared, fate) {
      if (fate !== undefined) ledger.queued(fate);
      const settled = (): void => {
        if (fate !== undefined) ledger.stored(fate);
      };
      store.add([{ ...record, settled }]);
    },
    process: 'web.1, 4121',
    warn: () => undefined,
  });
  const profiles = createProfiles({ recorder, store, searched: searchedFields(panels) });
  const services: PageServices = {
    profiles,
    recording: createRecording(store),
    routeInFull: createRouteInFull(store),
    forms: createFormSigner({}),
    live: createLive({ find: (query) => profiles.find(query) }),
    panels,
    rules: ruleTexts(rules),
    renderPage: rendererOf(options.viewsFolder, options.editor),
    assets,
    securityHeaders,
    frontEnds: new Set(options.frontEnds),
    redactText: (text) => redactor.text(text),
    sourceAt: options.sourceAt ?? (() => null),
    definitions:
      options.definitions ??
      createDefinitions({
        root: '/none',
        files: { lines: () => null, changedAt: () => null },
        maps: { sourceLines: () => null },
      }),
    locateFrontEnd: () => null,
    replay: 'safe',
    isStored: false,
    log: () => undefined,
    foot: ['express-hindsight 0.1.0', 'Node 22.11.0', 'web.1, process 4121', 'memory'],
    lastEnd: () => Promise.resolve(null),
    health: () =>
      readHealth({
        process: 'web.1, 4121',
        store,
        ledger,
        lastEnd: () => Promise.resolve({ process: 'web.1, 4100', at: 1_760_000_000_000, how: 'SIGTERM' }),
      }),
    retention: () => 'Profiles are kept for 24 hours, at most 100000 of them and 512 MiB.',
    exportedBy: {
      resource: { 'service.name': 'pages' },
      scope: { name: 'express-hindsight', version: '0.0.0' },
    },
  };
  const pages = createPages({
    controllers: createProfilerControllers(services),
    originOf: options.originOf ?? (() => ORIGIN),
    clientOf: () => '203.0.113.24',
    securityHeaders,
    frontEnds: services.frontEnds,
    redactText: services.redactText,
  });

  const fixture: PageFixture = {
    profiles,
    store,
    recorder,
    services,
    pages,
    async profileOf(given) {
      const { token } = await fixture.record(given);
      const found = await profiles.read(token);
      if (found === null) throw new Error('It was not stored.');
      return found.profile;
    },
    async record(given = {}) {
      const context = recorder.open(given.kind ?? 'request', given.parent);
      context.add('request', requestFact(given));
      context.add('response', responseFact(given));
      given.more?.(context);
      if (given.errorPage === true) {
        const child = recorder.open('error_page', context);
        child.add('request', requestFact(given));
        child.add('response', responseFact(given));
        recorder.finish(child);
      }
      if (given.running !== true) {
        recorder.finish(context);
        await until(() => recorder.running(context.token) === undefined, 'its profile is made');
      }
      return context;
    },
  };
  return fixture;
}
