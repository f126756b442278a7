/** Responses: sent twice, not as announced, or with texts of others in them. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { leavesOf } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isEncoded, mediaTypeOf } from '../profiler/http-text.ts';
import { parseJson } from '../profiler/json.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { bytesText } from '../view-helpers/numbers.ts';
import { isAnsweredTwice, lineOf } from './shared/errors.ts';
import { authorOf, lastStepOf, layerAt, nameOfLayer, placeOfHeader, sentHeader } from './shared/http.ts';
import {
  type Database,
  endOf,
  type Interval,
  type Needs,
  type OtherRequest,
  type Rule,
} from './shared/kept.ts';
import { labelOf } from './shared/queries.ts';
import { certainMs } from './shared/time.ts';
import { count, duration, excerpt, shareOf } from './shared/wording.ts';

/** After the end of the response nothing of it is observed any more, but the error that Node.js throws. */
function afterEnd(exception: ExceptionData | undefined): FindingDraft[] {
  const index = exception?.errors.findIndex(isAnsweredTwice) ?? -1;
  const error = exception?.errors[index];
  if (error === undefined) return [];
  const sentence = `${error.from?.name ?? 'The application'} set headers after the headers were sent`;
  const place = lineOf(error) ?? error.from?.place;
  return [
    { broke: 'unseen', severity: 'bad', sentence, panel: 'exception', anchor: `error-${index + 1}`, place },
  ];
}

const answeredTwice: Rule<Needs<'request' | 'routing', 'exception'>> = {
  name: 'answered-twice',
  needs: ['request', 'routing'],
  labels: ['answered twice'],
  why: 'A header was set after the headers were sent, which Node.js rejects (`ERR_HTTP_HEADERS_SENT`), or `write()` or `end()` got a body after the response had ended, which Node.js does not send.',
  fix: 'Return after each response (`return res.json(…)`), and either respond or call `next()`, never both.',
  find({ request: { response }, routing, exception }) {
    const [first] = response?.refused ?? [];
    if (first === undefined) return afterEnd(exception);
    const layer = layerAt(routing, first.layer);
    const headersAtMs = response?.headersAtMs ?? null;
    const delay = headersAtMs === null ? '' : `${duration(Math.max(0, first.atMs - headersAtMs))} `;
    const what =
      first.name === null
        ? `passed a body to ${first.method}() after the response had ended`
        : `set ${first.name} ${delay}after the headers were sent`;
    const thrown = exception?.errors.find(isAnsweredTwice);
    const place = (thrown === undefined ? null : lineOf(thrown)) ?? first.from ?? layer?.source;
    const sentence = `${nameOfLayer(layer)} ${what}`;
    return [{ broke: 'unseen', severity: 'bad', sentence, anchor: 'late-1', place }];
  },
};

