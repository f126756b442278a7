/** Differences between a request and the others of its route: work, fields and headers. Silent with fewer than five others. */
import { isControl } from '../../profiler/transaction-sql.ts';
import type { RouteAround } from '../../profiler/read/finding-rule.ts';
import { isRecord, type Json } from '../../profiler/json.ts';
import type { ProfileHead } from '../../profiler/profile.ts';
import { pathOf } from '../../profiler/request-target.ts';
import type { Steps } from '../../profiler/turns.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { layerName } from '../shared/header-authors.ts';
import { parseBeginning } from '../shared/json-leaves.ts';
import type { Kept as AllKept } from '../shared/panel-data.ts';
import type { RanLayer } from '../shared/ran-layers.ts';
import { aboutStatement } from '../shared/about-statement.ts';
import { isInLibrary } from '../../profiler/read/rows.ts';
import { labelOf } from '../shared/statements.ts';

export interface Difference {
  kind: string;
  text: string;
  note: string;
  place: string | null;
}

export interface Differences {
  count: number;
  missing: Difference[];
  only: Difference[];
  stays: Difference[];
  /** What others asked for, if this one asked for nothing. */
  spared: Difference[];
}

const FEWEST = 5;
/** So many of the others have it: usual. */
const MOST = 0.8;
const MOST_SHOWN = 5;
const LONGEST = 160;
const MOST_FIELDS = 200;
/** Routes below the same segment that tell which middleware belongs there. */
const FEWEST_SIBLINGS = 3;
const MISS = ': miss';
/** Of a cache in the process: its value comes from memory. */
const IN_MEMORY = 'cache';
/** Kinds of work that a cache spares. */
const SPARED: ReadonlySet<string> = new Set(['query', 'redis', 'call']);
const CHANGING: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
/** Names of middleware that protects what it stands before. */
const PROTECTS = /auth|admin|guard|require|ensure|permission|role|login|acl|csrf|protect|^can[A-Z_]/i;
/** Parts of a key or path that are values. */
const VALUE = /\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}/gi;
/** Headers that depend on the moment, the connection or the client. */
const VARYING =
  /^(?:date|connection|keep-alive|transfer-encoding|content-length|etag|x-request-id|x-debug-.*|x-response-time|server-timing|age|expires|last-modified|x-ratelimit.*|ratelimit.*|set-cookie)$/i;

type Kept = Partial<AllKept>;
type Around = RouteAround<Kept>;

interface Seen {
  kind: string;
  text: string;
  place: string | null;
}

function layersIn({ routing }: Kept): readonly RanLayer[] {
  return routing?.layers ?? [];
}

function ranIn(kept: Kept): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  const add = (kind: string, text: string, place: string | null = null): void => {
    const key = `${kind} ${text}`;
    if (!seen.has(key)) seen.set(key, { kind, text: text.slice(0, LONGEST), place });
  };
  const { statements = [], queries = [] } = kept.database ?? {};
  const asked = new Set<number>();
  for (const { statement, caller } of queries) {
    if (asked.has(statement)) continue;
    asked.add(statement);
    const { sql = '', system } = statements[statement] ?? {};
    if (sql !== '' && !isControl(sql)) add('query', aboutStatement(sql, system).shape, caller);
  }
  for (const { system, command, key, asked, hits, caller } of kept.cache?.items ?? []) {
    const kind = system === 'memory' ? IN_MEMORY : 'redis';
    if (isInLibrary(caller)) continue;
    const name = `${command} ${(key ?? '').replace(VALUE, '…')}`.trim();
    add(kind, name, caller);
    if (asked === 1 && hits === 0) add(kind, `${name}${MISS}`, caller);
  }
  for (const { method, url, status, caller } of kept.http_client?.calls ?? []) {
    const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: pathOf(url) };
    const name = `${method} ${host}${pathname.replace(VALUE, '…')}`;
    add('call', name, caller);
    if (status !== null && status >= 400) add('call', `${name}: ${status}`, caller);
  }
  for (const { queue, name, caller } of kept.jobs?.items ?? []) add('job', `${queue}/${name}`, caller);
  for (const { name } of kept.views?.views ?? []) add('view', name);
  for (const layer of layersIn(kept))
    if (layer.kind === 'middleware') add('middleware', layerName(layer), layer.source);
  for (const { name } of kept.request?.query ?? []) add('parameter', name);
  return seen;
}

