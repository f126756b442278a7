/** Data that a process holds between requests: lists that change, answers of another path, filters of another request. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type Leaf, leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { lastRunning, type RanLayer } from '../panels/shared/ran-layers.ts';
import { receivedBy, receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft, RuleBeside } from '../profiler/read/finding-rule.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';
import { addTo } from '../profiler/group-by.ts';
import { isRecord, type Json, parseJson } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { pathOf } from '../profiler/request-target.ts';
import { type Caller, callerOf, isSame } from './shared/callers.ts';
import { clientOf } from './shared/http.ts';
import type { Database, Kept, Needs, OtherRequest, Rule } from './shared/kept.ts';
import { givenText } from './shared/conditions.ts';
import { draftAt, kindOf, labelOf, type Read, readsOf, sqlOf, textOf } from './shared/queries.ts';
import { count, excerpt, listOf, requestText } from './shared/wording.ts';

type Given = Needs<'request' | 'routing', 'database' | 'http_client' | 'cache' | 'jobs'>;

function isFromMemory({ database, http_client, cache, jobs }: Partial<Kept>): boolean {
  return (
    (database?.queries.length ?? 0) === 0 &&
    (http_client?.calls.length ?? 0) === 0 &&
    (cache?.items.every(({ system }) => system === 'memory') ?? true) &&
    (jobs?.items.length ?? 0) === 0
  );
}

function isFoundByGet({ method, status }: ProfileHead): boolean {
  return method === 'GET' && status === 200;
}

interface List {
  name: string;
  entries: readonly string[];
}

/** Fewer entries are in reverse order by chance. */
const FEWEST = 3;
const MOST_DEEP = 4;
const MOST_READS = 5;
const MOST_LEAVES = 200;

function listsIn(value: Json, name: string, depth = 0): List[] {
  if (depth > MOST_DEEP) return [];
  if (Array.isArray(value)) return [{ name, entries: value.map((entry) => JSON.stringify(entry)) }];
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    listsIn(part, name === '' ? key : `${name}.${key}`, depth + 1),
  );
}

const ELEMENT = /<(li|tr|article|section|h2|h3|dt)\b[^<>]*>([^]{0,2000}?)<\/\1>/gi;