const nextAfterResponse: Rule<Needs<'request' | 'routing', 'exception'>> = {
  name: 'next-after-response',
  needs: ['request', 'routing'],
  labels: ['next after response'],
  why: 'A middleware set the headers of the body, and other middleware or handlers started after the headers had been sent.',
  fix: 'Return after the response (`return res.status(403).json(…)`), so that `next()` is only called without a response.',
  find({ request, routing, exception }) {
    const { headersAtMs = null, endedAtMs = headersAtMs, refused = [], nextFrom } = request.response ?? {};
    const last = routing.layers.at(-1);
    if (headersAtMs === null || endedAtMs === null || last === undefined) return [];
    const sent = routing.layers.filter(({ startMs, kind }) => startMs > headersAtMs && kind !== 'error');
    // One middleware may write the body and another one end the response, unless that one fails.
    const failed = refused.length > 0 || sent.some(({ outcome }) => outcome === 'threw');
    const after = failed ? sent : sent.filter(({ startMs }) => startMs > endedAtMs);
    // After the end of the response no layer is recorded, but that the last one called `next()`.
    if (after.length === 0 && (last.nextMs ?? 0) === 0) return [];
    const type = sentHeader(request, 'content-type') ?? sentHeader(request, 'content-length');
    const author = type === null ? undefined : authorOf(request, routing, type.anchor);
    if (author?.outcome !== 'next' || author.startMs > headersAtMs) return [];
    // A library that always calls `next()`, as routing-controllers does: nobody can return before it.
    if (nextFrom === null || (nextFrom === undefined && author.isOfLibrary === true)) return [];
    if (author.startMs + (author.nextMs ?? 0) <= headersAtMs) return [];
    // It didn't call `next()`: Express had another error for it, that of the handler that responded a second time (answered-twice).
    if (author.kind === 'error' && exception?.errors.some(isAnsweredTwice)) return [];
    const ran =
      after.length === 0
        ? 'after the response had ended'
        : `${count(after.length, 'more function')} ran after the headers were sent`;
    const sentence = `${nameOfLayer(author)} responded and called next()${after.length === 0 ? ' ' : ': '}${ran}`;
    const place = nextFrom ?? author.source;
    return [{ broke: 'unseen', severity: 'warn', sentence, panel: 'routing', anchor: 'match', place }];
  },
};

const wrongLength: Rule<Needs<'request', 'routing'>> = {
  name: 'wrong-length',
  needs: ['request'],
  labels: ['wrong length', 'wrong encoding'],
  why: 'The body has more or fewer bytes than its Content-Length says, or is plain text although its Content-Encoding names a compression.',
  fix: 'Let `res.send` compute it (`Buffer.byteLength(text)` by hand, not `text.length`). A proxy whose client decodes bodies, as `fetch` does, must not pass on Content-Encoding and Content-Length.',
  find({ request, routing }, { method, status, outcome }) {
    const { response } = request;
    if (response === undefined || status === null || outcome !== 'finished') return [];
    if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return [];
    const encoding = response.text === null ? null : sentHeader(request, 'content-encoding');
    if (encoding !== null && isEncoded(encoding.value)) {
      const sentence = `Content-Encoding is ${excerpt(encoding.value, 40)}, but the body is not compressed: clients fail to decode it`;
      const place = placeOfHeader({ request, routing }, encoding.anchor);
      const { anchor } = encoding;
      return [{ label: 'wrong encoding', broke: 'response', severity: 'bad', sentence, anchor, place }];
    }
    const length = sentHeader(request, 'content-length');
    if (length === null || !/^\d+$/.test(length.value) || Number(length.value) === response.bytes) return [];
    const sentence = `Content-Length is ${count(Number(length.value))}, but the body has ${count(response.bytes, 'byte')}: clients cut it off or wait for the rest`;
    const place = placeOfHeader({ request, routing }, length.anchor);
    return [{ broke: 'unseen', severity: 'bad', sentence, anchor: length.anchor, place }];
  },
};

/** Less is no matter, in milliseconds and as a share of the request. */
const TRANSFORM_MS = 100;
const TRANSFORM_SHARE = 0.3;
/** A connection takes so many bytes at once: no client holds them back. */
const AT_ONCE = 256 * 1024;
/** Share of the time in which the process has to compute: otherwise it waited. */
const COMPUTED = 0.1;

type Transforming = Needs<'request', 'routing' | 'runtime' | 'spans' | 'database' | 'http_client'>;

