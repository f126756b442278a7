/**
 * `(req, res, next)` over a table of routes: plain Node types, so that it can be mounted into any Express application
 * (or used without one). What is not below the profiler's prefix goes on; what is, is answered here or is an error.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HindsightError } from '../../errors.ts';
import { isProfilerTarget, TOOLBAR_HEADER } from '../../urls.ts';
import { answerPreflight, grantFrontEnd, isPreflight } from './front-ends.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { createRespond, JSON_TYPE, redirect } from './respond.ts';
import { createMethodNotAllowed, createPageNotFound, pathOf } from './route-errors.ts';

export interface PageRoute {
  name: string;
  method: 'GET' | 'POST';
  /** Of the whole path as sent; named groups become the parameters. */
  path: RegExp;
  action: PageAction;
  /** Answered to everybody: it holds nothing of a request. */
  open?: true;
  /** Answered to pages of front ends of other origins too. */
  shared?: true;
}

export interface DispatchOptions extends Pick<PageServices, 'ownHeaders' | 'redactText'> {
  routes: readonly PageRoute[];
  /** `scheme://host[:port]` as the client sees it; null where the host is invalid: addresses are relative then. */
  originOf: (req: IncomingMessage) => string | null;
  /** Address of who asks; default: not known. */
  clientOf?: (req: IncomingMessage) => string;
  /** Origins of separate front ends; default: there are none. */
  frontEnds?: ReadonlySet<string>;
  /** Rejects where the caller may not see the pages. */
  guard?: (req: IncomingMessage) => Promise<void>;
}

export type Next = (error?: unknown) => void;
export type Dispatch = (req: IncomingMessage, res: ServerResponse, next: Next) => void;

/** GET answers HEAD too. */
function methodOf(req: IncomingMessage): string {
  return req.method === 'HEAD' ? 'GET' : (req.method ?? '');
}

export function createDispatch(options: DispatchOptions): Dispatch {
  const { routes, originOf, clientOf = () => '', guard, redactText } = options;
  const { frontEnds = new Set<string>() } = options;
  const respond = createRespond(options);

  function matching(path: string): PageRoute[] {
    return routes.filter((route) => route.path.test(path));
  }

  /** The toolbar shows what it is told in one sentence; a page of an error would be rendered for nobody. Failures of ours go on as such. */
  function refuseBar(req: IncomingMessage, res: ServerResponse, error: unknown): boolean {
    const isRefusal = error instanceof HindsightError && error.status < 500;
    if (!isRefusal || req.headers[TOOLBAR_HEADER] === undefined) return false;
    const { code, status, message, headers } = error;
    const body = JSON.stringify({ error: { code, status, message: redactText(message) } });
    respond({ req, res }, { status, type: JSON_TYPE, body, headers });
    return true;
  }

  /** The same path with its last slash added or taken away, where that has a route. */
  function otherSpelling(path: string): string | null {
    const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`;
    return matching(other).some(({ method }) => method === 'GET') ? other : null;
  }

  function miss(req: IncomingMessage, res: ServerResponse, { path, query }: ReturnType<typeof pathOf>): void {
    const other = methodOf(req) === 'GET' ? otherSpelling(path) : null;
    if (other === null) throw createPageNotFound(req, redactText);
    redirect(respond, { req, res }, `${originOf(req) ?? ''}${other}${query}`, 301);
  }

  /** Values masked as what is stored was: a secret typed here is shown on no page, and still finds its own. */
  function queryOf(text: string): URLSearchParams {
    const pairs = Array.from(new URLSearchParams(text), ([name, value]) => [name, redactText(value)]);
    return new URLSearchParams(pairs as [string, string][]);
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const target = pathOf(req.url ?? '');
    const routed = matching(target.path);
    const isShared = routed.some(({ shared }) => shared === true);
    const granted = isShared && grantFrontEnd(frontEnds, req, res);
    if (granted && isPreflight(req)) {
      answerPreflight(res, routed.map(({ method }) => method).join(', '));
      return;
    }
    try {
      await serve(req, res, { target, routed });
    } catch (error) {
      if (!isShared || res.headersSent || !refuseBar(req, res, error)) throw error;
    }
  }

  async function serve(
    req: IncomingMessage,
    res: ServerResponse,
    { target, routed }: { target: ReturnType<typeof pathOf>; routed: readonly PageRoute[] },
  ): Promise<void> {
    if (!routed.some(({ open }) => open === true)) await guard?.(req);
    if (routed.length === 0) {
      miss(req, res, target);
      return;
    }
    const route = routed.find(({ method }) => method === methodOf(req));
    if (route === undefined) throw createMethodNotAllowed(req, routed.map(({ method }) => method).join(', '));
    const params = { ...route.path.exec(target.path)?.groups };
    const query = queryOf(target.query);
    await route.action({ req, res, params, query, origin: () => originOf(req), client: () => clientOf(req) });
  }

  return (req, res, next) => {
    if (!isProfilerTarget(req.url ?? '')) {
      next();
      return;
    }
    answer(req, res).catch((error: unknown) => {
      next(error);
    });
  };
}
