/**
 * `(req, res, next)` over a table of routes, in plain Node types, so that it can be mounted with or without Express. It calls
 * next() for paths outside the profiler's prefix; every path below it gets a response or an error.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isHindsightError } from '../../errors.ts';
import { isProfilerTarget, isToolbarRequest, TOOLBAR_HEADER, urls } from '../../urls.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { addVary, createRespond, JSON_TYPE, redirect } from './respond.ts';
import { createMethodNotAllowed, createPageNotFound, splitTarget } from './routes/route-errors.ts';
import { MASKED } from '../../profiler/masking/redact.ts';

/**
 * CORS (Fetch, 3.2) for the few addresses that the toolbar needs, granted to the configured front ends only. It allows credentials, because the
 * service may have a password, and a configured origin is trusted like the service's own pages.
 */
const EXPOSED = 'x-debug-token, x-debug-token-link';
const PREFLIGHT_FOR = '600';
/** JSON-RPC: a code of the server's own; no other one is meant for a refusal. */
const OF_THE_SERVER = -32000;

function grantFrontEnd(
  frontEnds: ReadonlySet<string>,
  { headers }: IncomingMessage,
  res: ServerResponse,
): boolean {
  if (frontEnds.size === 0) return false;
  addVary(res, 'origin');
  const { origin } = headers;
  if (origin === undefined || !frontEnds.has(origin)) return false;
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-allow-credentials', 'true');
  res.setHeader('access-control-expose-headers', EXPOSED);
  return true;
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function answerPreflight(res: ServerResponse, methods: string): void {
  res.statusCode = 204;
  res.setHeader('access-control-allow-methods', methods);
  res.setHeader('access-control-allow-headers', `${TOOLBAR_HEADER}, content-type`);
  res.setHeader('access-control-max-age', PREFLIGHT_FOR);
  res.end();
}

export interface PageRoute {
  name: string;
  method: 'GET' | 'POST';
  path: RegExp;
  action: PageAction;
  open?: true;
  shared?: true;
}

/** A typed secret up to where the mark of a recorded one has its number, so that a search for it finds the recorded one. */
function beforeNumber(text: string): string {
  const at = text.indexOf(MASKED);
  return at === -1 ? text : text.slice(0, at + MASKED.length - 1);
}

export interface DispatchOptions extends Pick<PageServices, 'securityHeaders' | 'redactText'> {
  routes: readonly PageRoute[];
  originOf: (req: IncomingMessage) => string | null;
  clientOf?: (req: IncomingMessage) => string;
  frontEnds?: ReadonlySet<string>;
  guard?: (req: IncomingMessage) => Promise<void>;
}

export type Next = (error?: unknown) => void;
export type Dispatch = (req: IncomingMessage, res: ServerResponse, next: Next) => void;

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

  /** A refusal as JSON instead of an error page: the toolbar shows one sentence, and a client of MCP puts all of a page into its log. */
  function refuseAsJson(
    { req, res, error }: { req: IncomingMessage; res: ServerResponse; error: unknown },
    isForMcp: boolean,
  ): boolean {
    if (!isHindsightError(error) || error.status >= 500 || res.headersSent) return false;
    const { code, status, headers } = error;
    const message = redactText(error.message);
    const refusal = isForMcp
      ? { jsonrpc: '2.0', id: null, error: { code: OF_THE_SERVER, message } }
      : { error: { code, status, message } };
    respond({ req, res }, { status, type: JSON_TYPE, body: JSON.stringify(refusal), headers });
    return true;
  }

  function otherSpelling(path: string): string | null {
    const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`;
    return matching(other).some(({ method }) => method === 'GET') ? other : null;
  }

  function handleMiss(
    req: IncomingMessage,
    res: ServerResponse,
    { path, query }: ReturnType<typeof splitTarget>,
  ): void {
    const other = methodOf(req) === 'GET' ? otherSpelling(path) : null;
    if (other === null) throw createPageNotFound(req, redactText);
    redirect(respond, { req, res }, `${originOf(req) ?? ''}${other}${query}`, 301);
  }

  /** Values are masked as stored values are: a secret typed here is never shown, yet a search still finds it. */
  function queryOf(text: string): URLSearchParams {
    const pairs = Array.from(new URLSearchParams(text), ([name, value]) => [
      name,
      beforeNumber(redactText(value)),
    ]);
    return new URLSearchParams(pairs as [string, string][]);
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const target = splitTarget(req.url ?? '');
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
      const isForMcp = target.path === urls.mcp();
      const isForToolbar = (isShared || req.url === urls.action('report')) && isToolbarRequest(req);
      if (!(isForMcp || isForToolbar) || !refuseAsJson({ req, res, error }, isForMcp)) throw error;
    }
  }

  async function serve(
    req: IncomingMessage,
    res: ServerResponse,
    { target, routed }: { target: ReturnType<typeof splitTarget>; routed: readonly PageRoute[] },
  ): Promise<void> {
    if (!routed.some(({ open }) => open === true)) await guard?.(req);
    if (routed.length === 0) {
      handleMiss(req, res, target);
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