/** A middleware that compresses, after the handler has passed the body on. */
function compressing(kept: Transforming, wholeMs: number): FindingDraft | null {
  const { request, routing, runtime, database, http_client } = kept;
  const { response } = request;
  const header = sentHeader(request, 'content-encoding');
  if (header === null || response === undefined || response.headersAtMs === null || response.bytes > AT_ONCE)
    return null;
  const step = lastStepOf(request, header.anchor);
  const costMs = wholeMs - response.headersAtMs;
  const cpuMs = (runtime?.cpuUserMs ?? 0) + (runtime?.cpuSystemMs ?? 0);
  if (step?.hooked !== true || costMs < TRANSFORM_MS || costMs < wholeMs * TRANSFORM_SHARE) return null;
  if (cpuMs < Math.max(TRANSFORM_MS, costMs * COMPUTED)) return null;
  // The handler wrote the body piece by piece.
  const { headersAtMs } = response;
  const work = [...(database?.queries ?? []), ...(http_client?.calls ?? [])];
  if (work.some((one) => endOf(one) > headersAtMs && one.startMs < wholeMs)) return null;
  const author = authorOf(request, routing, header.anchor);
  const sentence = `${nameOfLayer(author)} compressed the body (${excerpt(header.value, 20)}, ${bytesText(response.bytes)} sent) after the handler had passed it on: ${shareOf(costMs, wholeMs)}`;
  return { severity: 'warn', sentence, costMs, anchor: header.anchor, place: author?.source };
}

/** An interceptor of NestJS whose own time is not that of the controller or of other work, such as a serializer. */
function intercepting(
  { spans, routing, database, http_client }: Transforming,
  wholeMs: number,
): FindingDraft | null {
  const items = spans?.items ?? [];
  const work = [...(database?.queries ?? []), ...(http_client?.calls ?? [])];
  for (const [at, span] of items.entries()) {
    const name = /^Interceptor (.+)/.exec(span.name)?.[1];
    const inner = items.filter(({ inside }) => inside === at);
    if (name === undefined || inner.length === 0 || span.durationMs === null) continue;
    const isWithin = ({ startMs }: Interval, around: Interval): boolean =>
      startMs >= around.startMs && startMs < endOf(around);
    const costMs = inner.reduce((ms, { durationMs }) => ms - (durationMs ?? Infinity), span.durationMs);
    if (costMs < TRANSFORM_MS || costMs < wholeMs * TRANSFORM_SHARE) continue;
    if (work.some((one) => isWithin(one, span) && !inner.some((part) => isWithin(one, part)))) continue;
    const sentence = `The interceptor ${excerpt(name, 80)} took ${shareOf(costMs, wholeMs)}, without ${excerpt(inner[0]?.name ?? '', 80)}, which it is around`;
    return {
      severity: 'warn',
      sentence,
      costMs,
      panel: 'spans',
      anchor: `s${at + 1}`,
      place: span.caller ?? routing?.route?.source,
    };
  }
  return null;
}

const slowTransform: Rule<Transforming> = {
  name: 'slow-transform',
  needs: ['request'],
  labels: ['slow transform'],
  why: 'A middleware set Content-Encoding when the headers were sent, and compressing took at least 100 ms and 30 % of the request; or an interceptor took so long beside the controller that it is around, without a statement or call of its own.',
  fix: 'Compress with a lower quality (Brotli 4 or 5, gzip 6), or once: a cache, a file that is compressed in advance. Serialize fewer rows, or plain objects.',
  find(kept, { durationMs }, from) {
    if (durationMs === null || durationMs < TRANSFORM_MS) return [];
    const found = [compressing(kept, durationMs), intercepting(kept, durationMs)];
    return found
      .filter((one) => one !== null)
      .filter(({ costMs = 0 }) => certainMs(costMs, from.time) >= TRANSFORM_MS);
  },
};

