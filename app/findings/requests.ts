/** Requests that reached no route, or another one, and bodies that nobody read. */
import type { ConfigurationData } from '../panels/configuration/data.ts';
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting, NearGroup, SharedRoutes } from '../panels/routing/data.ts';
import { lastRunning } from '../panels/shared/ran-layers.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';
import { CATCH_ALL } from '../profiler/record/express-routers.ts';
import { SIGNATURE_HEADER } from '../profiler/record/raw-headers.ts';
import { pathOf } from '../profiler/request-target.ts';
import { bytesText, percentText } from '../view-helpers/numbers.ts';
import { isUntrustedHttps, nameOfLayer, receivedHeader, sentHeader } from './shared/http.ts';
import type { Needs, Rule } from './shared/kept.ts';
import { brokeBy, count, duration, excerpt } from './shared/wording.ts';

/** With more letters changed it is a different word. */
const MOST_LETTERS = 2;

function isSimilar({ reason, distance }: NearGroup): boolean {
  return reason !== 'method' && (reason !== 'spelling' || distance <= MOST_LETTERS);
}

function nameOf({ methods, pattern }: NearGroup): string {
  return `${methods.join(', ')} ${pattern}`;
}

const routeMissed: Rule<Needs<'routing'>> = {
  name: 'route-missed',
  needs: ['routing'],
  labels: ['wrong method', 'similar route'],
  why: 'No route handled the request. After the response, the path was compared with the registered routes.',
  fix: 'Request the path or method that the route has, or change the route to match the request.',
  find({ routing: { route, allow, nearest, redirect } }, { method, status }) {
    if (route !== null || redirect !== null || status === null || status < 400) return [];
    // A client that asks which methods there are.
    if (method === 'OPTIONS') return [];
    const common = { broke: 'response', severity: 'warn', anchor: 'nearest' } as const;
    const [wrong] = nearest.filter(({ reason }) => reason === 'method');
    if (allow.length > 0) {
      const sentence = `This path allows ${count(allow.length, 'method')} (${allow.join(', ')}), not ${method.slice(0, 40)}`;
      const anchor = wrong === undefined ? 'match' : 'nearest';
      return [{ ...common, sentence, anchor, place: wrong?.source }];
    }
    const near = nearest.find(isSimilar);
    if (near === undefined) return [];
    const sentence = `No route matches; closest is ${nameOf(near)} (${near.why ?? near.reason})`;
    return [{ ...common, label: 'similar route', sentence, place: near.source }];
  },
};

/** Its last handler called `next()`, so that something else responded. */
function passedOn({ layers }: KeptRouting, pattern: string): boolean {
  return (
    layers.findLast((layer) => layer.kind === 'handler' && layer.pattern === pattern)?.outcome === 'next'
  );
}

function isSamePath(pattern: string, path: string): boolean {
  return pattern.toLowerCase().replace(/\/$/, '') === path.toLowerCase().replace(/\/$/, '');
}

/** `/users/:id` for `/users/me`. A wildcard that succeeds may be a cache or a fallback. */
function isParameterFor(pattern: string, path: string): boolean {
  const given = path.split('/');
  const segments = pattern.split('/');
  return (
    segments.length === given.length &&
    segments.every((segment, index) => segment.startsWith(':') || isSamePath(segment, given[index] ?? ''))
  );
}

const routeShadowed: Rule<Needs<'routing'>> = {
  name: 'route-shadowed',
  needs: ['routing'],
  labels: ['shadowed route'],
  why: 'The route that responded has parameters, and a route registered after it has exactly this path and method.',
  fix: 'Register routes with literal paths before those with parameters (`/orders/recent` before `/orders/:id`).',
  find({ routing }, { method, status, url }, { shared }) {
    const { route } = routing;
    if (status === null || route === null || shared.routing === undefined || passedOn(routing, route.pattern))
      return [];
    const path = pathOf(url);
    if (isSamePath(route.pattern, path)) return [];
    if (status < 400 && !isParameterFor(route.pattern, path)) return [];
    const { routes } = shared.routing as SharedRoutes;
    const at = routes.findIndex(({ pattern }) => pattern === route.pattern);
    const later = routes
      .slice(at + 1)
      .find(
        ({ pattern, methods }) =>
          isSamePath(pattern, path) && methods.some((one) => one === method || one === '*'),
      );
    if (at === -1 || later === undefined) return [];
    const sentence = `${route.method} ${route.pattern} answered ${status}; ${method} ${later.pattern} also matches, but is registered after it`;
    const place = later.source ?? route.source;
    return [{ broke: brokeBy(status), severity: 'warn', sentence, anchor: 'match', place }];
  },
};