function listsOf({ response }: KeptRequest): List[] {
  const type = mediaTypeOf(response?.contentType ?? null);
  const text = response?.text ?? '';
  if (response?.truncated !== false) return [];
  if (/\bjson$/.test(type)) return listsIn(parseBeginning(text)?.value ?? null, '').filter(isLong);
  if (type !== 'text/html') return [];
  const byTag = new Map<string, string[]>();
  for (const [, tag = '', inner = ''] of text.matchAll(ELEMENT)) {
    const entry = inner
      .replace(/<[^<>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim();
    addTo(byTag, `<${tag.toLowerCase()}>`, entry);
  }
  return Array.from(byTag, ([name, entries]) => ({ name, entries })).filter(isLong);
}

function isLong({ entries }: List): boolean {
  return entries.length >= FEWEST;
}

/** Both without the entries that they begin and end with alike. */
function differing(one: readonly string[], other: readonly string[]): [readonly string[], readonly string[]] {
  let from = 0;
  while (from < one.length && one[from] === other[from]) from++;
  let to = one.length;
  while (to > from && one[to - 1] === other[to - 1]) to--;
  return [one.slice(from, to), other.slice(from, to)];
}

/** How the order of a list changed since an earlier response; null: it is the same, has other entries, or may be shuffled on purpose. */
function changeOf(own: List, before: List, between: readonly List[]): { reversed: number } | 'other' | null {
  if (own.name !== before.name || own.entries.length !== before.entries.length) return null;
  const [now, then] = differing(own.entries, before.entries);
  if (now.length < FEWEST || new Set(now).size !== now.length) return null;
  if (now.join('\n') === then.toReversed().join('\n')) return { reversed: now.length };
  if (now.toSorted().join('\n') !== then.toSorted().join('\n')) return null;
  const text = own.entries.join('\n');
  return between.some(({ name, entries }) => name === own.name && entries.join('\n') === text)
    ? 'other'
    : null;
}

function mayWrite({ head, kept }: OtherRequest): boolean {
  const { database } = kept;
  return (
    !/^(?:GET|HEAD|OPTIONS)$/.test(head.method) ||
    (database?.queries.some((query) => kindOf(database, query) === 'write') ?? false)
  );
}

const MOST_OTHERS = 20;

function isListFromMemory(kept: Given, head: ProfileHead): boolean {
  return isFoundByGet(head) && isFromMemory(kept) && listsOf(kept.request).length > 0;
}

const orderChanged: Rule<Given> = {
  name: 'order-changed',
  needs: ['request', 'routing'],
  labels: ['changed order'],
  why: 'A list of the response has the entries of an earlier response of this process to the same address in reverse order, or in that of a request in between. No statement, call or cache was asked, and no request in between wrote anything.',
  fix: 'Sort or reverse a copy: `list.toReversed()`, `list.toSorted(…)` or `[...list].reverse()`. `reverse()` and `sort()` change the array itself, so the list that a cache or a variable holds changes for all requests.',
  compares: isListFromMemory,
  relates: isListFromMemory,
  find(kept, head, { earlier, siblings }) {
    if (!isListFromMemory(kept, head)) return [];
    const own = listsOf(kept.request);
    const client = clientOf(kept.request);
    const mates = earlier.flatMap((one) => {
      const { request } = one.kept;
      const isMate =
        one.head.process === head.process &&
        isFoundByGet(one.head) &&
        request !== undefined &&
        clientOf(request) === client;
      return isMate ? [{ ...one, lists: listsOf(request) }] : [];
    });
    const before = mates.find((one) => one.head.url === head.url);
    if (before === undefined) return [];
    const isSince = (one: Pick<OtherRequest, 'head'>): boolean => one.head.startedAt > before.head.startedAt;
    const isUnknown = siblings.length >= MOST_OTHERS && siblings.every(isSince);
    if (isUnknown || [...earlier, ...siblings].some((one) => isSince(one) && mayWrite(one))) return [];
    const between = mates.filter(isSince).flatMap(({ lists }) => lists);
    for (const list of own) {
      const then = before.lists.find(({ name }) => name === list.name);
      const change = then === undefined ? null : changeOf(list, then, between);
      if (change === null) continue;
      const which = list.name === '' ? 'The response has' : `${excerpt(list.name, 40)} of the response has`;
      const order =
        change === 'other'
          ? `the entries of an earlier request (${before.head.token}) in the order that a request in between got`
          : `${count(change.reversed, 'entry', 'entries')} of an earlier request (${before.head.token}) in reverse order`;
      const call = change === 'other' ? 'sort()' : 'reverse()';
      const sentence = `${which} ${order}, and no statement or call ran: ${call} seems to change a list that the process holds`;
      const place = kept.routing.route?.source;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: 'response', place }];
    }
    return [];
  },
};

/** Shorter responses may be the same by chance. */
const SHORTEST = 40;

function responderOf({ routing, request }: Partial<Kept>): RanLayer | undefined {
  return routing === undefined ? undefined : lastRunning(routing.layers, request?.response?.headersAtMs);
}

function isMounted({ kind, pattern }: RanLayer): boolean {
  return kind === 'middleware' && pattern !== '/' && pattern !== '';
}

/** The address below the path that the layer is mounted at, with its query; null: it is not below it. */
function below({ url }: ProfileHead, { pattern }: RanLayer): string | null {
  const path = pathOf(url);
  if (path !== pattern && !path.startsWith(`${pattern}/`)) return null;
  const rest = path.slice(pattern.length);
  return `${rest === '' ? '/' : rest}${url.slice(path.length)}`;
}