/** A JSON string that begins like an object or a list of JSON. */
const TWICE = /^"(?:\{(?:\\"|\})|\[(?:\{|\[|\\"|\]|-?\d))/;

const jsonTwice: Rule<Needs<'request', 'routing'>> = {
  name: 'json-twice',
  needs: ['request'],
  labels: ['JSON in JSON'],
  why: 'The response is JSON, and all of it is one string that begins like JSON.',
  fix: 'Pass the value itself: `res.json(rows)`, not `res.json(JSON.stringify(rows))`.',
  find({ request, routing }, { status }) {
    const { response } = request;
    if (status === null || !TWICE.test(response?.text ?? '')) return [];
    if (!/[/+]json$/.test(mediaTypeOf(response?.contentType ?? null))) return [];
    const place = placeOfHeader({ request, routing }, sentHeader(request, 'content-type')?.anchor);
    const sentence = 'The response was serialized twice: it is a string that contains JSON';
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'response', place }];
  },
};

function isJson(text: string): boolean {
  return /^\s*(?:\{\s*["}]|\[\s*[[{"\d\]])/.test(text) && parseJson(text) !== undefined;
}

const wrongType: Rule<Needs<'request', 'routing'>> = {
  name: 'wrong-type',
  needs: ['request'],
  labels: ['wrong type'],
  why: 'All of the body is JSON but its Content-Type is that of a page, or it is a page but its type is JSON or plain text.',
  fix: 'Use `res.json(value)` for JSON: `res.send(text)` takes any text for HTML. Set the type of a page (`res.type("html")`) if you write it yourself.',
  find({ request, routing }, { status }) {
    const { response } = request;
    const text = response?.text ?? '';
    const type = mediaTypeOf(response?.contentType ?? null);
    if (status === null || status >= 400 || response?.truncated === true || text === '') return [];
    const isPage = /^\s*<(?:!doctype html|html)[\s>]/i.test(text);
    const wrong =
      type === 'text/html' && isJson(text)
        ? 'JSON'
        : isPage && (type === 'text/plain' || /[/+]json$/.test(type))
          ? 'an HTML page'
          : null;
    if (wrong === null) return [];
    const header = sentHeader(request, 'content-type');
    const place = placeOfHeader({ request, routing }, header?.anchor);
    const sentence = `The body is ${wrong}, but it was sent as ${type}`;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: header?.anchor ?? 'response', place }];
  },
};

/** The beginning of a tag. Shorter texts are found by chance. */
const MARKUP = /<[a-z!/][^]{2,}/i;
/** In a form, other markup is the text of an editor. */
const SCRIPT = /<(?:script|iframe|object|embed|svg|math|base|meta|link|form)\b|\son\w+\s*=|javascript:/i;
const LONGEST = 2000;

function inputsOf({ query, routeParams, body }: KeptRequest): [what: string, value: string][] {
  const given: [string, unknown, RegExp][] = [
    ...routeParams.map(({ name, value }): [string, unknown, RegExp] => [
      `the parameter ${name}`,
      value,
      MARKUP,
    ]),
    ...query.map(({ name, value }): [string, unknown, RegExp] => [`the query’s ${name}`, value, MARKUP]),
    ...(body?.fields ?? []).map(({ name, value }): [string, unknown, RegExp] => [
      `the field ${name}`,
      value,
      SCRIPT,
    ]),
  ];
  return given.flatMap(([what, value, pattern]): [string, string][] =>
    typeof value === 'string' && value.length <= LONGEST && pattern.test(value)
      ? [[what.slice(0, 80), value]]
      : [],
  );
}

function pageOf({ response }: KeptRequest): string | null {
  return mediaTypeOf(response?.contentType ?? null) === 'text/html' ? (response?.text ?? null) : null;
}

const RUNS = /<script\b|<[a-z][^<>]*\son\w+\s*=|javascript:/i;

/** A text with a script that an earlier request to another address brought, and that the page has as it was sent. */
function storedScript(text: string, siblings: readonly OtherRequest[]): string | null {
  for (const { head, kept } of siblings) {
    const request = kept.request;
    if (request === undefined || head.method === 'GET' || (head.status ?? 500) >= 400) continue;
    const field = receivedFields({ body: request.body }).find(
      ({ value }) => typeof value === 'string' && RUNS.test(value) && text.includes(value),
    );
    if (field !== undefined)
      return `the ${excerpt(field.path, 60)} that ${head.method} ${excerpt(head.route ?? head.url, 80)} received (${head.token})`;
  }
  return null;
}

