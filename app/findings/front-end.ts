/**
 * Failures in the browser, and their cause on the server. A cause is named only if a recorded response shows it: a body without the
 * field that was read, a page instead of JSON, a header that is missing. Everything else accuses no line of the server.
 */
import type { BrowserCall, BrowserFact } from '../profiler/read/browser-report.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';
import { parseJson } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { lastRunning } from '../panels/shared/ran-layers.ts';
import { corsReasonOf, credentialsReasonOf } from './shared/cors.ts';
import { readField, type ReadField } from './shared/read-field.ts';
import { lineOf, wasSeen } from './shared/errors.ts';
import { authorOf, nameOfLayer, policyDirective, sentHeaders } from './shared/http.ts';
import type { Needs, Rule } from './shared/kept.ts';
import { excerpt } from './shared/wording.ts';

type Kept = Needs<'browser', 'request' | 'routing' | 'exception'>;

interface Exchange {
  head: ProfileHead;
  kept: Omit<Kept, 'browser'>;
  call: Pick<BrowserCall, 'method' | 'path'>;
}

interface Cause {
  says: string;
  place: string | null;
  panel?: string;
  anchor?: string;
}

const GOT_NOTHING = /Failed to fetch|NetworkError|Load failed|network error/i;

function namesOf(call: Exchange['call'], { status }: ProfileHead): string {
  return `${call.method} ${excerpt(call.path, 80)}${status === null ? '' : ` (${status})`}`;
}

function blamed({ kept: { exception, routing, request } }: Exchange): { name: string; place: string | null } {
  const thrown = exception?.errors.find(wasSeen);
  const layer = lastRunning(routing?.layers ?? []);
  const place = (thrown === undefined ? null : lineOf(thrown)) ?? request?.response?.sentFrom ?? null;
  return { name: nameOfLayer(layer), place: place ?? layer?.source ?? routing?.route?.source ?? null };
}

function bodyOf({ kept: { request } }: Exchange): unknown {
  const { text, truncated, contentType } = request?.response ?? {};
  if (typeof text !== 'string' || truncated === true || !/[/+]json$/.test(mediaTypeOf(contentType ?? null))) return undefined; // prettier-ignore
  return parseJson(text);
}

/** The field that the script read, as the body has it. */
function fieldCause(fact: BrowserFact, exchange: Exchange): Cause | null {
  const body = bodyOf(exchange);
  const read: ReadField | null = body === undefined ? null : readField(fact, body);
  if (read === null) return null;
  return { says: `read ${read.field} of the response of ${namesOf(exchange.call, exchange.head)}, ${read.instead}`, place: blamed(exchange).place }; // prettier-ignore
}

/** The script parsed as JSON what is none. The message quotes its beginning. */
function parseCause(fact: BrowserFact, exchange: Exchange): Cause | null {
  const { head, kept, call } = exchange;
  const { message, frames, name } = fact;
  const { response } = kept.request ?? {};
  const line = frames.find(({ code }) => code !== undefined)?.code?.lines.at(-1) ?? '';
  const isBody = (message ?? '').includes("'json' on 'Response'") || /\.json\(|\bresponse|\btext\b|\bbody\b|\bxhr\b/i.test(line); // prettier-ignore
  if (name !== 'SyntaxError' || !isBody || response === undefined) return null;
  const text = response.text ?? '';
  const [, quoted] = /"([^"]{1,10})[^"]*"(?:\.\.\.)? is not valid JSON/.exec(message ?? '') ?? [];
  const isPage = mediaTypeOf(response.contentType) === 'text/html';
  const isEmpty = /Unexpected end of (?:JSON )?input/.test(message ?? '') && response.bytes === 0;
  const isQuoted = quoted !== undefined && text.startsWith(quoted);
  if (!isEmpty && !isQuoted) return null;
  const what = isEmpty ? 'has no body' : isPage ? 'is a page of HTML' : `is ${mediaTypeOf(response.contentType) || 'a text'} that is not valid JSON`; // prettier-ignore
  return { says: `parsed a response as JSON, but that of ${namesOf(call, head)} ${what}`, place: blamed(exchange).place }; // prettier-ignore
}

/** The browser refused the response of a call, or got none. */
function callCause(exchange: Exchange): Cause | null {
  const { head, kept, call } = exchange;
  const { request, routing } = kept;
  if (request === undefined || routing === undefined) return null;
  const isDone = head.outcome === 'finished';
  const refused =
    corsReasonOf({ request, routing }, head) ?? (isDone ? credentialsReasonOf({ request, routing }) : null);
  if (refused !== null) {
    const what = call.method === 'OPTIONS' ? `the preflight ${namesOf(call, head)}` : namesOf(call, head);
    return { says: `made a call that the browser blocked: ${what} was responded to by ${nameOfLayer(refused.layer)}, and ${refused.reason}`, place: refused.layer?.source ?? null }; // prettier-ignore
  }
  const { name, place } = blamed(exchange);
  const location = sentHeaders(request, 'location')[0]?.value;
  const isLoop = (head.status ?? 0) >= 300 && (head.status ?? 0) < 400 && location === head.url;
  if (isLoop) return { says: `made a call that failed: ${namesOf(call, head)} redirects to itself`, place };
  if (isDone || head.state === 'running') return null;
  return { says: `made a call that failed: ${name} did not complete the response of ${namesOf(call, head)}`, place }; // prettier-ignore
}

const TYPES: Readonly<Record<string, RegExp>> = {
  script: /javascript|ecmascript/,
  link: /text\/css/,
};