function lastName({ pattern }: RanLayer): string {
  return pattern.split('/').at(-1)?.toLowerCase() ?? '';
}

/** A middleware of this name in another request, at another path, behind which the route responded. */
function passedIn({ layers }: KeptRouting, { name, pattern }: RanLayer): RanLayer | undefined {
  return layers.find(
    (layer) =>
      isMounted(layer) && layer.outcome === 'next' && layer.name === name && layer.pattern !== pattern,
  );
}

function isMiddlewareFromMemory(kept: Given, head: ProfileHead): boolean {
  if (!isFoundByGet(head) || (kept.request.response?.bytes ?? 0) < SHORTEST || !isFromMemory(kept))
    return false;
  const responder = responderOf(kept);
  return responder !== undefined && isMounted(responder);
}

const answerOfAnotherPath: Rule<Given> = {
  name: 'answer-of-another-path',
  needs: ['request', 'routing'],
  labels: ['another path'],
  why: 'A middleware that is mounted at a path responded, byte for byte as the route of another path had, without a statement or a call. The address below both mounts is the same, and that request had passed a middleware of the same name.',
  fix: 'Use `req.originalUrl` in the key of the cache: below the path of a mount (`app.use("/teams", …)`), `req.url` and `req.path` lack that path.',
  compares: isMiddlewareFromMemory,
  relates: isMiddlewareFromMemory,
  find(kept, head, { earlier, siblings }) {
    const responder = responderOf(kept);
    if (responder === undefined || !isMiddlewareFromMemory(kept, head)) return [];
    const { response } = kept.request;
    const isOwn = earlier.some(
      (one) =>
        one.kept.request?.response?.text === response?.text && responderOf(one.kept)?.kind === 'handler',
    );
    if (isOwn) return [];
    for (const { head: other, kept: made } of siblings) {
      const { request, routing } = made;
      if (other.process !== head.process || !isFoundByGet(other) || routing === undefined) continue;
      if (request?.response?.text !== response?.text || request?.response?.bytes !== response?.bytes)
        continue;
      if (response?.text === null || request?.response?.contentType !== response?.contentType) continue;
      const passed = passedIn(routing, responder);
      // One resource at two addresses.
      if (passed === undefined || lastName(passed) === lastName(responder)) continue;
      const rest = below(head, responder);
      if (responderOf(made)?.kind !== 'handler' || rest === null) continue;
      if (rest !== below(other, passed)) continue;
      const sentence = `The response is byte for byte that of GET ${excerpt(pathOf(other.url), 60)} (${other.token}), from memory: without ${excerpt(responder.pattern, 40)} and ${excerpt(passed.pattern, 40)}, both addresses are ${excerpt(rest, 40)}, so the key of a cache seems to lack the path of the mount`;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: 'response', place: responder.source }];
    }
    return [];
  },
};

interface Compared {
  table: string | null;
  column: string;
  value: string;
}

/** Values that statements compare columns with, as texts. */
function comparedIn(database: Database): (Compared & { read: Read })[] {
  return readsOf(database).flatMap((read) =>
    (read.read.where ?? []).flatMap(({ column, operator, values: [value] }) => {
      const text = operator === '=' && value?.kind === 'bound' ? givenText(value, read.query) : null;
      return text === null || isMasked(text) ? [] : [{ read, table: read.read.table, column, value: text }];
    }),
  );
}

function namesIn(request: KeptRequest): Set<string> {
  return new Set(receivedFields(request).map(({ name }) => sameName(name)));
}

/** Nothing says who it is, so nothing about the client can be remembered. */
function isOfNobody({ jar, headers, sessionAndUser }: KeptRequest): boolean {
  const { user = null, session = null } = sessionAndUser ?? {};
  return (
    jar.length === 0 &&
    user === null &&
    Object.keys(session ?? {}).length === 0 &&
    !headers.some(({ name }) => /^authorization$|^x-/i.test(name))
  );
}

