/**
 * The profiler's pages and the renderer of the error page, loaded with the first request for one, or after the first response: they
 * are half of the package's modules, and an application needs none of them to start.
 */
import type { RenderErrorPage } from './create-error-pages.ts';
import type { PageHandlerOptions } from './create-pages.ts';
import type { Dispatch } from '../controllers/profiler/dispatch.ts';
import type { PageParts, PagePartsOptions } from './page-parts.ts';
import { PROFILER_PREFIX, urls } from '../urls.ts';

export type LazyPagesOptions = PageHandlerOptions & PagePartsOptions;

export interface LazyPages {
  dispatch: Dispatch;
  /** Throws before it is loaded: see `whenRenderable`. */
  renderErrorPage: RenderErrorPage;
  /** Runs `work` when an error page can be rendered, or failed to load: at once, except for the first. */
  whenRenderable(work: () => void): void;
  toolbarUrl(): string;
  preload(): void;
}

export function createLazyPages(options: LazyPagesOptions): LazyPages {
  let parts: PageParts | null = null;
  let dispatch: Dispatch | null = null;
  let isPreloaded = false;

  /** Again after it failed: the package may have been installed again meanwhile. */
  async function loadParts(): Promise<PageParts> {
    if (parts !== null) return parts;
    const { createPageParts } = await import('./page-parts.ts');
    return (parts ??= createPageParts(options));
  }

  async function loadPages(): Promise<Dispatch> {
    const [{ createPageHandler }, loaded] = await Promise.all([import('./create-pages.ts'), loadParts()]);
    return (dispatch ??= createPageHandler(options, loaded));
  }

  return {
    dispatch(req, res, next) {
      if (req.url?.includes(PROFILER_PREFIX) !== true) next();
      else if (dispatch !== null) dispatch(req, res, next);
      else
        loadPages().then((loaded) => {
          loaded(req, res, next);
        }, next);
    },
    renderErrorPage(page) {
      if (parts === null) throw new Error('The error page could not be loaded.');
      return parts.renderErrorPage(page);
    },
    whenRenderable(work) {
      if (parts === null) loadParts().then(work, work);
      else work();
    },
    toolbarUrl() {
      try {
        if (parts !== null) return urls.toolbarScript(parts.assets.hash('toolbar.js'));
      } catch {
        // Its files can't be read: the request for it reports that.
      }
      return urls.toolbarScript();
    },
    preload() {
      if (!isPreloaded) loadPages().catch(() => undefined);
      isPreloaded = true;
    },
  };
}
