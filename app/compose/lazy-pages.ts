/**
 * The profiler's pages and the renderer of the error page, loaded when one is asked for, or in the pause after the first
 * answer: they are half of the package's modules, and an application that starts needs none of them.
 */
import type { RenderErrorPage } from './create-error-pages.ts';
import type { PageHandlerOptions } from './create-pages.ts';
import type { Dispatch } from '../controllers/profiler/dispatch.ts';
import type { PageParts, PagePartsOptions } from './page-parts.ts';
import type { ServedScript } from '../middleware/toolbar/create-toolbar.ts';
import { PROFILER_PREFIX, urls } from '../urls.ts';

export type LazyPagesOptions = PageHandlerOptions & PagePartsOptions;

export interface LazyPages {
  /** Answers what lies below the profiler's prefix, hands on everything else. */
  dispatch: Dispatch;
  /** Throws before it is loaded: see `whenRenderable`. */
  renderErrorPage: RenderErrorPage;
  /** Runs `work` when an error page can be rendered, or can't be loaded: at once, except for the first. */
  whenRenderable(work: () => void): void;
  /** The toolbar's script as a page should ask for it now: by its content, once that is loaded. */
  toolbarScript(): ServedScript;
  /** Begins to load both, beside all else, where nothing has yet. */
  preload(): void;
}

export function createLazyPages(options: LazyPagesOptions): LazyPages {
  let parts: PageParts | null = null;
  let dispatch: Dispatch | null = null;
  let loadingParts: Promise<PageParts> | null = null;
  let loadingPages: Promise<Dispatch> | null = null;

  function loadParts(): Promise<PageParts> {
    loadingParts ??= import('./page-parts.ts').then(
      ({ createPageParts }) => (parts = createPageParts(options)),
    );
    return loadingParts;
  }

  async function createDispatch(): Promise<Dispatch> {
    const [{ createPageHandler }, loaded] = await Promise.all([import('./create-pages.ts'), loadParts()]);
    return (dispatch = createPageHandler(options, loaded));
  }

  function loadPages(): Promise<Dispatch> {
    loadingPages ??= createDispatch();
    return loadingPages;
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
    toolbarScript() {
      try {
        if (parts !== null)
          return { url: parts.toolbarScript.url(), integrity: parts.toolbarScript.integrity() };
      } catch {
        // Its files can't be read: whoever asks for it is told.
      }
      return { url: urls.toolbarScript(), integrity: null };
    },
    preload() {
      if (loadingPages === null) loadPages().catch(() => undefined);
    },
  };
}