/** One alone may be the default of both. */
const FEWEST_LEFT = 2;

function mayBeLeft({ request }: Needs<'request'>, { method, status }: ProfileHead): boolean {
  return method === 'GET' && status === 200 && isOfNobody(request);
}

/** Whether a request that did not send them either had the same values: they are defaults. */
function hasThemToo({ kept }: OtherRequest, left: readonly Compared[]): boolean {
  const { request, database } = kept;
  if (request === undefined || database === undefined) return false;
  const sent = namesIn(request);
  const compared = comparedIn(database);
  return left.every(
    ({ column, value }) =>
      !sent.has(sameName(column)) && compared.some((one) => one.column === column && one.value === value),
  );
}

const filterLeft: Rule<Needs<'request' | 'database'>> = {
  name: 'filter-left',
  needs: ['request', 'database'],
  labels: ['left by another request'],
  why: 'A statement compares two or more columns with values that the request did not send. An earlier request of the route sent fields of these names, and its statement had the same values. No cookie, session or user could remember them.',
  fix: 'Copy the defaults for each request: `{ ...defaults, ...given }` or `Object.assign({}, defaults, given)`. `Object.assign(defaults, given)` changes the object that all requests share.',
  compares: mayBeLeft,
  find({ request, database }, head, { earlier }) {
    if (!mayBeLeft({ request }, head)) return [];
    const received = receivedBy(head, { request });
    const mine = namesIn(request);
    const own = comparedIn(database).filter(
      ({ column, value }) => !received.has(value) && !mine.has(sameName(column)),
    );
    for (const { head: other, kept } of earlier) {
      const { request: asked, database: ran } = kept;
      if (asked === undefined || ran === undefined || other.process !== head.process) continue;
      const sent = namesIn(asked);
      const named = own.filter(({ column }) => sent.has(sameName(column)));
      if (named.length < FEWEST_LEFT) continue;
      const before = comparedIn(ran);
      const left = named.filter(({ table, column, value }) =>
        before.some((one) => one.table === table && one.column === column && one.value === value),
      );
      const columns = new Set(left.map(({ column }) => column));
      const [first] = left;
      if (first === undefined || columns.size < FEWEST_LEFT) continue;
      const older = earlier.filter(
        (one) => one.head.process === head.process && one.head.startedAt < other.startedAt,
      );
      if (older.some((one) => hasThemToo(one, left))) return [];
      const sentence = `${labelOf(database, first.read.query)} compares ${listOf([...columns])} with values that this request did not send, but an earlier one did (${other.token}): the process may hold them for all`;
      return [{ ...draftAt(first.read, sentence, 'warn'), broke: 'response' }];
    }
    return [];
  },
};

type Held = Needs<'request' | 'database', 'cache' | 'http_client'>;

/** Single values that a request got, by where: a field of the first row of a statement, a reply of a cache or service, a part of the path. */
function sourcesOf({ request, database, cache, http_client: calls }: Held): Map<string, string> {
  const found = new Map<string, string>();
  const add = (where: string, value: Json | undefined): void => {
    const leaves = value === undefined ? [] : leavesOf(value);
    for (const leaf of leaves) {
      const text = textOf(leaf.value);
      if (text !== null && !found.has(`${where} ${leaf.path}`)) found.set(`${where} ${leaf.path}`, text);
    }
  };
  for (const { name, value } of request.routeParams ?? []) add(`path ${name}`, value);
  for (const { caller, found: reply } of cache?.items ?? []) add(`${caller}`, reply?.value);
  for (const query of database.queries) add(`${query.caller}`, foundRows(query)[0]);
  for (const { caller, responseBody } of calls?.calls ?? [])
    add(`${caller}`, parseBeginning(responseBody?.text ?? '')?.value);
  return found;
}