const middlewareOrder: Rule<Needs<'routing'>> = {
  name: 'middleware-order',
  needs: ['routing'],
  labels: ['middleware order'],
  why: 'A middleware ended the request with a 404, no route handler ran, and a route registered after it matches this method and path.',
  fix: 'Register the middleware after the routes (`app.use` runs in call order), or let it call `next()`.',
  find({ routing: { route, layers, considered } }, { status }) {
    if (status !== 404 || route !== null) return [];
    const missed = considered.find(
      ({ kind, verdict, pattern }) => kind === 'route' && verdict === 'matched' && !CATCH_ALL.test(pattern),
    );
    const layer = layers.at(-1);
    if (missed === undefined || layer === undefined) return [];
    if (layer.kind !== 'middleware' || layer.outcome !== 'running') return [];
    const sentence = `${nameOfLayer(layer)} answered 404 at step ${layers.length}; ${missed.methods.join(', ')} ${missed.pattern} matches, but is registered after it`;
    return [{ broke: 'response', severity: 'warn', sentence, anchor: 'match', place: layer.source }];
  },
};

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Clients repeat these with GET (RFC 9110, 15.4). */
const BECOMES_GET = new Set([301, 302, 303]);

function addressOf(request: KeptRequest, url: string): URL | null {
  const scheme = isUntrustedHttps(request) ? 'https' : request.client.scheme;
  const host = receivedHeader(request, 'host') ?? '';
  return URL.canParse(`${scheme}://${host}${url}`) ? new URL(`${scheme}://${host}${url}`) : null;
}

function withoutSlash({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '');
}

function leadsBack(from: URL, to: URL): boolean {
  if (from.origin !== to.origin || from.pathname !== to.pathname) return false;
  return from.search === to.search || [...to.searchParams.values()].includes(from.pathname + from.search);
}

/** Another spelling of the same address: a slash, the scheme or the host. */
function isRespelled(from: URL, to: URL): boolean {
  return withoutSlash(from) === withoutSlash(to) && from.href !== to.href && from.search === to.search;
}

const redirectFails: Rule<Needs<'request' | 'routing'>> = {
  name: 'redirect-fails',
  needs: ['request', 'routing'],
  labels: ['redirect loop', 'body lost'],
  why: 'The Location is the address of the request itself and no cookie was set, or a middleware redirected a request with a body by 301, 302 or 303 to another spelling of its address.',
  fix: "Exempt the target of a redirect from the code that redirects to it. Trust the proxy that terminates TLS (`app.set('trust proxy', …)`). Redirect with 308, which keeps method and body.",
  find({ request, routing }, { status, method, url }) {
    if (status === null || !REDIRECTS.has(status)) return [];
    const location = sentHeader(request, 'location');
    const from = location === null ? null : addressOf(request, url);
    if (location === null || from === null || !URL.canParse(location.value, from.href)) return [];
    const to = new URL(location.value, from.href);
    to.hash = '';
    const layer = lastRunning(routing.layers);
    const common: Omit<FindingDraft, 'sentence'> = {
      broke: 'response',
      severity: 'bad',
      anchor: location.anchor,
      place: layer?.source,
    };
    const isRead = method === 'GET' || method === 'HEAD';
    // A cookie may make the next request another one.
    if (isRead && leadsBack(from, to) && sentHeader(request, 'set-cookie') === null) {
      const proxy = isUntrustedHttps(request)
        ? ': the proxy says https, but is not trusted, so Express takes the request for http'
        : '';
      const sentence = `${nameOfLayer(layer)} redirected the request to its own address, which is a loop${proxy}`;
      return [{ ...common, label: 'redirect loop', sentence }];
    }
    const isLost = method === 'POST' ? BECOMES_GET.has(status) : status === 303;
    if (isRead || !isLost || (request.body?.bytes ?? 0) === 0 || layer?.kind !== 'middleware') return [];
    if (!isRespelled(from, to)) return [];
    const sentence = `${nameOfLayer(layer)} redirected ${method.slice(0, 20)} with ${status} to another spelling of its address: clients repeat it as GET, without the body`;
    return [{ ...common, label: 'body lost', sentence }];
  },
};

