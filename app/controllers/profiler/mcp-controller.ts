/**
 * `POST /_profiler/mcp`: coding agents ask here, by the Model Context Protocol's Streamable HTTP transport (revisions 2025-03-26 to
 * 2026-07-28), one message and one response at a time. It changes nothing that is stored, so it needs no signed form; what a replay may
 * do is a setting. The profiler's guard applies as to its pages, and pages of other origins are refused, as the transport's section on security requires.
 */
import { createError, isHindsightError } from '../../errors.ts';
import { urls } from '../../urls.ts';
import { createMcp, type McpHandler, NO_ORIGIN, SERVER_HEADER } from './create-mcp.ts';
import { readText } from './form-body.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { serverUrl } from './replay-request.ts';
import { createRespond } from './respond.ts';

/** JSON-RPC: of the server, no other is meant for it. */
const REFUSED = -32000;
/** Longest message. */
const LARGEST = 256 * 1024;

function isFromElsewhere({ req: { headers }, origin }: PageRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return headers.origin !== undefined && headers.origin !== origin();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw createError('BAD_REQUEST', ['The body is not JSON.'], { cause: error });
  }
}

/** As the SDK expects it; its address gives the tools the origin of links. */
function webRequest({ req, res, origin }: PageRequest, isStored: boolean): Request {
  const gone = new AbortController();
  res.once('close', () => {
    gone.abort();
  });
  const headers = new Headers();
  for (const name of ['accept', 'content-type'] as const) {
    const value = req.headers[name];
    if (value !== undefined) headers.set(name, value);
  }
  for (const [name, value] of Object.entries(req.headers))
    if (name.startsWith('mcp-') && typeof value === 'string') headers.set(name, value);
  const server = isStored ? null : serverUrl(req);
  if (server !== null) headers.set(SERVER_HEADER, server);
  return new Request(`${origin() ?? NO_ORIGIN}${urls.mcp()}`, {
    method: 'POST',
    headers,
    signal: gone.signal,
    body: '{}',
  });
}

export function createMcpController(services: PageServices): { mcp: PageAction } {
  const respond = createRespond(services);
  let handle: McpHandler | null = null;

  return {
    async mcp(page) {
      try {
        await answer(page);
      } catch (error) {
        if (!isHindsightError(error)) throw error;
        // A client puts all of a page into its log.
        const body = JSON.stringify({
          jsonrpc: '2.0',
          id: null,
          error: { code: REFUSED, message: error.message },
        });
        respond(page, { status: error.status, type: 'application/json; charset=utf-8', body });
      }
    },
  };

  async function answer(page: PageRequest): Promise<void> {
    if (isFromElsewhere(page)) throw createError('CROSS_SITE', []);
    const parsedBody = parse(await readText(page.req, LARGEST));
    if (Array.isArray(parsedBody))
      throw createError('BAD_REQUEST', ['Send one message at a time: a batch would block the application.']);
    handle ??= createMcp(services);
    const response = await handle(webRequest(page, services.isStored === true), { parsedBody });
    respond(page, {
      status: response.status,
      type: response.headers.get('content-type') ?? 'text/plain; charset=utf-8',
      body: await response.text(),
    });
  }
}