function headersIn(kept: Kept): Map<string, Seen> {
  const names = (kept.request?.response?.headers ?? []).map(({ name }) => name.toLowerCase());
  const sent = names.filter((name) => !VARYING.test(name));
  return new Map(sent.map((text) => [text, { kind: 'response header', text, place: null }]));
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'string')
    return /^-?\d+(?:\.\d+)?$/.test(value) ? 'text of digits' : value === '' ? 'empty text' : 'text';
  return typeof value === 'object' ? 'an object' : typeof value;
}

function typesOf(value: Json | undefined): Map<string, Set<string>> {
  const types = new Map<string, Set<string>>();
  const walk = (part: Json, path: string, depth: number): void => {
    if (types.size >= MOST_FIELDS || depth > 8) return;
    if (path !== '') types.set(path, (types.get(path) ?? new Set()).add(typeOf(part)));
    if (Array.isArray(part)) for (const item of part.slice(0, 50)) walk(item, `${path}[]`, depth + 1);
    else if (isRecord(part))
      for (const [name, item] of Object.entries(part))
        walk(item, path === '' ? name : `${path}.${name}`, depth + 1);
  };
  if (value !== undefined) walk(value, '', 0);
  return types;
}

function receivedIn(kept: Kept): Json | undefined {
  const body = kept.request?.body;
  return body?.fields
    ? Object.fromEntries(body.fields.map(({ name, value }) => [name, value]))
    : body?.parsed;
}

/** The JSON of the response, or its beginning. */
export function sentIn(kept: Kept): Json | undefined {
  const response = kept.request?.response;
  return /\bjson\b/i.test(response?.contentType ?? '')
    ? parseBeginning(response?.text ?? '')?.value
    : undefined;
}

const of = (some: number, all: number): string =>
  `${numberHelpers.count(some)} of ${numberHelpers.count(all)} others`;

interface Found {
  missing: Difference[];
  only: Difference[];
}

function compareSeen(own: Kept, others: readonly Kept[], seenIn: (kept: Kept) => Map<string, Seen>): Found {
  const mine = seenIn(own);
  const theirs = others.map(seenIn);
  const counts = new Map<string, { seen: Seen; count: number }>();
  for (const [key, seen] of theirs.flatMap((one) => [...one])) {
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { seen, count: 1 });
    else known.count++;
  }
  // A read that found its key here spared the work that others did after a miss.
  const isSpared = [...counts.keys()].some(
    (key) => key.endsWith(MISS) && !mine.has(key) && mine.has(key.slice(0, -MISS.length)),
  );
  const isUsual = (key: string): boolean => (counts.get(key)?.count ?? 0) >= others.length * MOST;
  // The same question with another condition, as the second page of a list asks it.
  const variants = new Set(
    [...mine].flatMap(([key, { kind, text }]) => (kind === 'query' && !isUsual(key) ? [labelOf(text)] : [])),
  );
  return {
    missing: [...counts].flatMap(([key, { seen, count }]) =>
      !mine.has(key) &&
      isUsual(key) &&
      !(isSpared && (SPARED.has(seen.kind) || seen.kind === IN_MEMORY)) &&
      !(seen.kind === 'query' && variants.has(labelOf(seen.text)))
        ? [{ ...seen, note: `${of(count, others.length)} have it` }]
        : [],
    ),
    only: [...mine].flatMap(([key, seen]) =>
      counts.has(key) ? [] : [{ ...seen, note: `none of ${numberHelpers.count(others.length, 'other')}` }],
    ),
  };
}

