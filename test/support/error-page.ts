/**
 * Error pages as the service makes them, without the service: real recorder, redactor, panels, describer and views.
 * In: what was thrown, and what the request was. Out: the snapshot, and the page as HTML.
 */
import { join } from 'node:path';
import { createAssets } from '../../app/controllers/profiler/assets.ts';
import { createErrorPage, type ErrorPageInput } from '../../app/controllers/errors/error-page.ts';
import { HindsightError } from '../../app/errors.ts';
import { createErrorDescriber } from '../../app/observe/errors.ts';
import { createSourceFiles } from '../../app/observe/stacks/source-files.ts';
import { createSourceMaps } from '../../app/observe/stacks/source-maps.ts';
import { createExceptionPanel } from '../../app/panels/exception/index.ts';
import { presentException } from '../../app/panels/exception/present.ts';
import { createRoutingPanel } from '../../app/panels/routing/index.ts';
import { packageRoot } from '../../app/paths.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { createRecorder } from '../../app/profiler/record/recorder.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { createPageRenderer, type RenderPage } from '../../app/render/render-page.ts';

export interface FailedRequest {
  error: unknown;
  status?: number;
  method?: string;
  url?: string;
  child?: string | null;
  secrets?: Readonly<Record<string, string>>;
  /** Adds what else the request did. */
  prepare?: (context: Context) => void;
}

/** The describer over a folder, as the service sets it up over its own; a busy machine gets as many excerpts as an idle one. */
export function describerOf(root: string): ReturnType<typeof createErrorDescriber> {
  const files = createSourceFiles({ roots: [root] });
  return createErrorDescriber({
    root,
    files,
    maps: createSourceMaps({ files }),
    sourceBudgetMs: Infinity,
  });
}

let renderer: RenderPage | undefined;

/** One for all: each compiles its templates. */
export function rendererOf(): RenderPage {
  return (renderer ??= createPageRenderer({
    viewsFolder: join(packageRoot(), 'views'),
    assets: createAssets(),
    editor: { url: 'vscode://file/%f:%l:%c', root: '/home/dev/shop' },
  }));
}

export function snapshotOf(request: FailedRequest, root: string = packageRoot()): Profile {
  const panels = [
    createExceptionPanel({ describe: describerOf(root) }),
    createRoutingPanel(),
  ] as readonly Panel[];
  const recorder = createRecorder({
    panels,
    redactor: createRedactor({ secrets: request.secrets ?? {} }),
    nextToken: () => '9be04d',
    write: () => undefined,
    process: 'web.1, 4121',
    warn: (sentence) => {
      throw new Error(sentence);
    },
  });
  const context = recorder.open('request');
  context.add('request', {
    method: request.method ?? 'GET',
    url: request.url ?? '/',
    httpVersion: '1.1',
    rawHeaders: [],
    remoteAddress: '10.0.3.7',
    remotePort: 40_000,
    origin: {
      scheme: 'https',
      host: 'shop.example.com',
      port: 443,
      origin: 'https://shop.example.com',
      clientAddress: '203.0.113.24',
      chain: ['203.0.113.24'],
      trusted: true,
      hostError: null,
    },
    requestId: 'r-1',
    receivedRequestId: null,
  });
  request.prepare?.(context);
  context.add('error', {
    error: request.error,
    origin: 'handled',
    atMs: context.elapsedMs(),
    status: request.status ?? 500,
  });
  return recorder.snapshot(context);
}

export function pageInput(request: FailedRequest, root?: string): ErrorPageInput {
  const { error, status = 500, child = '5d1f0a' } = request;
  return {
    profile: snapshotOf(request, root),
    error,
    child,
    code: error instanceof HindsightError ? error.code : null,
    status,
  };
}

/** As it is read: nothing is collected. */
export const exceptionPanel = {
  name: 'exception',
  title: 'Exception',
  rows: presentException,
} as Panel;

export function renderErrorPage(request: FailedRequest, root?: string): string {
  const renderError = createErrorPage({
    renderPage: rendererOf(),
    panels: [{ name: 'request', title: 'Request' }, exceptionPanel, createRoutingPanel()],
    foot: ['express-hindsight 1.0.0', 'Node 22.11.0'],
    unknownTokenModel: () => null,
  });
  return renderError(pageInput(request, root));
}
