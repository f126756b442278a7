/**
 * A host whose pages load the toolbar's modules that listen to a page (calls, navigation, timing), each by itself, and what they heard:
 * for tests of these modules in a real browser.
 */
import { transform } from 'esbuild';
import express from 'express';
import type { Express } from 'express';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';
import { packageRoot } from '../../app/paths.ts';
import { until } from './waiting.ts';

/** A call as the toolbar shows it. */
export interface ShownCall {
  key: string;
  method: string | null;
  url: string;
  status: number | null;
  type: string;
  startedAt: number;
  ms: number | null;
  token: string | null;
  state: 'open' | 'done' | 'failed';
  href: string | null;
  tone: string;
  why: string | null;
  cameFrom: { url: string; status: number | null }[];
}

export interface ToolbarHost {
  app: Express;
  server: Server;
  profiler: Profiler;
  origin: string;
  /** What came below /api, in order. */
  received: { url: string; method: string; headers: IncomingHttpHeaders; body: string }[];
  close(): Promise<void>;
}

const START = `
window.STYLE = ''; window.moves = []; window.timings = []; window.told = [];
window.start = async (service = location.origin) => {
  const [{ createAsk }, { watchCalls }, { watchNavigation }, { watchTiming }] = await Promise.all(
    ['ask', 'calls', 'navigation', 'timing'].map((name) => import('/js/' + name + '.js')),
  );
  const ask = createAsk(service + '/_profiler/toolbar.js');
  window.watched = watchCalls({ ask, onChange: (calls, more) => window.told.push([calls.length, more]) });
  watchNavigation({ calls: window.watched, onNavigate: (move) => window.moves.push(move) });
  watchTiming({ send: (timing) => window.timings.push({ timing }) });
  if (document.documentElement.dataset.token) {
    const { value } = await ask.toolbar(document.documentElement.dataset.token);
    window.watched.setPage(value);
  }
};
`;

export function pageOf({
  token,
  before = '',
  body = '',
  bar = true,
}: { token: unknown } & Partial<Record<'before' | 'body', unknown>> & { bar?: boolean }): string {
  const begin = bar ? 'window.started = window.start();' : 'window.started = Promise.resolve();';
  return `<!doctype html><html lang="en" data-token="${String(token)}"><head><title>Page</title><link rel="icon" href="data:,">
<script>${START}</script><script>${String(before)}</script><script>${begin}</script></head><body>${String(body)}</body></html>`;
}

/** `more` adds routes before those that are there for all. */
export async function openToolbarHost(
  options: ProfilerOptions = {},
  more: (host: ToolbarHost) => void = () => undefined,
): Promise<ToolbarHost> {
  const profiler = createProfiler({ warn: () => undefined, toolbar: false, ...options });
  const app = express();
  app.disable('etag');
  // Loaded once for all pages of a test file, and not recorded.
  const modules = { '/js': 'public/toolbar', '/modules': 'node_modules' };
  for (const [path, folder] of Object.entries(modules))
    app.use(path, express.static(join(packageRoot(), folder), { maxAge: '1h' }));
  app.get('/app/*source', async (req, res) => {
    const source = await readFile(join(packageRoot(), req.path), 'utf8');
    res.type('js').send((await transform(source, { loader: 'ts' })).code);
  });
  app.use(profiler.watch, profiler.pages);
  const received: ToolbarHost['received'] = [];
  app.use('/api', express.text({ type: () => true }), (req, _res, next) => {
    const { 'x-request-id': _id, ...headers } = req.headers;
    const body = typeof req.body === 'string' ? req.body : '';
    received.push({ url: req.originalUrl, method: req.method, headers, body });
    next();
  });
  const server = createServer(app);
  const host: ToolbarHost = {
    app,
    server,
    profiler,
    origin: '',
    received,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await profiler.close(0);
    },
  };
  more(host);
  app.all('/api/slow', (req, res) => {
    setTimeout(() => res.json({ slow: true }), Number(req.query.ms));
  });
  app.all('/api/fail', (_req, res) => void res.status(500).json({ failed: true }));
  app.all('/api/lost', (_req, res) => void res.socket?.destroy());
  app.all('/api/old', (_req, res) => {
    res.redirect(303, '/api/new');
  });
  app.all('/api/stream', async (_req, res) => {
    for (const part of ['a', 'b', 'c']) {
      res.write(part);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    res.end();
  });
  app.all('/api/{*rest}', (req, res) => {
    res.json({ method: req.method, url: req.originalUrl, body: req.body as unknown });
  });
  app.get('/events', (req, res) => {
    res.type('text/event-stream').flushHeaders();
    res.write('retry: 100\n\ndata: 1\n\n');
    if (req.query.end !== undefined) setTimeout(() => res.end(), 50);
  });
  app.get('/page', (req, res) => {
    res.type('html').send(
      pageOf({
        token: res.getHeader('x-debug-token'),
        before: req.query.before ?? '',
        body: req.query.body ?? '',
        bar: req.query.bar !== '0',
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return host;
}

export async function openToolbarPage(
  page: Page,
  { origin }: Pick<ToolbarHost, 'origin'>,
  query: Record<string, string> = {},
): Promise<void> {
  await page.goto(`${origin}/page?${new URLSearchParams(query).toString()}`);
  await page.evaluate('window.started');
}

/** A busy machine blocks the event loop of any request, and the service says so: without that. */
function withoutMachine(call: ShownCall): ShownCall {
  if (call.why !== 'loop blocked') return call;
  const isSlow = call.ms !== null && call.ms >= 1000 && /^(?:fetch|xhr)$/.test(call.type);
  return { ...call, ...(isSlow ? { tone: 'warn', why: 'slow' } : { tone: 'plain', why: null }) };
}

/** Those whose address holds `part`. */
export async function callsOf(page: Page, part = ''): Promise<ShownCall[]> {
  const calls = await page.evaluate<ShownCall[]>('watched.calls()');
  return calls.filter(({ url }) => url.includes(part)).map(withoutMachine);
}

/** The same, as soon as they are what is wanted. */
export async function callsWhen(
  page: Page,
  part: string,
  isWanted: (calls: ShownCall[]) => boolean,
): Promise<ShownCall[]> {
  let calls: ShownCall[] = [];
  await until(async () => isWanted((calls = await callsOf(page, part))), `the calls of ${part} as wanted`);
  return calls;
}