/** Of a row that belongs to somebody. */
const OF_ID = /(?:^|_)(?:id|uuid|user|owner|tenant|account|customer|member|email)$|[a-z]Id$/;

/** It was compared with another value by other requests: it is no constant. */
function varies({ table, column, value }: Compared, others: readonly OtherRequest[]): boolean {
  return others.some(({ kept }) => {
    const { database } = kept;
    const compared = database === undefined ? [] : comparedIn(database);
    return compared.some((one) => one.table === table && one.column === column && one.value !== value);
  });
}

/** Ids that statements ask for although nothing gave them to the request; none if some of what it got is not recorded. */
function strangeIn(kept: Held, head: ProfileHead): (Compared & { read: Read })[] {
  const { request, database, cache, http_client: calls } = kept;
  const strange = comparedIn(database).filter(({ column }) => OF_ID.test(column));
  if (strange.length === 0) return [];
  const isUnknown = database.queries.some((query) => {
    const rows = foundRows(query).length;
    const kind = kindOf(database, query);
    // A driver tells the id of a new row beside the rows.
    return kind === 'read' ? (query.rows ?? 0) > rows : kind === 'write' && rows === 0;
  });
  if (isUnknown || calls?.calls.some(({ responseBody }) => responseBody?.truncated === true) === true)
    return [];
  const got = [
    ...database.queries.flatMap((query) => foundRows(query)),
    ...(calls?.calls ?? []).map(
      ({ responseBody }) => parseBeginning(responseBody?.text ?? '')?.value ?? null,
    ),
    ...(cache?.items ?? []).map(({ found }) => found?.value ?? null),
    ...request.headers.map(({ value }) => value),
  ].flatMap((one) => leavesOf(one));
  const had = new Set([...receivedBy(head, kept), ...got.map(({ value }) => String(value))]);
  return strange.filter(({ value }) => !had.has(value));
}

/** A single value came from elsewhere for this request than for the one whose value the statement has. */
function heldForAnother(kept: Held, head: ProfileHead, { earlier, overlapping }: RuleBeside): FindingDraft[] {
  const { database } = kept;
  const strange = overlapping.length === 0 ? [] : strangeIn(kept, head);
  if (strange.length === 0) return [];
  const own = sourcesOf(kept);
  for (const { head: other, kept: beside } of overlapping) {
    const given = beside as unknown as Held;
    if (given.request === undefined || given.database === undefined || other.process !== head.process)
      continue;
    const sources = [...sourcesOf(given)];
    for (const one of strange) {
      const [where] =
        sources.find(([at, value]) => value === one.value && own.has(at) && own.get(at) !== value) ?? [];
      if (where === undefined || !varies(one, [...earlier, ...overlapping])) continue;
      const from = /^(\S+:\d+) /.exec(where)?.[1];
      const sentence = `${labelOf(database, one.read.query)} asks for the ${excerpt(one.column, 40)} of another request that ran at the same time (${excerpt(pathOf(other.url), 60)}, ${other.token})${from === undefined ? '' : `: this request got another one from ${from}`}`;
      return [{ ...draftAt(one.read, sentence, 'bad'), broke: 'response' }];
    }
  }
  return [];
}

/** Values that a statement of this text compared the column with, in each of these requests. */
function boundBefore(
  sql: string,
  name: string,
  requests: readonly OtherRequest[],
): { caller: Caller | null; value: string; token: string }[] {
  return requests.flatMap(({ head, kept }) => {
    const { request, database } = kept;
    const query = database?.queries.find((one) => sqlOf(database, one) === sql);
    const value = textOf(query?.bindings.find((one) => one.name === name)?.value);
    return value === null ? [] : [{ caller: callerOf(request), value, token: head.token }];
  });
}

