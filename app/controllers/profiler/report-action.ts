/**
 * `POST /_profiler/-/report` stores what the browser measured of a page, and what failed in it, beside its profile. Pages of the application
 * send it, so it needs no signed form: the same origin (or a configured front end) and the token suffice to add a little.
 */
import { createError } from '../../errors.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import {
  type BrowserCall,
  type BrowserFact,
  browserFactsIn,
  type BrowserFrame,
  codeBefore,
  MOST_BROWSER_FACTS,
} from '../../profiler/read/browser-report.ts';
import { mediaTypeOf } from '../../profiler/http-text.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import { namedHeader } from '../../profiler/record/raw-headers.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { type PageReport, readReport, type ReportedCall, type ReportedItem } from './browser-report.ts';
import { readText } from './form-body.ts';
import { isSameOrigin } from './signed-action.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { createRespond } from './respond.ts';

const LARGEST = 8 * 1024;
const NO_CONTENT = 204;
const MOST_ROWS = 200;
const LOOK_BACK_MS = 120_000;
/** A call is recorded at most this long before or after the browser says that it failed: clocks differ, and it may have waited. */
const CALL_WITHIN_MS = 60_000;
const MOST_CACHED = 50;
const MOST_FRAMES = 10;
const MOST_CODE = 3;
const BEFORE_URL = /^(?:at )?(?:async )?(?:(.*)[ @]\(?)?$/;
const URL_WITH_PLACE = /^([^\s)]+):(\d+):(\d+)\)?$/;

type EtagOf = (token: string) => Promise<string | null>;