/** A tag that runs something, as far as it goes. */
const RUNNING_TAG = /<script\b[^<>]*>[^<]*|<[a-z][^<>]*\son\w+\s*=[^<>]*>/i;
/** Columns that are meant to hold such a tag. */
const OF_MARKUP = /html|markup|embed|script|widget|snippet|template/i;

/** A text with a script that a statement of the request found, and that the page has as it was stored. */
function scriptOfRow(text: string, database: Database | undefined): string | null {
  for (const query of database?.queries ?? [])
    for (const row of foundRows(query))
      for (const [column, value] of Object.entries(row)) {
        const tag =
          typeof value === 'string' && !OF_MARKUP.test(column) ? RUNNING_TAG.exec(value)?.[0] : null;
        if (database !== undefined && tag && text.includes(tag))
          return `the ${excerpt(column, 40)} that ${labelOf(database, query)} found`;
      }
  return null;
}

const unescapedInput: Rule<Needs<'request', 'routing' | 'database'>> = {
  name: 'unescaped-input',
  needs: ['request'],
  labels: ['unescaped input'],
  why: 'A parameter, query value or form field with a tag appears unescaped in the HTML of the response. So does a script of an earlier request to another address, or of a row whose column is not named for markup.',
  fix: 'Let a template escape it (`<%= … %>` in EJS, not `<%- … %>`), or respond with text or JSON. Sanitize HTML before you print it (`sanitize-html`).',
  relates: ({ request }) => pageOf(request) !== null && RUNS.test(pageOf(request) ?? ''),
  find({ request, routing, database }, _head, { siblings }) {
    const text = pageOf(request);
    if (text === null) return [];
    const found = inputsOf(request).find(([, value]) => text.includes(value));
    const sent = found?.[0] ?? storedScript(text, siblings);
    const what = sent ?? scriptOfRow(text, database);
    if (what === null) return [];
    const how = sent === null ? 'as it is stored' : 'as it was sent';
    const place = placeOfHeader({ request, routing }, sentHeader(request, 'content-type')?.anchor);
    const sentence = `The HTML of the response contains ${what} ${how}, not escaped: its markup runs in the page`;
    return [{ broke: 'unseen', severity: 'bad', sentence, anchor: 'response', place }];
  },
};

/** Names of what belongs to one visitor. */
const PERSONAL =
  /user|member|account|customer|login|profile|session|cart|basket|flash|message|notice|alert|error|csrf|token|tenant/i;
const SHORTEST_SHOWN = 4;

const appLocals: Rule<Needs<'request', 'routing'>> = {
  name: 'app-locals',
  needs: ['request'],
  labels: ['shared by all'],
  why: 'A request put a value into `app.locals`, which all requests and views share: its name is that of something personal, or requests put different values there. This response has it.',
  fix: 'Put values of one request into `res.locals`. Set `app.locals` only when the application starts.',
  find({ request }, { token }) {
    const text = request.response?.text ?? '';
    return (request.appLocals ?? []).flatMap(({ name, value, by, source, times }): FindingDraft[] => {
      if (times < 2 && !PERSONAL.test(name)) return [];
      const shown = leavesOf(value).find(
        (leaf) =>
          typeof leaf.value === 'string' &&
          leaf.value.length >= SHORTEST_SHOWN &&
          !isMasked(leaf.value) &&
          text.includes(leaf.value),
      );
      if (shown === undefined) return [];
      const path = excerpt([name, shown.path].filter(Boolean).join('.'), 60);
      const sentence =
        by === token
          ? `This request put ${name} into app.locals: every other visitor sees it, too`
          : `The response shows ${path}, which another request (${by}) put into app.locals: all visitors share it`;
      const severity = by === token ? 'warn' : 'bad';
      return [{ broke: 'unseen', severity, sentence, anchor: 'response', place: source }];
    });
  },
};

export const responseRules: readonly Rule[] = [
  slowTransform,
  answeredTwice,
  nextAfterResponse,
  wrongLength,
  jsonTwice,
  wrongType,
  unescapedInput,
  appLocals,
];
