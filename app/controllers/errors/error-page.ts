/**
 * The page that a failed request gets while debug is on: which view it is, and what that shows.
 *
 * In: a snapshot of the failed request (already masked, so that nothing here has to be), what was thrown, and the token of
 * the page's own profile. Out: HTML. The exception panel is the page: both include one view. What no route answered gets
 * the route debugger, `/` a welcome, an unknown token or panel a page of its own, and who may not see the profiler's
 * pages one that tells nothing of the service. The first and last line repeat status
 * and message as a comment, for those who ask with curl.
 */
import { STATUS_CODES } from 'node:http';
import type { ErrorCode } from '../../errors.ts';
import type { Profile } from '../../profiler/profile.ts';
import { urls } from '../../urls.ts';
import { askedToken, readException, readRouting, type RoutingView } from './recorded.ts';
import { routeSnippet, welcomeEntry, welcomeRouter } from './snippets.ts';

export interface ErrorPageInput {
  /** Snapshot of the failed request. */
  profile: Profile;
  /** What was thrown; used for what travels with the profiler's own errors only. */
  error?: unknown;
  /** Token of the profile of this page's rendering. */
  child: string | null;
  /** Code of an error of the catalogue. */
  code: ErrorCode | null;
  /** Status of the answer. */
  status: number;
}

export interface ErrorPageOptions {
  renderPage: (view: string, model: object) => string;
  /** Names and titles, in the order of the menu. */
  panels: readonly { name: string; title: string }[];
  /** Lines of the foot. */
  foot: readonly string[];
  /** Model of the page for an unknown token, where the error carries one. */
  unknownTokenModel: (error: unknown) => object | null;
}

export type RenderError = (input: ErrorPageInput) => string;

/** What the head of every error page shows. */
export interface ErrorFrame {
  title: string;
  status: number;
  phrase: string;
  method: string;
  /** Origin and target. */
  address: string;
  token: string;
  /** Panel that the profile opens with. */
  panel: string;
  facts: { label: string; value: string; link?: string }[];
  foot: readonly string[];
}

const LONGEST_TITLE = 400;
/** Bytes: a little less than the 60 KB that no page exceeds. */
const LONGEST_PAGE = 58_000;
const LONGEST_ADDRESS = 600;

function cut(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

/** Text inside a comment: it can't end it, stays on one line, and turns no direction of writing. */
function commentText(text: string): string {
  const markup: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  return text
    .toWellFormed()
    .replace(/[&<>]/g, (character) => markup[character] ?? '')
    .replace(/-(?=-)|-$/g, '- ')
    .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ');
}

function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

function factsOf({ profile, child }: ErrorPageInput): ErrorFrame['facts'] {
  const facts: ErrorFrame['facts'] = [];
  if (profile.route !== null) facts.push({ label: 'Route', value: cut(profile.route, 200) });
  const queries = profile.panels.database?.summary;
  if (queries) facts.push({ label: 'Queries', value: queries.text });
  facts.push({ label: 'At', value: `${new Date(profile.startedAt).toISOString().slice(11, 23)} UTC` });
  facts.push({ label: 'Token', value: profile.token, link: urls.profile(profile.token) });
  if (child !== null) facts.push({ label: 'Error page', value: child, link: urls.profile(child) });
  return facts;
}

function askedRows({ profile }: ErrorPageInput): { name: string; value: string; say?: string }[] {
  const { url, method, origin, clientAddress } = profile;
  const path = pathOf(url);
  const rows = [
    { name: 'Path as sent', value: path },
    ...(path === url ? [] : [{ name: 'Query', value: url.slice(path.length) }]),
    { name: 'Method', value: method },
  ];
  if (origin !== null) rows.push({ name: 'Origin', value: origin });
  return clientAddress === '' ? rows : [...rows, { name: 'Client', value: clientAddress }];
}

export function createErrorPage({
  renderPage,
  panels,
  foot,
  unknownTokenModel,
}: ErrorPageOptions): RenderError {
  function frameOf(input: ErrorPageInput, message: string, panel: string): ErrorFrame {
    const { profile, status } = input;
    const phrase = STATUS_CODES[status] ?? 'Error';
    const target = profile.url.startsWith('/') ? `${profile.origin ?? ''}${profile.url}` : profile.url;
    return {
      title: `${cut(message, LONGEST_TITLE)} (${status} ${phrase})`,
      status,
      phrase,
      method: profile.method,
      address: cut(target, LONGEST_ADDRESS),
      token: profile.token,
      panel,
      facts: factsOf(input),
      foot,
    };
  }

  function routePage(input: ErrorPageInput, message: string, routing: RoutingView): string {
    const { profile, code } = input;
    const page = frameOf(input, message, 'routing');
    const path = pathOf(profile.url);
    const isHome = path === '/' && (profile.method === 'GET' || profile.method === 'HEAD');
    if (isHome && code === 'ROUTE_NOT_FOUND')
      return renderPage('errors/welcome', {
        page,
        message,
        routing,
        router: welcomeRouter,
        entry: welcomeEntry,
      });
    const chain = readException(profile, input.status).errors[0]?.thrown.chain ?? [];
    const link = chain[0] ?? { class: 'Error', message };
    const snippet = routeSnippet(profile.method, path);
    return renderPage('errors/not-found', {
      page,
      message,
      routing,
      chain,
      link,
      snippet,
      asked: askedRows(input),
    });
  }

  function render(input: ErrorPageInput, message: string): string {
    const { profile, code, error } = input;
    if (code === 'UNKNOWN_TOKEN') {
      const model = unknownTokenModel(error);
      if (model !== null) return renderPage('errors/unknown-token', model);
    }
    const asked = code === 'UNKNOWN_PANEL' ? askedToken(profile.url) : null;
    if (asked !== null) {
      const page = frameOf(input, message, 'request');
      return renderPage('errors/unknown-panel', { page, message, panels, asked });
    }
    if (code === 'UNAUTHORIZED' || code === 'FORBIDDEN') {
      const page = { ...frameOf(input, message, 'exception'), foot: [] };
      return renderPage('errors/guarded', { page, message });
    }
    if (code === 'ROUTE_NOT_FOUND' || code === 'METHOD_NOT_ALLOWED')
      return routePage(input, message, readRouting(profile));
    const model = {
      page: frameOf(input, message, 'exception'),
      data: readException(profile, input.status),
      profile,
    };
    const html = renderPage('errors/error', { ...model, lean: false });
    // Rare: many errors in one request, each with a long stack. What is left out is counted, the profile has it.
    return Buffer.byteLength(html) > LONGEST_PAGE
      ? renderPage('errors/error', { ...model, lean: true })
      : html;
  }

  return (input) => {
    const data = readException(input.profile, input.status);
    const message = data.errors[0]?.thrown.chain[0]?.message ?? input.profile.error?.message ?? '';
    const line = `<!-- ${commentText(`${cut(message, LONGEST_TITLE)} (${input.status} ${STATUS_CODES[input.status] ?? 'Error'})`)} -->`;
    return `${line}\n${render(input, message).trim()}\n${line}\n`;
  };
}
