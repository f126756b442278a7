/** The received values in the order in which the application got them, the user, and the handler. */
import type { Json } from '../../profiler/json.ts';
import type { Profile } from '../../profiler/profile.ts';
import { namedHeader } from '../../profiler/record/raw-headers.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { bytesText, count } from '../../view-helpers/numbers.ts';
import { changeOf, type ComparedValue } from '../shared/compare-values.ts';
import { sentBefore } from '../shared/form-parts.ts';
import { parseBeginning } from '../shared/json-leaves.ts';
import { dataOf } from '../shared/panel-data.ts';
import { receivedFields } from '../shared/received.ts';
import type { ReceivedBody, ReceivedFile, RequestPanelData } from '../request/data.ts';
import type { Ran } from './ran.ts';
import { lineOf, type Step } from './step.ts';
import { valueLine } from '../../view-helpers/value-line.ts';

const LONGEST = 400;
const LONGEST_TEXT = 600;
const BY_ITSELF =
  /^(?:host|connection|keep-alive|user-agent|accept-encoding|content-length|content-encoding|transfer-encoding|te|trailer|expect|date|upgrade.*|cookie|referer|cache-control|pragma|dnt|priority|purpose|save-data|sec-.*|access-control-request-.*|via|forwarded|x-forwarded-(?!host|proto).*|x-(?:real|client|cluster-client|original|envoy|request|correlation|trace|b3|amzn?|cloud|datadog|vercel|azure|arr|appengine|nf|github-request)(?:-.*)?|traceparent|tracestate|baggage|b3|sentry-trace|cf-.*|cdn-.*|fly-.*|fastly-.*|true-client-ip|http2-settings|postman-token)$/i;
export const MOST_HEADERS = 12;
/** Sent by every client, whatever it wants. */
const USUAL: Readonly<Record<string, RegExp>> = {
  accept: /^\*\/\*$|^text\/html,/,
  'accept-language': /^\*$/,
};
const WRITES = /^(?:POST|PUT|PATCH)$/;

/** Set by a client or proxy, whatever the application wants. */
export function isByItself(name: string): boolean {
  return BY_ITSELF.test(name);
}

function objectOf(pairs: readonly { name: string; value: unknown }[]): Json {
  const values = new Map<string, Json>();
  for (const { name, value } of pairs) {
    const known = values.get(name) ?? null;
    const all = [...(Array.isArray(known) ? known : [known]), value as Json];
    values.set(name, values.has(name) ? all : (value as Json));
  }
  return Object.fromEntries(values);
}

function changedIn(compared: readonly ComparedValue[], where: string): Set<string> {
  const start = `${where} `;
  return new Set(
    compared.flatMap(({ change, received: { field } }) =>
      change !== null && field.startsWith(start) ? [field.slice(start.length)] : [],
    ),
  );
}

/** A parsed body that is a `Buffer` is stored as such a text. Its own text may be recorded, too. */
const BYTES = '[Buffer, ';

function bodyStep(
  body: NonNullable<RequestPanelData['body']>,
  { parser, handler }: Ran,
  compared: readonly ComparedValue[],
): Step {
  const { bytes, contentType, fields, parsed, text, truncated, unread = false } = body;
  const size = `${bytesText(bytes)}${contentType === null ? '' : `, ${contentType.replace(/;.*$/s, '').slice(0, 60)}`}`;
  const common = { label: 'body', href: '?panel=request#body' };
  const isBytes = text !== null && typeof parsed === 'string' && parsed.startsWith(BYTES);
  if (fields !== null || (parsed !== undefined && !isBytes)) {
    const where = fields === null ? 'body' : 'form';
    const line = valueLine(fields === null ? (parsed as Json) : objectOf(fields), {
      longest: LONGEST,
      marked: changedIn(compared, where),
    });
    return {
      ...common,
      ...lineOf(line),
      number: parser?.endMs ?? null,
      note: noteOf([size, parser?.name]),
      place: parser?.place ?? null,
    };
  }
  const note = noteOf([
    size,
    isBytes
      ? parser?.name
      : unread
        ? 'not read before the response'
        : handler?.isMounted === true
          ? null
          : 'not parsed by Express middleware',
    text === null ? 'not recorded as text' : truncated ? 'only its beginning' : null,
  ]);
  if (text === null || text === '') return { ...common, note };
  const json = parseBeginning(text);
  return {
    ...common,
    ...(json === undefined
      ? { text: text.slice(0, LONGEST_TEXT).toWellFormed() }
      : lineOf(valueLine(json.value, { longest: LONGEST }))),
    note,
  };
}

function fileStep(body: ReceivedBody, file: ReceivedFile): Step {
  const { field, name, bytes, byteOrderMark } = file;
  return {
    label: 'file',
    text: `${field}: ${name}`,
    note: noteOf([
      bytesText(bytes),
      sentBefore(body, file),
      byteOrderMark === true ? 'begins with a byte order mark' : null,
    ]),
  };
}