function compareFields(kind: string, own: Json | undefined, others: readonly (Json | undefined)[]): Found {
  const known = others.flatMap((one) => (one === undefined ? [] : [typesOf(one)]));
  const found: Found = { missing: [], only: [] };
  if (own === undefined || known.length < FEWEST) return found;
  const mine = typesOf(own);
  const reported: string[] = [];
  const isBelow = (path: string): boolean =>
    reported.some((one) => path.startsWith(`${one}.`) || path.startsWith(`${one}[`));
  const report = (list: Difference[], path: string, text: string, note: string): void => {
    if (isBelow(path)) return;
    reported.push(path);
    list.push({ kind, text: text.slice(0, LONGEST), note, place: null });
  };
  for (const [path, types] of mine) {
    const having = known.flatMap((one) => one.get(path) ?? []);
    if (having.length === 0) {
      // Another object than that of the others.
      report(found.only, path, path, `none of ${numberHelpers.count(known.length, 'other')} has it`);
      continue;
    }
    if (having.length < known.length * MOST) continue;
    for (const type of types) {
      if (having.some((one) => one.has(type))) continue;
      const usual = [...new Set(having.flatMap((one) => [...one]))].join(' or ');
      report(found.only, path, `${path} is ${type}`, `${usual} in ${of(having.length, known.length)}`);
    }
  }
  for (const path of new Set(known.flatMap((one) => [...one.keys()]))) {
    const count = known.filter((one) => one.has(path)).length;
    if (mine.get(path.slice(0, path.lastIndexOf('[]')))?.has('an empty list') === true) continue;
    if (!mine.has(path) && count >= known.length * MOST)
      report(found.missing, path, path, `${of(count, known.length)} have it`);
  }
  return found;
}

/** The same response to other parameters of the path. */
function staysTheSame({ own, earlier }: Around): Difference[] {
  const { method, status } = own.head;
  const { response, routeParams = [] } = own.kept.request ?? {};
  const text = response?.text ?? '';
  if (
    method !== 'GET' ||
    status !== 200 ||
    routeParams.length === 0 ||
    text.length < 10 ||
    sentIn(own.kept) === undefined
  )
    return [];
  const paramsOf = (kept: Kept): string => JSON.stringify(kept.request?.routeParams ?? []);
  const alike = earlier.filter(({ kept }) => kept.request?.response?.text === text);
  const inputs = new Set([own, ...alike].map(({ kept }) => paramsOf(kept)));
  const all = new Set([own, ...earlier].map(({ kept }) => paramsOf(kept)));
  // Every one of the different inputs got it.
  if (inputs.size <= FEWEST || inputs.size < all.size) return [];
  const names = routeParams.map(({ name }) => name).join(', ');
  return [
    {
      kind: 'response',
      text: `the same for each ${names}`,
      note: `${numberHelpers.count(inputs.size)} different values of it`,
      place: null,
    },
  ];
}

function areaOf(route: string | null): string | null {
  const [, first, second] = (route ?? '').split('/');
  if (first === undefined || first === '' || first.startsWith(':') || second === undefined) return null;
  return `/${first}`;
}

function missingMiddleware({ own, siblings }: Around): Difference[] {
  const { route, status } = own.head;
  const area = areaOf(route);
  if (area === null || status === null || status >= 400) return [];
  const routes = new Map<string, Map<string, RanLayer>>();
  for (const { head, kept } of siblings) {
    const name = `${head.method} ${head.route ?? ''}`;
    if (areaOf(head.route) !== area || routes.has(name) || (head.status ?? 500) >= 400) continue;
    const ran = layersIn(kept).filter(({ kind }) => kind === 'middleware');
    routes.set(name, new Map(ran.map((layer) => [layerName(layer), layer])));
  }
  const all = [...routes.values()];
  if (all.length < FEWEST_SIBLINGS) return [];
  const mine = new Set(layersIn(own.kept).map(layerName));
  return [...(all[0] ?? [])].flatMap(([name, { source }]): Difference[] =>
    mine.has(name) || name.startsWith('a ') || !all.every((one) => one.has(name))
      ? []
      : [
          {
            kind: 'middleware',
            text: name,
            note: `all ${numberHelpers.count(all.length)} other routes below ${area} that ran lately`,
            place: source,
          },
        ],
  );
}

