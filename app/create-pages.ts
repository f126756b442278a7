/** Joins controllers, templates and assets into the handler of the profiler's pages and the renderer of the error page. */
import type { IncomingMessage } from 'node:http';
import type { RenderErrorPage } from './create-error-pages.ts';
import { createErrorPage } from './controllers/errors/error-page.ts';
import { createAssets } from './controllers/profiler/assets.ts';
import type { Dispatch } from './controllers/profiler/dispatch.ts';
import { createProfilerControllers } from './controllers/profiler/index.ts';
import { unknownTokenModelOf } from './controllers/profiler/unknown-token.ts';
import { HindsightError } from './errors.ts';
import type { Guard } from './middleware/guard.ts';
import type { Retention } from './profiler/housekeeper.ts';
import type { Panel } from './profiler/panel.ts';
import type { Profiles } from './profiler/profiles.ts';
import { createPageRenderer } from './render-page.ts';
import { createPages } from './routes/profiler.ts';
import { pageHeaders } from './page-headers.ts';
import { packageVersion } from './paths.ts';

export interface PageHandlerOptions {
  viewsFolder: string;
  assetsFolder: string;
  profiles: Profiles;
  panels: readonly Panel[];
  retention: Retention;
  process: string;
  originOf: (req: IncomingMessage) => string | null;
  guard: Guard;
  redactText: (text: string) => string;
}

export interface PageHandler {
  dispatch: Dispatch;
  renderErrorPage: RenderErrorPage;
}

const HOUR = 3_600_000;
const MEBIBYTE = 1024 * 1024;

function describeRetention({ ageMs, count, bytes }: Retention): string {
  const hours = Math.round(ageMs / HOUR);
  return `Profiles are kept for ${hours} hours, at most ${count} of them and ${Math.round(bytes / MEBIBYTE)} MiB.`;
}

export function createPageHandler(options: PageHandlerOptions): PageHandler {
  const { profiles, panels, originOf, guard, redactText } = options;
  const assets = createAssets(options.assetsFolder);
  const renderPage = createPageRenderer({ viewsFolder: options.viewsFolder, assets });
  const foot = [`express-hindsight ${packageVersion()}`, `Node ${process.versions.node}`, options.process];
  const headers = pageHeaders();
  const ownHeaders = (): typeof headers => headers;
  const controllers = createProfilerControllers({
    profiles,
    panels,
    renderPage,
    assets,
    ownHeaders,
    redactText,
    foot,
    retention: describeRetention(options.retention),
  });
  const renderError = createErrorPage({ renderPage, panels, foot, unknownTokenModel: unknownTokenModelOf });
  return {
    dispatch: createPages({ controllers, originOf, guard, ownHeaders, redactText }),
    renderErrorPage: (page) =>
      renderError({ ...page, code: page.error instanceof HindsightError ? page.error.code : null }),
  };
}