/** Clients that have nothing to send post `{}`. */
const EMPTY_BYTES = 2;

/** What handlers respond where a field is missing. */
const INVALID = new Set([400, 422]);

const PARSERS: Readonly<Record<string, string>> = {
  'application/json': 'express.json()',
  'application/x-www-form-urlencoded': 'express.urlencoded()',
  'multipart/form-data': 'a multipart parser such as multer',
  'text/plain': 'express.text()',
  'application/octet-stream': 'express.raw()',
};

/** Some platforms parse the body before Express sees it; older parsers leave `{}` when they read nothing. */
function hasParsed({ parsed, fields }: NonNullable<KeptRequest['body']>): boolean {
  if (fields !== null && fields.length > 0) return true;
  return parsed !== undefined && JSON.stringify(parsed) !== '{}';
}

const bodyNotParsed: Rule<Needs<'request' | 'routing'>> = {
  name: 'body-not-parsed',
  needs: ['request', 'routing'],
  labels: ['unparsed body'],
  why: 'A route ran, and nothing had been read from the request body when the response headers were sent.',
  fix: 'Mount the parser for this content type before the route, or send the content type that the mounted parser accepts.',
  find({ request, routing }, { status }) {
    const { body } = request;
    if (body?.unread !== true || routing.route === null || hasParsed(body)) return [];
    // A handler that refuses a request need not read its body, unless it refuses what it did not find there.
    if (status === null || (status >= 300 && status < 500 && !INVALID.has(status))) return [];
    const announced = Number(receivedHeader(request, 'content-length') ?? 0);
    const bytes = Math.max(body.bytes, Number.isFinite(announced) ? announced : 0);
    if (bytes <= EMPTY_BYTES) return [];
    const type = mediaTypeOf(body.contentType);
    // `navigator.sendBeacon` may tell by the address alone.
    if (status === 204 && type === 'text/plain') return [];
    const parser = PARSERS[type];
    const sentence = `Nothing read the request body (${bytesText(bytes)}, ${type === '' ? 'no content type' : type.slice(0, 60)})${parser === undefined ? '' : `; ${parser} parses this type`}`;
    return [
      {
        broke: status >= 400 ? 'response' : 'unseen',
        severity: 'warn',
        sentence,
        anchor: 'unread',
        place: routing.route.source,
      },
    ];
  },
};

/** As body-parser and raw-body name their errors. */
const REFUSALS: Readonly<Record<string, string>> = {
  'entity.too.large': 'it is larger than the limit',
  'entity.parse.failed': 'it could not be parsed',
  'encoding.unsupported': 'its Content-Encoding is not supported',
  'charset.unsupported': 'its charset is not supported',
  'parameters.too.many': 'it has too many parameters',
};

function bytes(value: unknown): string | null {
  return typeof value === 'number' ? bytesText(value) : null;
}

