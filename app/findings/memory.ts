/** Answers that a process holds between requests: lists that change, a response of another path, old rows. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type Leaf, leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { lastRunning, type RanLayer } from '../panels/shared/ran-layers.ts';
import { receivedBy, receivedFields } from '../panels/shared/received.ts';
import { addTo } from '../profiler/group-by.ts';
import { isRecord, type Json, parseJson } from '../profiler/json.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { pathOf } from '../profiler/request-target.ts';
import { seenTimes } from '../panels/shared/overlap.ts';
import { asksForKey, givenText } from './shared/conditions.ts';
import { isSuccess } from './shared/http.ts';
import type { Kept, Needs, OtherRequest, Rule } from './shared/kept.ts';
import { kindOf, readsOf, sqlOf, tablesOf, textOf } from './shared/queries.ts';
import { count, excerpt, listOf, requestText, singular } from './shared/wording.ts';
import { commonEnds } from '../profiler/common-ends.ts';
import { clientOf } from '../panels/shared/client.ts';
import { PRIMARY, primaryKeyOf } from '../panels/shared/primary-key.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';

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
  const [from, end] = commonEnds(one, other);
  return [one.slice(from, one.length - end), other.slice(from, other.length - end)];
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

interface Thing {
  /** `data.object.room`; empty: the whole response. */
  path: string;
  of: string;
  id: string;
  fields: Record<string, Json>;
}

/** Objects of the response that no statement of this request read, and whose key it had: `roomId: 1` or a path such as `/rooms/1`. */
function unreadThings(
  { request, database, cache, http_client: calls }: Given,
  { route }: ProfileHead,
): Thing[] {
  const isElsewhere = (cache?.items ?? []).some(({ hits }) => (hits ?? 0) > 0) || calls?.calls.length;
  const sent = parseJson(request.response?.text ?? '');
  if (isElsewhere || !isRecord(sent)) return [];
  const tables = readsOf(database).flatMap(({ query, read }) =>
    database === undefined ? [] : [read.table ?? '', ...tablesOf(database, query)],
  );
  const keys = [...receivedFields(request), ...rowLeaves({ database })].flatMap(({ name, value }) => {
    const of = /^(.{2,})_?id$/i.exec(name)?.[1];
    return of === undefined ? [] : [{ of: sameName(of), id: String(value) }];
  });
  const [, last = ''] = /([^/]+)\/:\w+$/.exec(route ?? '') ?? [];
  const param = textOf(request.routeParams.at(-1)?.value);
  const things: Thing[] =
    last === '' || param === null ? [] : [{ path: '', of: singular(last), id: param, fields: sent }];
  const walk = (part: Json, path: string): void => {
    for (const [name, value] of isRecord(part) ? Object.entries(part) : []) {
      const at = path === '' ? name : `${path}.${name}`;
      const ids = new Set(keys.filter(({ of }) => of === sameName(name)).map(({ id }) => id));
      const [id, ...others] = ids;
      if (id !== undefined && others.length === 0 && isRecord(value))
        things.push({ path: at, of: sameName(name), id, fields: value });
      walk(value, at);
    }
  };
  walk(sent, '');
  return things.filter(({ of }) => !tables.some((table) => singular(table).endsWith(of)));
}

interface Version {
  request: OtherRequest;
  table: string;
  place: string | null;
  values: ReadonlyMap<string, string>;
}

/** What a request read of a row, or set it to, in order; not what was rolled back. */
function versionsOf(request: OtherRequest, { of, id }: Thing): Version[] {
  const { database } = request.kept;
  return readsOf(database).flatMap(({ query, read }): Version[] => {
    const table = read.table ?? '';
    const isSeen = database !== undefined && seenTimes(database, query) !== null;
    if (!isSeen || !singular(table).endsWith(of) || read.joins > 0) return [];
    const row = foundRows(query).find((one) => textOf(primaryKeyOf(one)) === id);
    const isSet = read.verb === 'update' && query.rows !== 0 && asksForKey({ query, index: 0, read }, id);
    const set = read.sets.map(({ column, value }) => [column, givenText(value, query)] as const);
    const pairs = row === undefined ? (isSet ? set : []) : Object.entries(row);
    const values = new Map(
      pairs.flatMap(([name, value]) => {
        const text = textOf(value);
        return text === null || isMasked(text) ? [] : [[sameName(name), text] as const];
      }),
    );
    return values.size === 0 ? [] : [{ request, table, place: query.caller, values }];
  });
}

