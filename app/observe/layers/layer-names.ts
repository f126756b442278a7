/** Names that a layer puts on the request, where later ones find them, and those that it takes from the body. */
import { types } from 'node:util';
import { isRecord } from '../../profiler/json.ts';
import { truncateText } from '../../profiler/record/plain.ts';
import type { RoutedRequest } from './layer-call.ts';
import type { LayerFact } from './layer-fact.ts';

/** When the last layer began. */
export interface SeenNames {
  body: readonly string[];
  req: readonly string[];
  locals: readonly string[];
}

const MOST_NAMES = 100;
const MOST_PUT = 5;
/** Of a property; those that begin with `_` are a library's. Another text is data, and may be a secret that only its beginning tells. */
const NAME = /^[\p{L}$][\p{L}\p{N}_$-]{0,99}$/u;
/** Names that Express, parsers and sessions put on each request; `length` is that of a body, for the reader of its stream. */
const OF_EACH = [
  'res', 'next', 'url', 'baseUrl', 'originalUrl', 'params', 'route', 'query', 'body', 'length', 'cookies', 'signedCookies', 'secret',
  'session', 'sessionID', 'sessionStore',
]; // prettier-ignore
const MOST_REMOVED = 20;
const LONGEST_NAME = 100;

function bodyNamesOf({ body }: RoutedRequest): readonly string[] | null {
  return isRecord(body) && !Buffer.isBuffer(body) ? Object.keys(body).slice(0, MOST_NAMES) : null;
}

/** The first names that an object has got since, of values. */
function namesPut(
  object: object,
  before: readonly string[],
  names: readonly string[],
  ofEach: Iterable<string> = [],
): string[] {
  if (names.length <= before.length) return [];
  // An application may put thousands of texts there.
  const known = new Set([...before, ...ofEach]);
  const put: string[] = [];
  for (const name of names) {
    if (put.length === MOST_PUT) break;
    if (known.has(name) || !NAME.test(name)) continue;
    if (typeof Object.getOwnPropertyDescriptor(object, name)?.value !== 'function') put.push(name);
  }
  return put;
}

/** The layer that ran last may have replaced the body, as validators do. */
export function noteRemoved(seen: SeenNames, req: RoutedRequest, last: LayerFact | undefined): void {
  const names = bodyNamesOf(req);
  if (names === null) return;
  const removed = seen.body.filter((name) => !names.includes(name));
  if (last !== undefined && removed.length > 0)
    last.removed = removed.slice(0, MOST_REMOVED).map((name) => truncateText(name, LONGEST_NAME));
  seen.body = names;
}

/** A layer may put the user, or checked values, where later ones find them: until it returns, and until the next one begins. */
export function notePut(seen: SeenNames, req: RoutedRequest, fact: LayerFact | undefined): void {
  if (types.isProxy(req)) return;
  const { locals } = req.res ?? {};
  const known = isRecord(locals) && !types.isProxy(locals) ? locals : {};
  const reqNames = Object.keys(req);
  const localNames = Object.keys(known);
  if (fact !== undefined && seen.req.length > 0) {
    const put = [
      ...namesPut(req, seen.req, reqNames, OF_EACH).map((name) => `req.${name}`),
      ...namesPut(known, seen.locals, localNames).map((name) => `res.locals.${name}`),
    ];
    if (put.length > 0) fact.put = [...(fact.put ?? []), ...put].slice(0, MOST_PUT);
  }
  seen.req = reqNames;
  seen.locals = localNames;
}