const bodyRefused: Rule<Needs<'exception'>> = {
  name: 'body-refused',
  needs: ['exception'],
  labels: ['body refused'],
  why: 'A parser passed on an error of one of the types that `body-parser` documents, and the response was a 4xx.',
  fix: 'Send a body that this parser accepts, such as valid JSON. If the body is right and too large, raise the `limit` of the parser for the routes that need it.',
  find({ exception: { errors } }, { status }) {
    if (status === null || status < 400 || status >= 500) return [];
    // An error handler may pass on an error of its own that has the same `type`: the first one is the parser's.
    return errors
      .flatMap(({ thrown, from, origin }, index): FindingDraft[] => {
        const properties = thrown.chain[0]?.properties ?? {};
        const what = typeof properties.type === 'string' ? REFUSALS[properties.type] : undefined;
        if (what === undefined || origin === 'logged') return [];
        const limit = bytes(properties.limit);
        const length = bytes(properties.length) ?? bytes(properties.expected) ?? bytes(properties.received);
        const size = limit === null ? '' : ` of ${limit}${length === null ? '' : ` (${length} were sent)`}`;
        const sentence = `${from?.name ?? 'A parser'} refused the request body: ${what}${size}`;
        return [
          { broke: 'response', severity: 'warn', sentence, anchor: `error-${index + 1}`, place: from?.place },
        ];
      })
      .slice(0, 1);
  },
};

const uploadCutOff: Rule<Needs<'request'>> = {
  name: 'upload-cut-off',
  needs: ['request'],
  labels: ['incomplete upload'],
  why: 'Content-Length announced more bytes than had arrived when the connection closed, and the response had not finished.',
  fix: 'Let the client retry. If it happens often, check the timeouts of proxies and of the server (`requestTimeout`).',
  find({ request }, { outcome }) {
    if (outcome !== 'aborted') return [];
    const announced = Number(receivedHeader(request, 'content-length') ?? 0);
    const received = request.body?.bytes ?? 0;
    if (!Number.isFinite(announced) || announced <= received) return [];
    const sentence = `The upload ended after ${bytesText(received)} of ${bytesText(announced)} (${percentText(received, announced)})`;
    return [{ broke: 'response', severity: 'warn', sentence, anchor: 'body' }];
  },
};

/** `filter[status]`; a name that ends with empty brackets is often read as it is. */
const NESTED = /^([\w-]+)\[[^\]]+\]/;

const queryNotNested: Rule<Needs<'request' | 'routing', 'database'>> = {
  name: 'query-not-nested',
  needs: ['request', 'routing'],
  labels: ['flat query'],
  why: 'A name in the query has brackets, the application’s `query parser` is `simple` (the default of Express 5), and no statement has its value.',
  fix: 'Set `app.set("query parser", "extended")` if you want objects from `filter[status]=open`, or read the flat name: `req.query["filter[status]"]`.',
  find({ request, routing, database }, _head, { shared }) {
    const application = (shared.configuration as Partial<ConfigurationData> | undefined)?.application ?? [];
    const parser = application.find(({ name }) => name === 'query parser');
    if (routing.route === null || parser?.value !== 'simple') return [];
    const nested = request.query?.find(({ name }) => NESTED.test(name));
    if (nested === undefined) return [];
    const isUsed = database?.queries.some(({ bindings }) =>
      bindings.some(({ value }) => value === nested.value),
    );
    if (isUsed === true) return [];
    const [, name = ''] = NESTED.exec(nested.name) ?? [];
    const sentence = `The query has ${nested.name.slice(0, 60)}, which this application’s query parser (simple) leaves flat: req.query.${name.slice(0, 60)} is undefined`;
    return [{ broke: 'unseen', severity: 'warn', sentence, place: routing.route.source }];
  },
};

const querySet: Rule<Needs<'routing'>> = {
  name: 'query-set',
  needs: ['routing'],
  labels: ['query lost'],
  why: 'The code of a middleware that ran sets a name in `req.query`. In Express 5, `req.query` is a getter that parses the URL at each read, so the name is gone at once.',
  fix: 'Give the value a place of its own, such as `res.locals.branch`. To change the query for all that follows, define it on the request: `Object.defineProperty(req, "query", { value: { ...req.query, branch } })`.',
  find: ({ routing }) =>
    routing.layers.flatMap((layer): FindingDraft[] => {
      const { setsQuery, source } = layer;
      if (setsQuery === undefined) return [];
      const sentence = `${nameOfLayer(layer)} has code that sets req.query.${excerpt(setsQuery, 60)}: Express 5 parses req.query anew at each read, so nobody sees the value`;
      return [{ broke: 'unseen', severity: 'warn', sentence, place: source }];
    }),
};

