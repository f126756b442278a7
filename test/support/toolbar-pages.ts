/**
 * A host with the toolbar's tag in its pages, and what the service would answer to the bar: for tests of the bar alone, and for
 * looking at it. Pages are given by their path; everything below /_profiler is made here.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAssets } from '../../app/controllers/profiler/assets.ts';
import { urls } from '../../app/urls.ts';

export const TOKEN = '3fa9c1';
/** The tag as the service puts it in. */
export const TAG = `<script async src="${urls.toolbarScript()}" data-token="${TOKEN}" data-hindsight></script>`;

export interface HostPage {
  body: string;
  /** Sent behind it, when it is there. */
  rest?: Promise<string>;
  type?: string;
  headers?: Record<string, string>;
}

export interface ToolbarHost {
  origin: string;
  pages: Record<string, HostPage>;
  /** Answers by token; a number is a status without a body. The first of several is answered first, the last for good. */
  entries: Record<string, (object | number)[]>;
  /** Requests below /_profiler, in order. */
  asked: { method: string; path: string; headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
}

const row = (text: string, note: string, tone = 'plain', href?: string): object => ({
  text,
  note,
  tone,
  href,
});

/** What toolbar.json says of a request of the shop; `given` replaces fields. */
export function entryOf(given: object = {}): object {
  const href = (panel?: string): string => urls.profile(TOKEN, panel);
  return {
    token: TOKEN,
    method: 'GET',
    url: '/orders/4712?tab=items',
    status: 200,
    statusText: 'OK',
    route: '/orders/:id',
    handler: 'src/orders/routes.ts:14',
    state: 'final',
    startedAt: Date.UTC(2026, 10, 20, 12, 30, 15),
    durationMs: 314.2,
    href: href(),
    parts: [
      { kind: 'app', label: 'your code', ms: 61.4 },
      { kind: 'db', label: 'database', ms: 182.6 },
      { kind: 'out', label: 'outgoing calls', ms: 40.1 },
      { kind: 'view', label: 'views', ms: 18.9 },
      { kind: 'wait', label: 'waiting', ms: 11.2 },
    ],
    findings: [
      {
        severity: 'bad',
        label: 'N+1',
        text: '18 times the same statement, once for each item, in src/orders/items.ts:41.',
        href: `${href('database')}#n1`,
      },
      {
        severity: 'warn',
        label: 'slow call',
        text: 'GET stock.internal/levels took 40 ms, 32 of them to connect.',
        href: href('http_client'),
      },
    ],
    moreFindings: 1,
    items: [
      {
        panel: 'database',
        rank: 20,
        label: 'queries',
        title: 'Database',
        text: 'N+1 · 23',
        tone: 'bad',
        href: href('database'),
        preview: {
          facts: [
            ['Statements', '23, 5 different'],
            ['In all', '182.6 ms'],
            ['Pool', 'waited 11.2 ms'],
          ],
          rows: [
            row('select * from items where order_id = ? limit ?', '18 × 142.1 ms', 'bad', href('database')),
            row('select * from orders where id = ?', '12.4 ms', 'plain', href('database')),
            row('select * from customers where id = ?', '8.1 ms', 'plain', href('database')),
          ],
          more: 2,
        },
      },
      {
        panel: 'logs',
        rank: 30,
        label: 'logs',
        title: 'Logs',
        text: '2 warn · 6',
        tone: 'warn',
        href: href('logs'),
        preview: {
          facts: [],
          rows: [
            row('stock level of 18 is older than 10 min', 'warn', 'warn', href('logs')),
            row('stock level of 4 is older than 10 min', 'warn', 'warn', href('logs')),
            row('أميرة حداد، القاهرة: order shown', 'info', 'plain', href('logs')),
          ],
          more: 3,
        },
      },
      {
        panel: 'http_client',
        rank: 40,
        label: 'outgoing',
        title: 'HTTP client',
        text: '1 · 40.1 ms',
        tone: 'plain',
        href: href('http_client'),
        preview: { facts: [], rows: [row('200 GET stock.internal/levels', '40.1 ms')], more: 0 },
      },
      {
        panel: 'dump',
        rank: 50,
        label: 'dump',
        title: 'Dump',
        text: '1',
        tone: 'plain',
        href: href('dump'),
        preview: { facts: [], rows: [row('{ id: 4712, items: Array(18) }', 'orders.ts:20')], more: 0 },
      },
      {
        panel: 'migrations',
        rank: 50,
        label: 'migrations',
        title: 'Migrations',
        text: '2 pending',
        tone: 'warn',
        href: href('migrations'),
        preview: { facts: [['Executed', '12']], rows: [row('20261119_add_stock', 'pending', 'warn')], more: 1 },
      },
      {
        panel: 'views',
        rank: 80,
        label: 'views',
        title: 'Views',
        text: '4',
        tone: 'plain',
        href: href('views'),
        preview: { facts: [['In all', '18.9 ms']], rows: [row('orders/show.ejs', '14.2 ms')], more: 0 },
      },
      {
        panel: 'runtime',
        rank: 81,
        label: 'memory',
        title: 'Runtime',
        text: '64.2 MiB',
        tone: 'plain',
        href: href('runtime'),
        preview: { facts: [['Own CPU', '58.1 ms'], ['Heap used', '64.2 MiB']], rows: [], more: 0 },
      },
    ],
    cameFrom: [
      {
        token: '0a1b2c',
        method: 'POST',
        url: '/orders',
        status: 302,
        durationMs: 88.1,
        href: urls.profile('0a1b2c'),
        findings: [],
      },
    ],
    calls: [],
    ...given,
  }; // prettier-ignore
}

/** A page of a shop; `head` and `body` go into it, the tag behind its `<head>`. */
export function shopPage(parts: { head?: string; body?: string; html?: string; tag?: string } = {}): string {
  const { head = '', body = '', html = 'lang="en"', tag = TAG } = parts;
  return `<!doctype html><html ${html}><head>${tag}<meta charset="utf-8"><title>Order 4712</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{font:18px/1.5 Georgia,serif;color:#2b2320;background:#fffdf8;margin:0 auto;max-width:46rem;padding:1rem}
td,th{padding:.5rem 1rem .5rem 0;text-align:start;border-bottom:1px solid #ddd}</style>${head}</head>
<body><main><h1>Order 4712</h1><p>Placed on 18 November 2026. Ships to Cairo.</p>
<table><caption>3 of 18 items</caption><tr><th scope="col">Item</th><th scope="col">Price</th></tr>
<tr><td>Enamel kettle, cream</td><td>64.00 EUR</td></tr><tr><td>Pour-over set</td><td>38.50 EUR</td></tr></table>
<p><a href="/">Back to the shop</a></p>${body}</main></body></html>`;
}

export async function serveToolbar(): Promise<ToolbarHost> {
  const script = createAssets().plain('toolbar.js');
  const host: ToolbarHost = {
    origin: '',
    pages: { '/': { body: shopPage() } },
    entries: { [TOKEN]: [entryOf()] },
    asked: [],
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
  const server = createServer((req, res) => {
    const { pathname } = new URL(req.url ?? '/', 'http://host');
    const send = (status: number, type: string, body: string | Buffer, headers = {}): void => {
      res.writeHead(status, { 'content-type': type, ...headers }).end(body);
    };
    const page = host.pages[pathname];
    if (page !== undefined) {
      res.writeHead(200, { 'content-type': page.type ?? 'text/html; charset=utf-8', ...page.headers });
      res.write(page.body);
      void (page.rest ?? Promise.resolve('')).then((rest) => res.end(rest));
      return;
    }
    if (pathname.startsWith('/_profiler'))
      host.asked.push({ method: req.method ?? '', path: req.url ?? '', headers: req.headers });
    const [, token = ''] = /^\/_profiler\/([0-9a-f]{6})\/toolbar\.json$/.exec(pathname) ?? [];
    const answers = host.entries[token];
    if (pathname === urls.toolbarScript()) send(200, script.type, script.body);
    else if (pathname === '/favicon.ico' || pathname === urls.action('report')) send(204, 'text/plain', '');
    else if (pathname.endsWith('/calls.json')) send(200, 'application/json', '{"calls":[],"moreCalls":0}');
    else if (token === '' || answers === undefined) send(404, 'text/plain', 'Not found');
    else {
      const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? 404;
      if (typeof answer === 'number')
        send(answer, 'text/plain', '', answer === 302 ? { location: '/login' } : {});
      else send(200, 'application/json', JSON.stringify(answer));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return host;
}