/** It was always given another value, and callers of the other request always this one. */
function givenByAnother(
  { request, database }: Held,
  head: ProfileHead,
  { earlier, overlapping }: RuleBeside,
): FindingDraft[] {
  const own = callerOf(request);
  if (own === null || overlapping.length === 0) return [];
  const received = receivedBy(head, { request });
  return readsOf(database).flatMap((one): FindingDraft[] => {
    const sql = sqlOf(database, one.query);
    for (const { name, value: given } of one.query.bindings) {
      const value = textOf(given);
      if (value === null || isMasked(value) || received.has(value) || own.value === value) continue;
      const running = boundBefore(sql, name, overlapping).find(
        (other) => other.caller?.by === own.by && !isSame(own, other.caller) && other.value === value,
      );
      if (running === undefined) continue;
      const before = boundBefore(sql, name, earlier).filter(({ token }) => token !== running.token);
      const mine = before.filter(({ caller }) => isSame(own, caller));
      const theirs = before.filter(({ caller }) => isSame(running.caller, caller));
      const usual = mine.filter((other) => other.value !== value);
      // It may have happened before.
      if (usual.length <= mine.length / 2 || new Set(usual.map((other) => other.value)).size > 1) continue;
      if (theirs.filter((other) => other.value === value).length <= theirs.length / 2) continue;
      const sentence = `${labelOf(database, one.query)} was given the ${excerpt(name, 40)} of another ${own.by}, whose request ran at the same time (${running.token}), and not that of ${count(usual.length, 'earlier request')} of this one: something that both requests share held it`;
      return [draftAt(one, sentence, 'bad')];
    }
    return [];
  });
}

function mayBeOfAnother(kept: Held, head: ProfileHead): boolean {
  return callerOf(kept.request) !== null || strangeIn(kept, head).length > 0;
}

const valueOfAnotherRequest: Rule<Held> = {
  name: 'value-of-another-request',
  needs: ['request', 'database'],
  labels: ['another request’s value'],
  why: 'A statement got a value that belongs to a request that ran at the same time. This request received another value from the same line, or its user or `X-Tenant` always uses another one.',
  fix: 'Keep data of a request in the request: pass it as an argument, or use `AsyncLocalStorage`. All requests that run at the same time share the fields of a service and the variables of a module.',
  compares: mayBeOfAnother,
  overlaps: mayBeOfAnother,
  find(kept, head, beside) {
    const held = heldForAnother(kept, head, beside);
    return held.length > 0 ? held : givenByAnother(kept, head, beside);
  },
};

/** All rows of a few reads; null: it wrote, asked something else, or not all of them were recorded. */
function wholeReads({ database, http_client: client, cache, jobs }: Partial<Kept>): string | null {
  const asked = (client?.calls.length ?? 0) + (cache?.items.length ?? 0) + (jobs?.items.length ?? 0);
  if (database === undefined || database.queries.length === 0 || asked > 0) return null;
  const { queries } = database;
  const isWhole = queries.every(
    (query) =>
      query.error === null &&
      kindOf(database, query) === 'read' &&
      query.rows === foundRows(query).length &&
      !query.bindings.some(({ value }) => isMasked(JSON.stringify(value) ?? '')),
  );
  return queries.length > MOST_READS || !isWhole
    ? null
    : JSON.stringify(queries.map((query) => [sqlOf(database, query), query.bindings, foundRows(query)]));
}

function sentLeaves({ response }: KeptRequest): Map<string, Leaf> {
  const json = /\bjson\b/i.test(response?.contentType ?? '') ? parseJson(response?.text ?? '') : undefined;
  const leaves = json === undefined ? [] : leavesOf(json, MOST_LEAVES);
  return new Map(leaves.map((leaf) => [leaf.path, leaf]));
}

function isAmong(leaves: readonly Pick<Leaf, 'name' | 'value'>[], { name, value }: Leaf): boolean {
  return leaves.some((one) => one.value === value && sameName(one.name) === sameName(name));
}