/** Of a proxy that the application does not trust; null if there is none. */
function untrustedClient(request: KeptRequest | undefined): string | null {
  return request === undefined || request.client.trusted ? null : receivedHeader(request, 'x-forwarded-for');
}

/** Own code that refused the request, else the layer that did. */
function refusedAt({ response }: KeptRequest, routing: KeptRouting | undefined): string | null | undefined {
  return response?.sentFrom ?? lastRunning(routing?.layers ?? [])?.source;
}

const oneClient: Rule<Needs<'request', 'routing' | 'cache'>> = {
  name: 'one-client',
  needs: ['request'],
  labels: ['one client for all'],
  why: 'A 429 was sent, and the request had X-Forwarded-For from a proxy that the application does not trust: `req.ip` is the address of the proxy for every client. Earlier requests of the route, if it had any, were not all of this client.',
  fix: "If the limit counts by `req.ip`, trust the proxy (`app.set('trust proxy', 1)`), so that it is the address of the client. Otherwise look at the key that it counts by.",
  compares: ({ request }, { status }) => status === 429 && untrustedClient(request) !== null,
  find({ request, routing, cache }, { status }, { earlier }) {
    const client = untrustedClient(request);
    if (status !== 429 || client === null) return [];
    const known = earlier.map(({ kept }) => untrustedClient(kept.request));
    // This client may have asked too often.
    if (known.length > 0 && known.every((one) => one === null || one === client)) return [];
    const counter = cache?.items.find(({ key }) => key?.includes(request.client.peer) === true);
    const counts =
      counter === undefined
        ? 'if the limit counts by req.ip, it counts them as one'
        : `the key ${excerpt(counter.key ?? '', 60)} counts them as one`;
    const sentence = `The proxy in front is not trusted, so req.ip is its address for all clients behind it: ${counts}`;
    const place = counter?.caller ?? refusedAt(request, routing);
    return [{ broke: 'response', severity: counter === undefined ? 'warn' : 'bad', sentence, place }];
  },
};

/** Nobody wants a session that short. */
const SHORTEST_SECONDS = 60;

const tokenExpired: Rule<Needs<'request', 'routing'>> = {
  name: 'token-expired',
  needs: ['request'],
  labels: ['token expired'],
  why: 'The request was refused with 401 or 403, and the web token that it sent had expired before it came (`exp`).',
  fix: "Renew the token before it expires, or sign in again after a 401. If it expires too early, look at its lifetime: `expiresIn: 3600` and `'1h'` of `jsonwebtoken` are an hour, and the text `'3600'` is 3.6 seconds.",
  find({ request, routing }, { status, startedAt }) {
    const times = request.expiring ?? [];
    const expired = times.filter(({ expiresAt }) => expiresAt * 1000 <= startedAt);
    const [first] = expired;
    if ((status !== 401 && status !== 403) || first === undefined || expired.length < times.length) return [];
    const { carrier, expiresAt, issuedAt } = first;
    const what = carrier === null ? 'The bearer token' : `The token in the cookie “${excerpt(carrier, 60)}”`;
    const seconds = issuedAt === null ? Infinity : expiresAt - issuedAt;
    const isShort = seconds < SHORTEST_SECONDS;
    const lifetime = issuedAt === null ? '' : `; it was valid for ${duration(seconds * 1000)}`;
    const hint = isShort
      ? ": as text without a unit, such as expiresIn: '3600', jsonwebtoken reads milliseconds"
      : '';
    const sentence = `${what} had expired ${duration(startedAt - expiresAt * 1000)} before${lifetime}${hint}`;
    const severity = isShort ? 'warn' : 'info';
    return [{ broke: 'response', severity, sentence, place: refusedAt(request, routing) }];
  },
};