/** An object of the response is as an earlier request read its row, and a request in between has read or written other values of it. */
function oldRowSent(kept: Given, head: ProfileHead, others: readonly OtherRequest[]): FindingDraft[] {
  const before = others
    .filter(
      ({ head: { process, startedAt, durationMs } }) =>
        process === head.process && startedAt + (durationMs ?? Infinity) < head.startedAt,
    )
    .toSorted((a, b) => a.head.startedAt - b.head.startedAt);
  const known = [...rowLeaves(kept), ...receivedFields(kept.request), ...leavesOf(sessionOf(kept.request))];
  return unreadThings(kept, head).flatMap((thing): FindingDraft[] => {
    const fields = Object.entries(thing.fields).flatMap(([name, value]) => {
      const text = textOf(value);
      // A copy in another row has a name such as `room_name`.
      const isKnown = known.some(
        (one) => String(one.value) === text && sameName(one.name).endsWith(sameName(name)),
      );
      return text === null || isKnown || PRIMARY.test(name) ? [] : [{ name, key: sameName(name), text }];
    });
    const versions = before.flatMap((one) => versionsOf(one, thing));
    const isOld = ({ values }: Version): boolean =>
      fields.length > 0 && fields.every(({ key, text }) => values.get(key) === text);
    const at = versions.findIndex(isOld);
    const old = versions[at];
    const since = versions.slice(at + 1);
    const changed = fields.filter(({ key, text }) => {
      const latest = since.findLast(({ values }) => values.has(key))?.values.get(key);
      return latest !== undefined && latest !== text;
    });
    const [first] = changed;
    const by = since.find(
      ({ values }) => first !== undefined && (values.get(first.key) ?? first.text) !== first.text,
    );
    if (old === undefined || by === undefined) return [];
    const names = listOf(changed.map(({ name }) => name));
    const what = thing.path === '' ? 'the response' : excerpt(thing.path, 60);
    const sentence = `${names} of ${what} ${changed.length === 1 ? 'is' : 'are'} as ${requestText(old.request.head)} read row ${excerpt(thing.id, 40)} of ${excerpt(old.table, 40)}. ${requestText(by.request.head)} had other values of it since, and this request did not read it: the process holds the old ones`;
    return [
      { broke: 'response', severity: 'bad', sentence, anchor: 'response', place: old.place, fix: OLD_FIX },
    ];
  });
}

function sessionOf({ sessionAndUser }: KeptRequest): Json {
  return [sessionAndUser?.session ?? null, sessionAndUser?.user ?? null];
}

const OLD_FIX =
  'Make what remembers rows for each request: `context: () => ({ loaders: createLoaders() })` for DataLoader. If the process is to keep them, delete the entry (`loader.clear(id)`) after each change.';

function mayBeHeld(kept: Given, head: ProfileHead): boolean {
  return hasOthersThanRows(kept, head) || (isSuccess(head.status) && unreadThings(kept, head).length > 0);
}

const heldInProcess: Rule<Given> = {
  name: 'held-in-process',
  needs: ['request', 'routing'],
  labels: ['held in the process'],
  why: 'The response to the same request of a client changed, the rows it read did not, and a request for another id had the new values. Or an object is as an earlier request read its row, before another changed it, and was not read again.',
  fix: 'Copy deeply before you change: `merge({}, defaults, own)` or `structuredClone(defaults)`. A spread copies the first level only: nested objects stay those of the module, which all requests then share and change.',
  compares: mayBeHeld,
  relates: mayBeHeld,
  find(kept, head, { earlier, siblings }) {
    const { request } = kept;
    const old = isSuccess(head.status) ? oldRowSent(kept, head, [...earlier, ...siblings]) : [];
    const reads = wholeReads(kept);
    if (old.length > 0 || reads === null || !hasOthersThanRows(kept, head)) return old;
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

export const memoryRules: readonly Rule[] = [orderChanged, answerOfAnotherPath, heldInProcess];
