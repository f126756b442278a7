/**
 * Every page of the profiler as one list, over a world of one recorded request whose fields all hold a given text: what
 * must hold of each page (structure under hostile text, no overflow) is asked of this list. A new page joins by a line.
 */
import { load } from 'cheerio';
import { createError } from '../../app/errors.ts';
import { createPageParts } from '../../app/compose/page-parts.ts';
import { packageRoot } from '../../app/paths.ts';
import { createPanels } from '../../app/panels/index.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { urls } from '../../app/urls.ts';
import { placeKey } from '../../app/view-helpers/editor.ts';
import { describerOf } from './error-page.ts';
import { addForeignText } from './observed-samples.ts';
import { servePages, type PageServer } from './page-client.ts';
import { createPageFixture, type PageFixture } from './page-fixture.ts';
import { hostileRequest } from './page-samples.ts';

export interface PageWorld {
  fixture: PageFixture;
  server: PageServer;
  /** The recorded request whose fields hold `text`. */
  context: Context;
  token: string;
  text: string;
  /** The page at an address of the profiler. */
  get(path: string): Promise<string>;
  close(): Promise<void>;
}

export interface SamplePage {
  name: string;
  /** A part that another page takes in: it has no head, and no style of its own. */
  fragment?: true;
  html(world: PageWorld): string | Promise<string>;
}

export function everyPanel(text = 'x'): Panel[] {
  return createPanels({
    describe: describerOf(packageRoot()),
    configuration: {
      settings: { PORT: 3000, APP_DOMAIN: text, list: [text, { [text]: text }] },
      shown: ['PORT', 'APP_DOMAIN'],
      packages: { express: '5.1.0', [`z${text}`]: text },
      process: { node: '22.11.0', platform: text, release: null },
    },
  });
}

/** A line of the application's code that every world holds. */
const PLACE = 'src/place.ts:3';

/** Facts of every kind with `text` in each field that a client or an application can fill. */
function addEverything(context: Context, text: string): void {
  hostileRequest(text).more?.(context);
  context.add('log', { level: 'info', channel: 'c', message: text, context: null, caller: PLACE, atMs: 1 });
  addForeignText(context, text);
  const row = { method: 'GET', pattern: `/${text}`, handler: text, name: text, source: text };
  context.add('routing', {
    table: [row],
    nearest: [{ ...row, reason: 'spelling', distance: 2 }],
    considered: [
      { kind: 'route', name: text, pattern: text, methods: [text], verdict: 'path', depth: 0, source: text },
    ],
    secondTry: { path: `/${text}/`, matched: false },
    redirect: { status: 301, location: text },
    allow: [text],
  });
}

export async function openWorld(text: string): Promise<PageWorld> {
  const fixture = createPageFixture(everyPanel(text), {
    sourceAt: () => ({
      excerpt: { from: 1, lines: ['', text, `call('${text}');`] },
      changedAt: Date.now() + 1000,
    }),
  });
  const server = await servePages(fixture.pages, { renderPage: fixture.services.renderPage });
  const context = await fixture.record({
    ...hostileRequest(text),
    more: (made) => {
      addEverything(made, text);
    },
  });
  return {
    fixture,
    server,
    context,
    token: context.token,
    text,
    get: async (path) => (await fetch(`${server.address}${path}`)).text(),
    close: () => server.close(),
  };
}

function at(name: string, path: (world: PageWorld) => string): SamplePage {
  return { name, html: (world) => world.get(path(world)) };
}

function fragmentAt(name: string, path: (world: PageWorld) => string): SamplePage {
  return { ...at(name, path), fragment: true };
}

/** The answer to a visitor whose request failed by this. */
function failed(name: string, status: number, errorOf: (text: string) => unknown): SamplePage {
  return {
    name,
    html({ fixture, context, text }) {
      const parts = createPageParts({ panels: fixture.services.panels, process: text });
      const profile = fixture.recorder.snapshot(context);
      const error = errorOf(text);
      return parts.renderErrorPage({ profile, error, status, statusText: text, child: null });
    },
  };
}

/** An error whose every part an application can fill. */
function namedError(text: string): Error {
  const error = Object.assign(new Error(text), { code: text, note: text, name: text });
  const place = text.replace(/[\s:()]/g, '');
  error.stack = `Error\n    at fn${place} (/elsewhere/${place}.js:1:2)`;
  return error;
}

/** The recorded request beside another: the same work, other headers. */
async function compareTwo({ fixture, token, text, get }: PageWorld): Promise<string> {
  const other = await fixture.record({
    ...hostileRequest(`${text}2`),
    more: (made) => {
      addEverything(made, text);
    },
  });
  return get(urls.compare({ a: token, b: other.token, all: 1 }));
}

/** What is looked for and found neither in the hostile world nor in its twin. */
function nowhere(text: string): string {
  return `nowhere ${text.slice(0, 300)}`.toWellFormed();
}

/** One word of a search, of which the list says that it is no number. */
function misread(text: string): string {
  return `duration>${nowhere(text).replace(/\s/g, '')}`;
}

const PANEL_NAMES = everyPanel().map(({ name }) => name);

export const everyPage: readonly SamplePage[] = [
  ...PANEL_NAMES.map((name) => at(`panel ${name}`, ({ token }) => urls.profile(token, name))),
  at('list', () => urls.home()),
  at('list, nothing found', ({ text }) => urls.search({ q: misread(text), url: nowhere(text) })),
  fragmentAt('search bar', ({ text }) => urls.searchBar({ url: nowhere(text) })),
  fragmentAt('toolbar', ({ token }) => urls.toolbar(token)),
  fragmentAt('exception alone', ({ token }) => urls.exception(token)),
  at('unknown token', () => urls.profile('ffffff')),
  at('timeline, a part of it', ({ token }) => `${urls.profile(token, 'timeline')}&from=5&to=40&over=0`),
  at('logs, one line by itself', ({ token }) => urls.profileRow(token, 'logs', 'l1')),
  at('logs, nothing found', ({ token, text }) => `${urls.profile(token, 'logs')}&find=${encodeURIComponent(nowhere(text))}`),
  at('source of a place', ({ token }) => urls.source(token, placeKey(PLACE))),
  at('health', () => urls.health()),
  at('routes', () => urls.routes({ since: 'all' })),
  at('routes, nothing found', ({ text }) => urls.routes({ find: nowhere(text) })),
  { name: 'one route', html: async ({ get }) => get(load(await get(urls.routes()))('#rt .go').attr('href') ?? '') },
  at('compare, one chosen', ({ token }) => urls.compare({ a: token })),
  at('compare, unknown token', ({ token }) => urls.compare({ a: token, b: 'ffffff' })),
  { name: 'compare', html: compareTwo },
  failed('error page', 500, namedError),
  failed('not found', 404, (text) => createError('ROUTE_NOT_FOUND', ['GET', `/${text}`])),
]; // prettier-ignore