function signatureOf(request: KeptRequest | undefined): string | null {
  return request?.headers?.find(({ name }) => SIGNATURE_HEADER.test(name))?.name.toLowerCase() ?? null;
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[^\s"[\]{}:,]+|\S/g;

/** `84.50 as 84.5`: the first part of the body that is another one if it is written again; empty: it is not known. */
function rewrittenAs({ text, truncated, parsed }: NonNullable<KeptRequest['body']>): string {
  if (text === null || truncated || parsed === undefined) return '';
  const [sent, again] = [text, JSON.stringify(parsed)].map((one) => one.match(TOKENS) ?? []);
  const at = sent?.findIndex((token, index) => token !== again?.[index]) ?? -1;
  if (at === -1) return ' leaves out blanks:';
  return ` writes ${excerpt(sent?.[at] ?? '', 40)} as ${excerpt(again?.[at] ?? '', 40)}:`;
}

const MAKES_SIGNATURE = /createHmac|createVerify|timingSafeEqual|JSON\.stringify\(req/;

/** The line that makes the signature, near the one that threw the refusal. */
function signedAt(exception: ExceptionData | undefined): string | null {
  const frame = exception?.errors.find(({ origin }) => origin === 'passed on' || origin === 'handled')?.place
    ?.frame;
  if (frame?.file === undefined || frame.file === null || frame.line === null) return null;
  const { from, lines } = frame.excerpt ?? { from: frame.line, lines: [] };
  const at = lines.findIndex((line) => MAKES_SIGNATURE.test(line));
  return `${frame.file}:${at === -1 ? frame.line : from + at}`;
}

const signatureOverParsed: Rule<Needs<'request', 'routing' | 'exception'>> = {
  name: 'signature-over-parsed',
  needs: ['request'],
  labels: ['signature of other bytes'],
  why: 'A signed JSON body was parsed and refused with 400, 401 or 403. Written again it is another text, and `req` has no copy of its bytes. The response mentions the signature, or bodies that are the same text either way got through.',
  fix: "Sign the bytes that came: `express.raw({ type: 'application/json' })` for this route, or keep them with `verify` of `express.json`. `JSON.stringify(req.body)` writes 3.0 as 3, and leaves blanks out.",
  compares: ({ request }, { status }) =>
    request.body?.writtenAgain !== undefined && [400, 401, 403].includes(status ?? 0),
  find({ request, routing, exception }, { status }, { earlier }) {
    const { body } = request;
    const { writtenAgain, bytes = 0 } = body ?? {};
    const name = signatureOf(request);
    if (
      body === null ||
      writtenAgain === undefined ||
      name === null ||
      ![400, 401, 403].includes(status ?? 0)
    )
      return [];
    const accepted = earlier.flatMap(({ head, kept }) => {
      const before = kept.request;
      return head.status !== null && head.status < 300 && signatureOf(before) === name ? [before?.body] : [];
    });
    // It does not write the body again.
    if (accepted.some((body) => body?.writtenAgain !== undefined)) return [];
    if (accepted.length === 0 && !/signature|hmac/i.test(request.response?.text ?? '')) return [];
    const { layers = [] } = routing ?? {};
    const parser = layers.find((layer) => layer.name === 'jsonParser')?.source;
    const by = parser === undefined || parser === null ? '' : `, parsed by express.json (${parser}),`;
    const others =
      accepted.length === 0
        ? ''
        : `; ${count(accepted.length, 'earlier request')} got through: JSON.stringify did not change ${accepted.length === 1 ? 'its body' : 'their bodies'}`;
    const sentence = `JSON.stringify(req.body)${rewrittenAs(body)} the body${by} has ${count(bytes, 'byte')} as sent and ${count(writtenAgain)} written again, so a signature of that text never equals ${excerpt(name, 60)}${others}`;
    const place = signedAt(exception) ?? refusedAt(request, routing);
    return [{ broke: 'response', severity: accepted.length > 0 ? 'bad' : 'warn', sentence, place }];
  },
};

export const requestRules: readonly Rule[] = [
  routeMissed,
  routeShadowed,
  middlewareOrder,
  redirectFails,
  bodyNotParsed,
  bodyRefused,
  uploadCutOff,
  queryNotNested,
  querySet,
  oneClient,
  tokenExpired,
  signatureOverParsed,
];
