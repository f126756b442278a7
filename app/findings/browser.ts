/** What browsers refuse: responses to other sites, scripts and files. */
import type { KeptRequest } from '../panels/request/data.ts';
import { lastRunning } from '../panels/shared/ran-layers.ts';
import { pathOf } from '../profiler/request-target.ts';
import { corsRefusalOf } from './shared/cors.ts';
import {
  authorOf,
  nameOfLayer,
  placeOfHeader,
  policyDirective,
  receivedHeader,
  sentHeader,
} from './shared/http.ts';
import type { Needs, Rule } from './shared/kept.ts';
import { count, excerpt } from './shared/wording.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';

const corsRefused: Rule<Needs<'request' | 'routing', 'browser'>> = {
  name: 'cors-refused',
  needs: ['request', 'routing'],
  labels: ['CORS refused'],
  why: 'The request has an Origin of another site, and its response does not have the status or the CORS headers that browsers ask for.',
  fix: 'Mount `cors({ origin, credentials })` before whatever may respond, such as authentication: a preflight has no cookies and tokens. Name the origin exactly, in lower case and without a slash at its end, and not as `*` with credentials.',
  find({ request, routing, browser }, head) {
    const refusal = corsRefusalOf({ request, routing }, head);
    // The browser has said so: front-end.ts names the line that made the call, too.
    if (refusal === null || browser?.items.some(({ kind }) => kind === 'call') === true) return [];
    const { reason, layer, wanted, anchor } = refusal;
    const what =
      wanted === null
        ? `the response of ${nameOfLayer(layer)}`
        : `what ${nameOfLayer(layer)} responded to the preflight of ${excerpt(wanted, 20)}`;
    const sentence = `Browsers refuse ${what}${reason === null ? ' if the page sends cookies' : ''}, because ${reason ?? 'Access-Control-Allow-Origin is *'}`;
    const place = layer?.source;
    return [{ broke: 'response', severity: reason === null ? 'info' : 'warn', sentence, anchor, place }];
  },
};

const HASH = /'sha(?:256|384|512)-/i;
const NONCE = /'nonce-([^']+)'/gi;
const ALLOWS = /'unsafe-inline'/i;
/** A type that browsers run; JSON-LD and templates are data. */
const DATA_TYPE = /\btype\s*=\s*["']?(?!module\b|text\/javascript\b|application\/javascript\b)[a-z]/i;

/** The one that a policy has of these decides about inline scripts. */
const OF_SCRIPTS = ['script-src-elem', 'script-src', 'default-src'];

function blockedIn(html: string, nonces: readonly string[]): number {
  let blocked = 0;
  for (let at = html.indexOf('<script'); at !== -1; at = html.indexOf('<script', at + 7)) {
    const end = html.indexOf('>', at);
    const tag = end === -1 ? '' : html.slice(at + 7, end);
    if (end === -1 || /\ssrc\s*=/i.test(tag) || DATA_TYPE.test(tag)) continue;
    if (html.startsWith('</script', end + 1) || nonces.some((nonce) => tag.includes(nonce))) continue;
    blocked++;
  }
  return blocked;
}

const inlineScriptBlocked: Rule<Needs<'request', 'routing' | 'browser'>> = {
  name: 'inline-script-blocked',
  needs: ['request'],
  labels: ['script blocked'],
  why: 'The HTML has a script without `src` and without a nonce of the policy, and the policy that was sent has no hash and no `unsafe-inline` for scripts.',
  fix: 'Move the script to a file of its own site, or give it a nonce that is new for each response and is listed in `script-src` as `nonce-…`.',
  find({ request, routing, browser }, _head) {
    // The browser has said so: front-end.ts names its line, too.
    if (browser?.items.some(({ kind, url }) => kind === 'policy' && url === 'inline') === true) return [];
    const text = request.response?.text ?? null;
    if (
      text?.includes('<script') !== true ||
      mediaTypeOf(request.response?.contentType ?? null) !== 'text/html'
    )
      return [];
    const policy = sentHeader(request, 'content-security-policy');
    // Several policies, joined by a comma, all have to allow it.
    if (policy === null || policy.value.includes(',')) return [];
    const source = policyDirective(policy.value, OF_SCRIPTS)?.value;
    if (source === undefined || HASH.test(source)) return [];
    const nonces = [...source.matchAll(NONCE)].flatMap(([, nonce]) => (nonce === undefined ? [] : [nonce]));
    if (ALLOWS.test(source) && nonces.length === 0) return [];
    const blocked = blockedIn(text, nonces);
    if (blocked === 0) return [];
    const author = authorOf(request, routing, policy.anchor);
    const sentence = `Browsers don’t run ${count(blocked, 'inline script')} of this page: the Content-Security-Policy${author === undefined ? '' : ` that ${nameOfLayer(author)} set`} does not allow ${blocked === 1 ? 'it' : 'them'}`;
    const place = placeOfHeader({ request, routing }, policy.anchor);
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: policy.anchor, place }];
  },
};

/** What `Sec-Fetch-Dest` says the browser wants. */
const WANTED: Readonly<Record<string, string>> = {
  script: 'a script',
  worker: 'a script',
  sharedworker: 'a script',
  serviceworker: 'a script',
  style: 'a style sheet',
  image: 'an image',
  font: 'a font',
};
/** For clients that don't say. */
const ENDINGS: Readonly<Record<string, string>> = {
  js: 'a script',
  mjs: 'a script',
  css: 'a style sheet',
  woff2: 'a font',
};

/** How a sentence begins that says what the response should have been. */
function wantedBy(request: KeptRequest, path: string): string | undefined {
  const destination = receivedHeader(request, 'sec-fetch-dest');
  // Browsers ask for /favicon.ico unasked.
  if (destination === 'image' && path === '/favicon.ico') return undefined;
  const isSaid = destination !== null && destination !== 'empty';
  const wanted = isSaid ? WANTED[destination] : ENDINGS[path.slice(path.lastIndexOf('.') + 1)];
  return wanted && (isSaid ? `The browser wants ${wanted}` : `The address is that of ${wanted}`);
}

const htmlInstead: Rule<Needs<'request' | 'routing'>> = {
  name: 'html-instead',
  needs: ['request', 'routing'],
  labels: ['HTML instead'],
  why: 'A script, style sheet, image or font was requested, as `Sec-Fetch-Dest` or the ending of the path shows. The response is a page of HTML with status 200.',
  fix: 'Check the folder and the mount path of the files, serve them before the route for all other paths, and respond with a 404 to files that are missing.',
  find({ request, routing }, { status, url, method }) {
    if (status !== 200 || mediaTypeOf(request.response?.contentType ?? null) !== 'text/html') return [];
    const wanted = method === 'GET' ? wantedBy(request, pathOf(url)) : undefined;
    if (wanted === undefined) return [];
    const layer = lastRunning(routing.layers);
    const sentence = `${wanted}, and ${nameOfLayer(layer)} sent a page of HTML with status 200: it can’t be used`;
    const place = layer?.source;
    return [{ broke: 'unseen', severity: 'warn', sentence, panel: 'routing', anchor: 'match', place }];
  },
};

export const browserRules: readonly Rule[] = [corsRefused, inlineScriptBlocked, htmlInstead];
