/**
 * A snapshot of the failed request, already masked -> its error page. An exception shows the exception panel, a 404 the route
 * debugger. The first and last line repeat status and message as a comment, for readers of curl's output.
 */
import type { ErrorCode } from '../../errors.ts';
import type { RoutingData } from '../../panels/routing/data.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { presentNamed } from '../../render/present-panel.ts';
import { type RowsPage, rowsPage } from '../../render/rows-page.ts';
import { isProfilerTarget, urls } from '../../urls.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { SafeHtml } from '../../view-helpers/safe-html.ts';
import { readException, readRouting, requestedToken } from './recorded.ts';
import { hasNoRouter, suggestRoute, welcomeEntry, welcomeRouter } from './snippets.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { STATUS_CODES } from '../../node-http.ts';

export interface ErrorPageInput {
  profile: Profile;
  error?: unknown;
  child: string | null;
  code: ErrorCode | null;
  status: number;
}

interface ErrorPageOptions {
  renderPage: (view: string, model: object) => string;
  panels: readonly Panel[];
  foot: readonly string[];
  unknownTokenModel: (error: unknown) => object | null;
}

const LONGEST_TITLE = 400;
const LONGEST_ADDRESS = 600;
const MOST_ROWS = 100;

function truncate(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function commentText(text: string): string {
  const markup: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  return text
    .toWellFormed()
    .replace(/[&<>]/g, (character) => markup[character] ?? '')
    .replace(/-(?=-)|-$/g, '- ')
    .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ');
}

function factsOf({ profile, child }: ErrorPageInput) {
  const facts: { label: string; value: string | SafeHtml; link?: string }[] = [];
  if (profile.route !== null) facts.push({ label: 'Route', value: truncate(profile.route, 200) });
  const queries = profile.panels.database?.summary;
  if (queries) facts.push({ label: 'Queries', value: queries.text });
  facts.push({ label: 'At', value: numberHelpers.timestamp(profile.startedAt) });
  facts.push({ label: 'Token', value: profile.token, link: urls.profile(profile.token) });
  if (child !== null) facts.push({ label: 'Error page', value: child, link: urls.profile(child) });
  return facts;
}

function requestRows({ profile }: ErrorPageInput): { label: string; value: string }[] {
  const { url, method, origin, clientAddress } = profile;
  const path = pathOf(url);
  const rows = [
    { label: 'Path', value: path },
    ...(path === url ? [] : [{ label: 'Query', value: url.slice(path.length) }]),
    { label: 'Method', value: method },
  ];
  if (origin !== null) rows.push({ label: 'Origin', value: origin });
  return clientAddress === '' ? rows : [...rows, { label: 'Client', value: clientAddress }];
}

export function createErrorPage({
  renderPage,
  panels,
  foot,
  unknownTokenModel,
}: ErrorPageOptions): (input: ErrorPageInput) => string {
  function frameOf(input: ErrorPageInput, message: string, panel: string) {
    const { profile, status } = input;
    const phrase = STATUS_CODES[status] ?? 'Error';
    const target = profile.url.startsWith('/') ? `${profile.origin ?? ''}${profile.url}` : profile.url;
    return {
      title: `${truncate(message, LONGEST_TITLE)} (${status} ${phrase})`,
      status,
      phrase,
      method: profile.method,
      address: truncate(target, LONGEST_ADDRESS),
      token: profile.token,
      panel,
      facts: factsOf(input),
      foot,
    };
  }

  function rowsOf(name: string, profile: Profile): RowsPage {
    const presented = presentNamed(panels, name, { profile, amendments: {} });
    const sections = presented.sections.map((section) => ({
      ...section,
      rows: section.rows.slice(0, MOST_ROWS),
      left: (section.left ?? 0) + Math.max(0, section.rows.length - MOST_ROWS),
    }));
    const page = rowsPage({ sections }, { page: {}, query: {} });
    const plain = page.sections.map((section) => ({ ...section, isLong: false, isOrdered: false }));
    return { ...page, sections: plain };
  }

  function routePage(input: ErrorPageInput, message: string, routing: RoutingData): string {
    const { profile, code } = input;
    const page = frameOf(input, message, 'routing');
    const path = pathOf(profile.url);
    const isHome = path === '/' && (profile.method === 'GET' || profile.method === 'HEAD');
    const rows = rowsOf('routing', profile);
    if (isHome && code === 'ROUTE_NOT_FOUND' && hasNoRouter(routing))
      return renderPage('errors/welcome', {
        page,
        message,
        routing,
        rows,
        router: welcomeRouter,
        entry: welcomeEntry,
      });
    const link = readException(profile, input.status).errors[0]?.thrown.chain[0] ?? {
      class: 'Error',
      message,
    };
    return renderPage('errors/not-found', {
      page,
      message,
      routing,
      rows,
      link,
      // With a near one the address is more likely misspelled than missing.
      suggested:
        isProfilerTarget(path) || (routing.nearest.length > 0 && routing.allow.length === 0)
          ? null
          : suggestRoute(profile.method, path, routing),
      requested: requestRows(input),
    });
  }

  function render(input: ErrorPageInput, message: string): string {
    const { profile, code, error } = input;
    if (code === 'UNKNOWN_TOKEN') {
      const model = unknownTokenModel(error);
      if (model !== null) return renderPage('errors/unknown-token', model);
    }
    const token = code === 'UNKNOWN_PANEL' ? requestedToken(profile.url) : null;
    if (token !== null) {
      const page = frameOf(input, message, 'request');
      return renderPage('errors/unknown-panel', { page, message, panels, token });
    }
    if (code === 'UNAUTHORIZED' || code === 'FORBIDDEN') {
      const page = { ...frameOf(input, message, 'exception'), foot: [] };
      return renderPage('errors/guarded', { page, message });
    }
    if (code === 'ROUTE_NOT_FOUND' || code === 'METHOD_NOT_ALLOWED')
      return routePage(input, message, readRouting(profile));
    const data = readException(profile, input.status);
    const exception = { data, summary: null, error: null };
    const received = dataOf(profile, 'request');
    const model = {
      page: frameOf(input, message, 'exception'),
      data,
      rows: rowsOf('exception', { ...profile, panels: { ...profile.panels, exception } }),
      profile,
      requested: requestRows(input),
      received: received && {
        headers: received.headers.map(({ name, value }) => ({ label: name, value })),
        body: received.body?.text ?? null,
      },
    };
    return renderPage('errors/error', model);
  }

  return (input) => {
    const data = readException(input.profile, input.status);
    const message = data.errors[0]?.thrown.chain[0]?.message ?? input.profile.error?.message ?? '';
    const line = `<!-- ${commentText(`${truncate(message, LONGEST_TITLE)} (${input.status} ${STATUS_CODES[input.status] ?? 'Error'})`)} -->`;
    return `${line}\n${render(input, message)}\n${line}\n`;
  };
}