/** The client's latest requests. */
interface Around {
  rows: readonly ProfileIndex[];
  etagOf: EtagOf;
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

/** `at load (http://…/a.js:3:4)`, `at http://…/a.js:3:4`, `load@http://…/a.js:3:4`. One expression for all of it would take cubic time. */
function readFrame(line: string) {
  const text = line.trimStart();
  for (const { index } of text.matchAll(/https?:\/\//g)) {
    const before = BEFORE_URL.exec(text.slice(0, index));
    const place = URL_WITH_PLACE.exec(text.slice(index));
    if (before === null || place === null) continue;
    const [, url = '', row, column] = place;
    return { name: before[1] ?? '', url, line: Number(row), column: Number(column) };
  }
  return null;
}

function isCallOf(row: ProfileIndex, { url, method }: ReportedCall, at: number): boolean {
  const to = new URL(url);
  // A preflight has no token that a page could read.
  const isMethod = method === undefined || row.method === method || row.method === 'OPTIONS';
  return (
    row.origin === to.origin &&
    isMethod &&
    pathOf(row.url) === to.pathname &&
    Math.abs(row.startedAt - at) < CALL_WITHIN_MS
  );
}

export function createReportAction(services: PageServices): { report: PageAction } {
  const { profiles, frontEnds, locateFrontEnd } = services;
  const respond = createRespond(services);

  async function rowsOf(page: PageRequest, now: number): Promise<readonly ProfileIndex[]> {
    const query = { clientAddress: page.client(), from: now - LOOK_BACK_MS, limit: MOST_ROWS };
    return (await profiles.find({ ...query, counted: false })).rows;
  }

  async function readEtag(token: string): Promise<string | null> {
    const found = await profiles.read(token);
    return namedHeader(
      found === null ? [] : (dataOf(found.profile, 'request')?.response?.headers ?? []),
      'etag',
    );
  }

  /** Of one report, whose frames and calls may all name the same few profiles: each is read once. */
  function createEtags(): EtagOf {
    const known = new Map<string, Promise<string | null>>();
    return (token) => {
      const etag = known.get(token) ?? readEtag(token);
      known.set(token, etag);
      return etag;
    };
  }

  /** The response that the browser had in its cache when it got this 304. */
  async function cachedBefore(
    { token, url, clientAddress, startedAt }: ProfileIndex,
    etagOf: EtagOf,
  ): Promise<ProfileIndex | null> {
    const query = { url, clientAddress, until: startedAt, limit: MOST_CACHED };
    const { rows } = await profiles.find({ ...query, counted: false });
    const before = rows.find((row) => row.url === url && row.status === 200 && row.method === 'GET');
    const etag = before === undefined ? null : await etagOf(before.token);
    return before !== undefined && etag !== null && etag === (await etagOf(token)) ? before : null;
  }

  async function callOf(
    call: ReportedCall,
    at: number,
    { rows, etagOf }: Around,
  ): Promise<BrowserCall | null> {
    if (!URL.canParse(call.url)) return null;
    const found =
      rows.find(({ token }) => token === call.token) ?? rows.find((row) => isCallOf(row, call, at));
    if (found === undefined) return null;
    const row = found.status === 304 ? ((await cachedBefore(found, etagOf)) ?? found) : found;
    return { request: row.token, method: row.method, path: pathOf(row.url), status: row.status };
  }

  async function framesOf(
    stack: string,
    { rows, etagOf, from, document }: Around & { from: PageReport; document: Profile | null },
  ): Promise<BrowserFrame[]> {
    const page = urlOf(from.page);
    const frames: BrowserFrame[] = [];
    for (const text of stack.split('\n')) {
      const { name = '', url = '', line: at = 0, column = 0 } = readFrame(text) ?? {};
      const script = urlOf(url);
      if (script === null || script.pathname.startsWith('/_profiler/')) continue;
      const place = `${script.pathname}:${at}`;
      const frame: BrowserFrame = { name: name.slice(0, 100), place, isOwn: false };
      if (script.host === page?.host && script.pathname === page.pathname) {
        const lines =
          document === null ? [] : (dataOf(document, 'request')?.response?.text ?? '').split('\n');
        const code = codeBefore(lines, at);
        if (code !== null) frame.code = code;
      } else if (script.host === page?.host) {
        const row = rows.find((one) => one.method === 'GET' && pathOf(one.url) === script.pathname);
        const etag = row === undefined ? null : await etagOf(row.token);
        const found = locateFrontEnd({ path: script.pathname, etag }, at, column);
        if (found !== null) {
          Object.assign(frame, { place: found.place, isOwn: true });
          if (found.code !== null && frames.length < MOST_CODE) frame.code = found.code;
        }
      }
      if (frames.push(frame) === MOST_FRAMES) break;
    }
    return frames;
  }

  async function store(page: PageRequest, report: PageReport): Promise<void> {
    const now = Date.now();
    const { token, items } = report;
    const found = token === undefined ? null : await profiles.read(token);
    if (token !== undefined && found === null) throw createError('UNKNOWN_TOKEN', [token]);
    if (browserFactsIn(found?.amendments ?? {}).length >= MOST_BROWSER_FACTS)
      throw createError('BAD_REQUEST', [`${MOST_BROWSER_FACTS} reports of this page are stored already.`]);
    const around: Around = { rows: await rowsOf(page, now), etagOf: createEtags() };
    const document = found?.profile ?? null;
    const stored = new Map<string, BrowserFact[]>();
    const factOf = async (item: ReportedItem): Promise<BrowserFact> => {
      const { kind, name = null, message = null, url = null, directive = null, calls = [] } = item;
      const asked = kind === 'call' || kind === 'file' ? [{ ...item, url: url ?? '' }] : calls;
      const found = await Promise.all(asked.map((call) => callOf(call, now - item.agoMs, around)));
      const known = found.filter((call) => call !== null);
      const frames = await framesOf(item.stack ?? '', { ...around, from: report, document });
      return { kind, atMs: now - item.agoMs, page: report.page, name, message, url, directive, frames, calls: known }; // prettier-ignore
    };
    for (const item of items) {
      const fact = await factOf(item);
      const [call] = fact.calls;
      // It stands on the page, and on the call that it is about: one that failed, or whose failure it followed.
      const isAbout = item.kind === 'call' || item.kind === 'file' || (fact.calls.length === 1 && (call?.status ?? 0) >= 400); // prettier-ignore
      const tokens = new Set([token, isAbout || token === undefined ? call?.request : undefined]);
      for (const one of tokens) if (one !== undefined) stored.set(one, [...(stored.get(one) ?? []), fact]);
    }
    if (stored.size === 0) throw createError('BAD_REQUEST', ['The report names no recorded request.']);
    for (const [one, facts] of stored) await profiles.report(one, facts);
  }

  return {
    async report(page) {
      const { req } = page;
      const { origin } = req.headers;
      const isFrontEnd = origin !== undefined && frontEnds.has(origin);
      if (!isSameOrigin(req, page.origin()) && !isFrontEnd) throw createError('CROSS_SITE', []);
      if (mediaTypeOf(req.headers['content-type'] ?? null) !== 'text/plain')
        throw createError('BAD_REQUEST', ['The body must be text/plain.']);
      const report = readReport(await readText(req, LARGEST));
      if (!('timing' in report)) {
        if (report.token === undefined && !isFrontEnd)
          throw createError('BAD_REQUEST', ['"token" must be six hexadecimal digits.']);
        await store(page, report);
      } else if (!(await profiles.amend(report.token, 'timing', report.timing)))
        throw createError('UNKNOWN_TOKEN', [report.token]);
      respond(page, { status: NO_CONTENT, type: 'text/plain', body: '' });
    },
  };
}