/** Middleware that protects the same path for another method, and not for this one. */
function missingProtection({ own, siblings }: Around): Difference[] {
  const { route, method, status } = own.head;
  if (route === null || !CHANGING.has(method) || status === null || status >= 400) return [];
  const mine = new Set(layersIn(own.kept).map(({ name }) => name));
  const found = new Map<string, Difference>();
  for (const { head, kept } of siblings) {
    if (head.route !== route || head.method === method || !CHANGING.has(head.method)) continue;
    // Also among the handlers of the route.
    for (const { name, source } of layersIn(kept))
      if (PROTECTS.test(name) && !mine.has(name))
        found.set(name, {
          kind: 'middleware',
          text: name,
          note: `${head.method} ${route} runs it`,
          place: source,
        });
  }
  return [...found.values()];
}

/** Of a call or command, as `ranIn` writes it beside the one without. */
const OUTCOME = /: (?:miss|\d{3})$/;

/** It asked no database, store or service, and earlier ones did: a value may have come from memory. */
function sparedWork(own: Kept, others: readonly Kept[]): Difference[] {
  const asked = (kept: Kept): Seen[] =>
    [...ranIn(kept).values()].filter(({ kind, text }) => SPARED.has(kind) && !OUTCOME.test(text));
  if (asked(own).length > 0) return [];
  const found = new Map<string, Difference>();
  for (const seen of others.flatMap(asked)) {
    const count = others.filter((kept) => asked(kept).some(({ text }) => text === seen.text)).length;
    found.set(seen.text, {
      ...seen,
      note: `no query, call or Redis command ran here; ${of(count, others.length)} had this`,
    });
  }
  return [...found.values()].slice(0, MOST_SHOWN);
}

/** `2` of a success or redirect, `4` of a refusal, `5` of a failure. */
function endOf({ status }: ProfileHead): 2 | 4 | 5 {
  if (status === null || status >= 500) return 5;
  return status < 400 ? 2 : 4;
}

export function* differencesOf(given: RouteAround | null): Steps<Differences | null> {
  if (given === null) return null;
  const around = given as Around;
  const { own, earlier } = around;
  const protection = missingProtection(around);
  const siblings = protection.length > 0 ? protection : missingMiddleware(around);
  const end = endOf(own.head);
  const spared = sparedWork(
    own.kept,
    earlier.filter(({ head }) => endOf(head) === end).map(({ kept }) => kept),
  );
  if (earlier.length < FEWEST)
    return siblings.length + spared.length === 0
      ? null
      : { count: earlier.length, missing: siblings, only: [], stays: [], spared };
  const others = earlier.map(({ kept }) => kept);
  const ranBy = new Map<Kept, Map<string, Seen>>();
  for (const kept of [own.kept, ...others]) {
    ranBy.set(kept, ranIn(kept));
    yield;
  }
  // What a refused request did not come to says nothing, nor what a failed one ran because it failed.
  const ended = earlier
    .filter(({ head }) => [end, end === 5 ? 2 : end].includes(endOf(head)))
    .map(({ kept }) => kept);
  const ran =
    ended.length < FEWEST
      ? { missing: [], only: [] }
      : compareSeen(own.kept, ended, (kept) => ranBy.get(kept) ?? new Map<string, Seen>());
  // A refusal has another body than a success, and other headers; a 304 has none of the body's.
  const alike = earlier.filter(({ head }) => head.status === own.head.status).map(({ kept }) => kept);
  const headers = alike.length < FEWEST ? { missing: [], only: [] } : compareSeen(own.kept, alike, headersIn);
  const received = compareFields('request field', receivedIn(own.kept), others.map(receivedIn));
  // A query of GraphQL names the fields of its response.
  const isChosen = (own.kept.graphql?.items.length ?? 0) > 0;
  const sent = compareFields('response field', isChosen ? undefined : sentIn(own.kept), alike.map(sentIn));
  const parts = [ran, headers, received, sent];
  const missing = [...siblings, ...parts.flatMap((part) => part.missing)];
  const only = parts.flatMap((part) => part.only);
  return {
    count: earlier.length,
    missing: missing.slice(0, MOST_SHOWN),
    only: only.slice(0, MOST_SHOWN),
    stays: staysTheSame(around),
    spared: missing.some(({ kind }) => SPARED.has(kind)) ? [] : spared,
  };
}
