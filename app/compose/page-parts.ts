/** The parts that the profiler's pages and the error page share, and the renderer of the error page. */
import { join } from 'node:path';
import { createErrorPage } from '../controllers/errors/error-page.ts';
import { type Assets, createAssets } from '../controllers/profiler/assets.ts';
import { unknownTokenModelOf } from '../controllers/profiler/require-profile.ts';
import type { RenderErrorPage } from './create-error-pages.ts';
import { isHindsightError } from '../errors.ts';
import { packageRoot, packageVersion } from '../paths.ts';
import type { Panel } from '../profiler/panel.ts';
import { createPageRenderer, type RenderPage } from '../render/render-page.ts';
import type { EditorOptions } from '../view-helpers/editor.ts';

export interface PageParts {
  renderPage: RenderPage;
  renderErrorPage: RenderErrorPage;
  assets: Assets;
  foot: readonly string[];
}

export interface PagePartsOptions {
  panels: readonly Panel[];
  process: string;
  editor?: EditorOptions | undefined;
}

export function createPageParts({ panels, process: name, editor }: PagePartsOptions): PageParts {
  const root = packageRoot();
  const assets = createAssets();
  const renderPage = createPageRenderer({ viewsFolder: join(root, 'views'), assets, editor });
  const foot = [`express-hindsight ${packageVersion()}`, `Node ${process.versions.node}`, name];
  const render = createErrorPage({ renderPage, panels, foot, unknownTokenModel: unknownTokenModelOf });
  return {
    renderPage,
    renderErrorPage: (page) =>
      render({ ...page, code: isHindsightError(page.error) ? page.error.code : null }),
    assets,
    foot,
  };
}