/** A file of the page that was answered with an error, or with something else. */
function fileCause({ name }: BrowserFact, exchange: Exchange): Cause | null {
  const { head, kept, call } = exchange;
  const { name: by, place } = blamed(exchange);
  const type = mediaTypeOf(kept.request?.response?.contentType ?? null);
  if (head.status === null) return null;
  if (head.status >= 400) return { says: `asked for a <${name ?? 'file'}> that is missing: ${namesOf(call, head)}${place === null ? '' : `, responded to by ${by}`}`, place }; // prettier-ignore
  const wanted = TYPES[name ?? ''];
  if (head.status !== 200 || wanted === undefined || wanted.test(type)) return null;
  return { says: `asked for a <${name ?? 'file'}>, and ${by} sent ${type || 'no content type'}: ${namesOf(call, head)}`, place }; // prettier-ignore
}

/** The directive of the policy that the page was sent with. */
function policyCause(
  { directive, url }: BrowserFact,
  { kept: { request, routing } }: Exchange,
): Cause | null {
  if (request === undefined || directive === null) return null;
  const names = [directive, directive.replace(/-(?:elem|attr)$/, ''), 'default-src'];
  for (const header of ['content-security-policy', 'content-security-policy-report-only'])
    for (const { value, anchor } of sentHeaders(request, header)) {
      const found = policyDirective(value, names);
      if (found === null) continue;
      const author = authorOf(request, routing, anchor);
      const wanted = url !== null && URL.canParse(url) ? new URL(url).origin : `'${excerpt(url ?? '', 40)}'`;
      const by = author === undefined ? '' : ` that ${nameOfLayer(author)} set`;
      return { says: `needs ${wanted}, which ${found.name} of the ${header}${by} does not allow`, place: author?.source ?? null, panel: 'request', anchor }; // prettier-ignore
    }
  return null;
}

function isError({ kind }: BrowserFact): boolean {
  return kind === 'error' || kind === 'rejection';
}

function causeOf(fact: BrowserFact, exchange: Exchange): Cause | null {
  if (fact.kind === 'file') return fileCause(fact, exchange);
  if (fact.kind === 'call') return callCause(exchange);
  if (fact.kind === 'policy') return policyCause(fact, exchange);
  if (fact.kind === 'console') return null;
  if (GOT_NOTHING.test(fact.message ?? '')) return callCause(exchange);
  return parseCause(fact, exchange) ?? fieldCause(fact, exchange);
}

function placeOf({ frames, page }: BrowserFact): string {
  const frame = frames.find(({ isOwn }) => isOwn) ?? frames[0];
  return frame?.place ?? (URL.canParse(page) ? new URL(page).pathname : 'The page');
}

/** What was blocked or failed may be known without its line; then the call, or its rejection, knows it. */
function withFrames(fact: BrowserFact, items: readonly BrowserFact[]): BrowserFact {
  if (fact.frames.length > 0 || isError(fact)) return fact;
  const known = items.filter(({ frames }) => frames.length > 0);
  const rejected = fact.kind === 'call' ? known.find((one) => isError(one) && GOT_NOTHING.test(one.message ?? '')) : undefined; // prettier-ignore
  return known.find(({ url }) => url !== null && url === fact.url) ?? rejected ?? fact;
}

function whatOf({ name, message }: BrowserFact): string {
  const [, property] = /\(reading '([\w$]{1,40})'\)/.exec(message ?? '') ?? [];
  return `${excerpt(name ?? 'An error', 40)}${property === undefined ? '' : ` (reading ${property})`}`;
}

export const browserFailed: Rule<Kept> = {
  name: 'browser-failed',
  needs: ['browser'],
  labels: ['browser error', 'blocked in browser'],
  why: 'The toolbar reported it from the page. A line of the server is named only if a recorded response shows the cause: a field that is not in its body, a page instead of JSON, a missing file, a header or policy that makes the browser refuse.',
  fix: 'Compare the line of the front end with the line of the server, and decide which of both is wrong. A script that reads a response looks at its status first.',
  find(kept, head, { reported }) {
    const { browser } = kept;
    const own = (call: Exchange['call']): Exchange => ({ head, kept, call });
    const exchangeOf = (call: BrowserCall): Exchange[] => {
      if (call.request === head.token) return [own(call)];
      const other = reported.get(call.request);
      return other === undefined ? [] : [{ head: other.head, kept: other.kept, call }];
    };
    const { items } = browser;
    const hasFailedCall = items.some(({ kind }) => kind === 'call');
    const seen = new Set<string>();
    return items.flatMap((fact, index): FindingDraft[] => {
      const exchanges =
        fact.kind === 'policy' ? [own({ method: '', path: '' })] : fact.calls.flatMap(exchangeOf);
      const causes = exchanges.flatMap((exchange) => causeOf(fact, exchange) ?? []);
      const [cause, ...others] = causes;
      const isCertain = cause !== undefined && others.every(({ place }) => place === cause.place);
      // The rejection of a call that failed is the same failure, and knows its line.
      const isSame = isError(fact) && hasFailedCall && GOT_NOTHING.test(fact.message ?? '');
      if (isSame || (!isCertain && !isError(fact))) return [];
      const place = placeOf(withFrames(fact, items));
      const sentence = isCertain ? `${place} ${cause.says}` : `${whatOf(fact)} in the browser, at ${place}`;
      if (seen.has(sentence)) return [];
      seen.add(sentence);
      return [
        {
          label: isError(fact) ? 'browser error' : 'blocked in browser',
          broke: 'unseen',
          severity: isCertain ? 'bad' : 'warn',
          sentence,
          anchor: cause?.anchor ?? `b${index + 1}`,
          panel: cause?.panel ?? 'browser',
          place: isCertain ? cause.place : place,
        },
      ];
    });
  },
};