function rowLeaves({ database }: Partial<Kept>): Leaf[] {
  return leavesOf((database?.queries ?? []).flatMap((query) => foundRows(query)));
}

/** Of one thing by its id, with values that no row has. */
function hasOthersThanRows(kept: Given, head: ProfileHead): boolean {
  if (!isFoundByGet(head) || kept.request.routeParams.length === 0 || wholeReads(kept) === null) return false;
  const rows = rowLeaves(kept);
  return Array.from(sentLeaves(kept.request).values()).some((leaf) => !isAmong(rows, leaf));
}

/** Another id of the same path: the response has the same value in the same place, and it came from its row or its body. */
function isHeldFrom({ kept }: OtherRequest, params: string, changed: readonly Leaf[]): boolean {
  const { request } = kept;
  if (request === undefined || JSON.stringify(request.routeParams) === params) return false;
  const sent = sentLeaves(request);
  const brought = [
    ...receivedFields(request).filter(({ from }) => from === 'body' || from === 'form'),
    ...rowLeaves(kept),
  ];
  return (
    changed.every(({ path, value }) => sent.get(path)?.value === value) &&
    changed.some((leaf) => isAmong(brought, leaf))
  );
}

const heldInProcess: Rule<Given> = {
  name: 'held-in-process',
  needs: ['request', 'routing'],
  labels: ['held in the process'],
  why: 'The response to the same request of the same client changed, although every row it read is the same. Each value that changed is now as a request in between had it for another id, which had read or received it.',
  fix: 'Copy deeply before you change: `merge({}, defaults, own)` or `structuredClone(defaults)`. A spread copies the first level only: nested objects stay those of the module, which all requests then share and change.',
  compares: hasOthersThanRows,
  relates: hasOthersThanRows,
  find(kept, head, { earlier, siblings }) {
    const { request } = kept;
    const reads = wholeReads(kept);
    if (reads === null || !hasOthersThanRows(kept, head)) return [];
    const now = sentLeaves(request);
    const changesSince = ({ head: past, kept: { request: other, ...more } }: OtherRequest): Leaf[] => {
      const isAlike = past.process === head.process && past.url === head.url && past.status === head.status;
      if (!isAlike || other === undefined || clientOf(other) !== clientOf(request)) return [];
      const then = sentLeaves(other);
      const areSamePlaces = then.size === now.size && Array.from(now.keys()).every((path) => then.has(path));
      return areSamePlaces && wholeReads(more) === reads
        ? Array.from(now.values()).filter(({ path, value }) => then.get(path)?.value !== value)
        : [];
    };
    const before = earlier.find((one) => changesSince(one).length > 0);
    if (before === undefined) return [];
    const changed = changesSince(before);
    const params = JSON.stringify(request.routeParams);
    const between = [...earlier, ...siblings]
      .filter(({ head: other }) => other.process === head.process && other.startedAt > before.head.startedAt)
      .toSorted((a, b) => a.head.startedAt - b.head.startedAt);
    const by = between.find((one) => one.head.route === head.route && isHeldFrom(one, params, changed));
    const isMeant = between.some(
      (one) =>
        mayWrite(one) &&
        request.routeParams.some(({ value }) => receivedBy(one.head, one.kept).has(textOf(value) ?? '')),
    );
    if (by === undefined || isMeant) return [];
    const names = listOf(changed.map(({ path }) => path));
    const sentence = `${names} changed since the same request before (${before.head.token}), and no row that it reads did: the values are those of ${requestText(by.head)}, for another ${listOf(request.routeParams.map(({ name }) => name))}. The process holds them`;
    const place = by.kept.request?.response?.sentFrom ?? kept.routing.route?.source;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: 'response', place }];
  },
};

export const memoryRules: readonly Rule[] = [
  valueOfAnotherRequest,
  orderChanged,
  answerOfAnotherPath,
  filterLeft,
  heldInProcess,
];