function handlerStep({ method, url, status }: Profile, { handler, answered }: Ran): Step[] {
  const ran = handler ?? answered;
  if (ran === null)
    return [
      {
        label: 'route',
        text: `${method} ${pathOf(url)}`.slice(0, 300),
        note: 'no route matched',
        href: '?panel=routing',
      },
    ];
  const { name, isHandler, startMs, place } = ran;
  return [
    {
      label: isHandler ? 'handler' : status === null ? 'reached last' : 'sent by',
      text: name,
      note: isHandler ? ran.handler : 'no route was reached',
      ...(ran.threw ? { tone: 'bad' as const, badges: ['threw'] } : {}),
      number: startMs,
      place,
      href: '?panel=routing',
    },
  ];
}

/** Without both, the application can’t know who asks. */
function credentialsText({ headers, jar }: RequestPanelData): string | null {
  if (jar.length > 0)
    return `${count(jar.length, 'cookie')}: ${jar.map(({ name }) => name).join(', ')}`.slice(0, 120);
  const told = namedHeader(headers, 'cookie') ?? namedHeader(headers, 'authorization');
  return told === null ? 'no cookie, no authorization' : null;
}

function headersStep(request: RequestPanelData): Step[] {
  const { headers } = request;
  const deciding = headers.filter(
    ({ name, value }) => !isByItself(name) && !(USUAL[name.toLowerCase()]?.test(value) ?? false),
  );
  deciding.length = Math.min(deciding.length, MOST_HEADERS);
  const rest = headers.length - deciding.length;
  const text = deciding.map(({ name, value }) => `${name.toLowerCase()}: ${value.slice(0, 120)}`).join(' · ');
  const others = rest > 0 ? count(rest, text === '' ? 'header' : 'other') : null;
  const note = noteOf([others, credentialsText(request)]);
  const href = '?panel=request#request-headers';
  return [text === '' ? { label: 'headers', text: note, href } : { label: 'headers', text, note, href }];
}

/** `a → a → b` -> `a × 2 → b`: Sails calls one function for each of its hooks. */
function runsText(names: readonly string[]): string {
  const starts = [...names.keys()].filter((at) => names[at] !== names[at - 1]);
  return starts
    .map((at, run) => {
      const times = (starts[run + 1] ?? names.length) - at;
      return `${names[at] ?? ''}${times > 1 ? ` × ${times}` : ''}`;
    })
    .join(' → ');
}

/** A guard that is missing shows only by its absence. */
function middlewareStep({ before, handler }: Ran): Step[] {
  if (before.length === 0 && handler === null) return [];
  const text = before.length === 0 ? 'none ran before the handler' : runsText(before);
  return [{ label: 'middleware', text: text.slice(0, LONGEST), href: '?panel=routing' }];
}

/** Pipes of NestJS: without it, a reader takes the received text for the value that the handler got. */
function pipeSteps(profile: Profile, request: RequestPanelData): Step[] {
  const received = receivedFields(request);
  return (dataOf(profile, 'spans')?.items ?? []).flatMap(({ name, startMs, caller, converted }): Step[] => {
    const changed = (converted?.fields ?? []).filter((field) =>
      received.some(
        ({ path, value }) =>
          path === field.name && typeof value === 'string' && changeOf(value, field.value, true) === 'value',
      ),
    );
    if (changed.length === 0) return [];
    const line = valueLine(objectOf(changed), {
      longest: LONGEST,
      marked: new Set(changed.map((field) => field.name)),
    });
    const note = noteOf([name, converted?.as ?? null]);
    return [
      { label: 'after pipes', ...lineOf(line), number: startMs, note, place: caller, href: '?panel=spans' },
    ];
  });
}

export function receivedSteps(
  profile: Profile,
  { ran, compared }: { ran: Ran; compared: readonly ComparedValue[] },
): Step[] {
  const request = dataOf(profile, 'request');
  if (request === null) return [];
  const { routeParams, query, body, sessionAndUser } = request;
  const handler = handlerStep(profile, ran);
  const values = (label: string, where: string, value: Json, at: number | null): Step => ({
    label,
    ...lineOf(valueLine(value, { longest: LONGEST, marked: changedIn(compared, where) })),
    number: at,
    href: '?panel=request',
  });
  const { user } = sessionAndUser ?? {};
  return [
    ...(query.length === 0 ? [] : [values('query', 'query', objectOf(query), 0)]),
    ...headersStep(request),
    ...(body === null ? [] : [bodyStep(body, ran, compared)]),
    ...(body === null && WRITES.test(profile.method) ? [{ label: 'body', note: 'none was sent' }] : []),
    ...(body === null ? [] : body.files.map((file) => fileStep(body, file))),
    ...(user === undefined || user === null
      ? []
      : [{ ...values('user', 'user', user, null), note: 'req.user at the end' }]),
    ...(routeParams.length === 0
      ? []
      : [values('path', 'path', objectOf(routeParams), handler[0]?.number ?? null)]),
    ...middlewareStep(ran),
    ...handler,
    ...pipeSteps(profile, request),
  ];
}
