/** Values of another request in the statements of this one. */
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { clockOf } from '../panels/shared/overlap.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type Leaf, leavesIn, leavesOf, objectsIn, parseBeginning } from '../panels/shared/json-leaves.ts';
import { receivedBy, type ReceivedField, receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft, RuleBeside } from '../profiler/read/finding-rule.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { pathOf } from '../profiler/request-target.ts';
import { type Caller, callerOrMark, isSame } from './shared/callers.ts';
import {
  type Database,
  endOf,
  type Interval,
  type Kept,
  type Needs,
  type OtherRequest,
  type Rule,
} from './shared/kept.ts';
import { givenText } from './shared/conditions.ts';
import {
  draftAt,
  kindOf,
  labelOf,
  PRIMARY,
  type Read,
  readsOf,
  runsOf,
  sqlOf,
  textOf,
} from './shared/queries.ts';
import { isSuccess } from './shared/http.ts';
import { count, duration, excerpt, listOf, requestText } from './shared/wording.ts';

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

interface Steps {
  queries?: Database['queries'] | undefined;
  items?: Kept['cache']['items'] | undefined;
  calls?: Kept['http_client']['calls'] | undefined;
}

/** Values that steps returned: rows, replies of a cache or a service. */
function returnedTo({ queries = [], items = [], calls = [] }: Steps): Leaf[] {
  return [
    ...queries.flatMap((query) => foundRows(query)),
    ...calls.map(({ responseBody }) => parseBeginning(responseBody?.text ?? '')?.value ?? null),
    ...items.map(({ found }) => found?.value ?? null),
  ].flatMap((one) => leavesOf(one));
}

type Made = Needs<'request', 'routing' | 'views' | 'database' | 'cache' | 'http_client' | 'mail'>;

/** The JSON that it sent, and the values that it gave to its views. */
function sentBy({ request, views }: Pick<Made, 'request' | 'views'>): Json[] {
  const sent = parseBeginning(request.response?.text ?? '')?.value;
  const locals = (views?.views ?? []).flatMap((view) => view.locals ?? []);
  return sent === undefined ? locals : [sent, ...locals];
}

function isText(value: Json): value is string {
  return typeof value === 'string' && value !== '' && !isMasked(value);
}

interface Filled {
  name: string;
  texts: string[];
  /** Fields of its object that the request sent. */
  beside: ReceivedField[];
  place?: string | null;
}

function addressesIn(recipients: readonly string[]): string[] {
  return recipients.flatMap((one) => one.match(/[^\s<>,;"]+@[^\s<>,;"]+/g) ?? []).filter(isText);
}

/** Copies of a mail to somebody whom the request named. */
function copiedIn(mail: Made['mail'], fields: readonly ReceivedField[]): Filled[] {
  return (mail?.items ?? []).flatMap(({ to, cc, bcc, caller }) => {
    const named = new Set<unknown>(addressesIn(to));
    const beside = fields.filter(({ value }) => named.has(value));
    const texts = addressesIn([...cc, ...bcc]);
    return beside.length === 0 || texts.length === 0
      ? []
      : [{ name: 'the copy of the mail', texts, beside, place: caller }];
  });
}

/** Texts of lists, and names of objects, beside fields that the request sent: they belong to the thing that it made. */
function filledIn({ request, views, mail }: Pick<Made, 'request' | 'views' | 'mail'>): Filled[] {
  const fields = receivedFields({ body: request.body }).filter(
    ({ path, name, value }) => path === name && isText(value),
  );
  const sent = sentBy({ request, views })
    .flatMap((value) => objectsIn(value))
    .flatMap((object): Filled[] => {
      const beside = fields.filter(({ name, value }) => object[name] === value);
      if (beside.length === 0) return [];
      return Object.entries(object).flatMap(([name, value]) => {
        const texts: Json[] = Array.isArray(value) ? value : isRecord(value) ? Object.keys(value) : [];
        return texts.length > 0 && texts.every(isText) ? [{ name, texts, beside }] : [];
      });
    });
  return [...sent, ...copiedIn(mail, fields)];
}

/** Texts of lists that a request sent, such as `glass-pane`, as names. */
function listedBy({ body }: KeptRequest): Set<string> {
  const listed = receivedFields({ body }).filter(({ path, value }) => /\.\d+$/.test(path) && isText(value));
  return new Set(listed.map(({ value }) => sameName(String(value))));
}

const IDENTITY = /customer|user|name|mail|account|owner|client|member|session|cart|tenant|id$/i;

/** It may go on with what the earlier request made. */
function isOfSame(beside: readonly ReceivedField[], { body }: KeptRequest): boolean {
  const theirs = receivedFields({ body });
  const isEqual = (one: ReceivedField): boolean =>
    theirs.some(({ path, value }) => path === one.path && value === one.value);
  return beside.every(isEqual) || beside.some((one) => IDENTITY.test(one.name) && isEqual(one));
}

function mayBeListed({ request }: Made, { method, status }: ProfileHead): boolean {
  return method === 'POST' && status !== null && status < 400 && request.routeParams.length === 0;
}

const listLeft: Rule<Made> = {
  name: 'list-left',
  needs: ['request'],
  labels: ['left by another request'],
  why: 'A POST made something from the values it received, or sent a mail. A list or an object of it, or a copy of the mail, has a text or a name that it neither received nor read. An earlier request of the route received that in a list.',
  fix: 'Copy the list before you add to it: `{ ...item, extras: [...item.extras] }` or `structuredClone(item)`. A spread copies the first level only, so `push` changes the list that all requests share.',
  compares: mayBeListed,
  find(kept, head, { earlier }) {
    const { request, routing, database, cache, http_client: client } = kept;
    if (!mayBeListed(kept, head)) return [];
    const steps = { queries: database?.queries, items: cache?.items, calls: client?.calls };
    const read = new Set(returnedTo(steps).map(({ value }) => value));
    const own = listedBy(request);
    const before = earlier.filter(({ head: other }) => other.process === head.process);
    return filledIn(kept)
      .flatMap(({ name, texts, beside, place: at = null }): FindingDraft[] => {
        const strange = texts.filter((text) => !read.has(text) && !own.has(sameName(text)));
        const leftBy = (other: KeptRequest): string[] =>
          strange.filter((text) => listedBy(other).has(sameName(text)));
        const found = before.findIndex(
          ({ kept: { request: other } }) =>
            other !== undefined && !isOfSame(beside, other) && leftBy(other).length > 0,
        );
        const by = before[found];
        if (by?.kept.request === undefined) return [];
        const left = leftBy(by.kept.request);
        // One before it had the same without asking for it: it is a default.
        const isDefault = before.slice(found + 1).some(({ kept: { request: other, views, mail } }) => {
          if (other === undefined || leftBy(other).length > 0) return false;
          return filledIn({ request: other, views, mail }).some(
            (one) => one.name === name && one.texts.some((text) => left.includes(text)),
          );
        });
        if (isDefault) return [];
        const sentence = `${excerpt(name, 40)} has ${listOf(left)}, which this request neither received nor read: ${requestText(by.head)} received it. The process may hold it for all`;
        const place = at ?? request.response?.sentFrom ?? routing?.route?.source;
        return [{ broke: 'response', severity: 'warn', sentence, anchor: 'response', place }];
      })
      .slice(0, 1);
  },
};

type Given = Needs<'request', 'database' | 'cache' | 'http_client' | 'runtime'>;
type Held = Given & Needs<'database'>;

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

/** All values that a request had got by a moment, as texts; null if some of them are not recorded. */
function hadBy(kept: Given, head: ProfileHead, atMs = Infinity): Set<string> | null {
  const { request, database, cache, http_client: calls } = kept;
  const isEarlier = (work: Interval): boolean => endOf(work) <= atMs;
  const queries = (database?.queries ?? []).filter(isEarlier);
  const items = (cache?.items ?? []).filter(isEarlier);
  const made = (calls?.calls ?? []).filter(isEarlier);
  const isUnknown = queries.some((query) => {
    if (database === undefined) return false;
    const rows = foundRows(query).length;
    const kind = kindOf(database, query);
    // A driver tells the id of a new row beside the rows.
    return kind === 'read' ? (query.rows ?? 0) > rows : kind === 'write' && rows === 0;
  });
  if (isUnknown || made.some(({ responseBody }) => responseBody?.truncated === true)) return null;
  return new Set([
    ...receivedBy(head, kept),
    ...returnedTo({ queries, items, calls: made }).map(({ value }) => String(value)),
    ...request.headers.map(({ value }) => value),
  ]);
}

/** Ids that statements ask for although nothing gave them to the request; none if some of what it got is not recorded. */
function strangeIn(kept: Held, head: ProfileHead): (Compared & { read: Read })[] {
  const strange = comparedIn(kept.database).filter(({ column }) => OF_ID.test(column));
  const had = strange.length === 0 ? null : hadBy(kept, head);
  return had === null ? [] : strange.filter(({ value }) => !had.has(value));
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
    const [query] = runsOf(database, sql);
    const value = textOf(query?.bindings.find((one) => one.name === name)?.value);
    return value === null ? [] : [{ caller: callerOrMark(request), value, token: head.token }];
  });
}

/** It was always given another value, and callers of the other request always this one. */
function givenByAnother(
  { request, database }: Held,
  head: ProfileHead,
  { earlier, overlapping }: RuleBeside,
): FindingDraft[] {
  const own = callerOrMark(request);
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

/** Values that the statements of a request were given for a column; a primary key is one of its table. */
function valuesFor({ kept }: OtherRequest, table: string | null, column: string): string[] {
  return readsOf(kept.database)
    .filter(({ read }) => !PRIMARY.test(column) || read.table === table)
    .flatMap(({ query }) => query.bindings)
    .flatMap(({ name, value }) => (name === column ? (textOf(value) ?? []) : []))
    .filter((value) => !isMasked(value));
}

/** While it waited, the request of another caller began, and then a statement had the value of that one. */
function replacedMeanwhile(
  kept: Held,
  head: ProfileHead,
  { earlier, siblings, overlapping }: RuleBeside<Partial<Kept>>,
): FindingDraft[] {
  const { request, database } = kept;
  const own = callerOrMark(request);
  if (own === null || overlapping.length === 0) return [];
  const running = new Set(overlapping.map((other) => other.head.token));
  const before = [...earlier, ...siblings].filter(
    (other) => other.head.process === head.process && !running.has(other.head.token),
  );
  return readsOf(database).flatMap((one): FindingDraft[] => {
    const { query, read } = one;
    for (const { name, value: given } of query.bindings) {
      const value = textOf(given);
      if (value === null || isMasked(value) || own.value === value || !OF_ID.test(name)) continue;
      const valuesOf = (other: OtherRequest): string[] => valuesFor(other, read.table, name);
      const mine = before.filter((other) => isSame(own, callerOrMark(other.kept.request)));
      const usual = mine.filter((other) => valuesOf(other).length > 0);
      if (new Set(usual.flatMap(valuesOf)).size !== 1 || usual.flatMap(valuesOf).includes(value)) continue;
      const by = overlapping.find((other) => {
        const theirs = callerOrMark(other.kept.request);
        const { shiftMs } = clockOf({ head, kept: { ...kept } }, other);
        const isMeanwhile = shiftMs >= 0 && shiftMs <= query.startMs && other.head.process === head.process;
        if (!isMeanwhile || theirs === null || theirs.by !== own.by || isSame(own, theirs)) return false;
        const past = before.filter(({ kept: { request: asked } }) => isSame(theirs, callerOrMark(asked)));
        return (
          valuesOf(other).includes(value) &&
          [other, ...past].flatMap(valuesOf).every((each) => each === value)
        );
      });
      if (by === undefined || hadBy(kept, head, query.startMs)?.has(value) !== false) continue;
      const { shiftMs } = clockOf({ head, kept: { ...kept } }, by);
      const sentence = `${labelOf(database, query)} was given the ${excerpt(name, 40)} of another ${own.by}, whose request began ${duration(shiftMs)} after this one (${by.head.token}), and not that of ${count(usual.length, 'earlier request')} of this one: something that both requests share held it`;
      return [draftAt(one, sentence, 'bad')];
    }
    return [];
  });
}

/** A text that a response has outside of lists, and that may be its caller's. */
const OF_CALLER = /\p{L}/u;

/** By their paths. */
function ofCaller({ request }: Partial<Kept>): Map<string, string> {
  return new Map(
    leavesIn(request?.response?.text ?? '').flatMap(({ path, value }) =>
      isText(value) && OF_CALLER.test(value) && !/(?:^|\.)\d+(?:\.|$)/.test(path) ? [[path, value]] : [],
    ),
  );
}

/** Responses of both callers always had another text there, and this one has that of the other. */
function sentOfAnother(
  kept: Given,
  head: ProfileHead,
  { earlier, siblings, overlapping }: RuleBeside<Partial<Kept>>,
): FindingDraft[] {
  const own = callerOrMark(kept.request);
  const had = own === null || overlapping.length === 0 || !isSuccess(head.status) ? null : hadBy(kept, head);
  if (own === null || had === null) return [];
  const texts = [...ofCaller(kept)].filter(([, text]) => !had.has(text));
  const isAlike = ({ head: other }: OtherRequest): boolean =>
    other.process === head.process && isSuccess(other.status);
  for (const running of overlapping.filter(isAlike)) {
    const theirs = callerOrMark(running.kept.request);
    const startMs = clockOf({ head, kept: { ...kept } }, running).shiftMs;
    if (theirs === null || theirs.by !== own.by || isSame(own, theirs) || startMs < 0) continue;
    const before = earlier.filter((one) => isAlike(one) && one.head.token !== running.head.token);
    const sentTo = (who: Caller): Map<string, string>[] =>
      before.filter((one) => isSame(who, callerOrMark(one.kept.request))).map((one) => ofCaller(one.kept));
    const [mine, others] = [sentTo(own), [ofCaller(running.kept), ...sentTo(theirs)]];
    const held = texts.flatMap(([path, text]) => {
      const usual = new Set(mine.flatMap((one) => one.get(path) ?? []));
      const isTheirs = others.flatMap((one) => one.get(path) ?? []);
      const [was] = usual;
      const isHeld = usual.size === 1 && was !== text && isTheirs.length > 0;
      return isHeld && was !== undefined && isTheirs.every((one) => one === text)
        ? [{ path, text, was }]
        : [];
    });
    const isMeant = [...earlier, ...siblings].some(
      (one) => one.head.method !== 'GET' && held.some(({ text }) => receivedBy(one.head, one.kept).has(text)),
    );
    const [first] = held;
    // One alone may have changed for all.
    if (first === undefined || held.length < FEWEST_LEFT || isMeant) continue;
    const names = listOf(held.map(({ path }) => path));
    const sentence = `${names} of the response are those of another ${own.by}, whose request began ${duration(startMs)} after this one (${requestText(running.head)}), and not those of ${count(mine.length, 'earlier request')} of this one (${excerpt(first.path, 40)} was ${excerpt(first.was, 40)}, is ${excerpt(first.text, 40)}): something that both requests share held them`;
    const place = kept.request.response?.sentFrom;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: 'response', ...(place !== undefined && { place }) }]; // prettier-ignore
  }
  return [];
}

function isAlone({ runtime }: Given): boolean {
  return runtime?.concurrent === 1;
}

function mayBeOfAnother(kept: Given, head: ProfileHead): boolean {
  if (isAlone(kept)) return false;
  return callerOrMark(kept.request) !== null || (hasDatabase(kept) && strangeIn(kept, head).length > 0);
}

function hasDatabase(kept: Given): kept is Held {
  return kept.database !== undefined;
}

/** Another request ran at the same time, and it has a statement that was given an id, or texts of its caller. */
function mayBeReplaced(kept: Given): boolean {
  if (isAlone(kept) || callerOrMark(kept.request) === null) return false;
  const { queries = [] } = kept.database ?? {};
  return (
    queries.some(({ bindings }) => bindings.some(({ name }) => OF_ID.test(name))) || ofCaller(kept).size > 0
  );
}

const valueOfAnotherRequest: Rule<Given> = {
  name: 'value-of-another-request',
  needs: ['request'],
  labels: ['another request’s value'],
  why: 'A statement or the response has values of a request that ran at the same time. This request received another value from the same line, or its user, `X-Tenant`, credentials or session always have another one.',
  fix: 'Keep data of a request in the request: pass it as an argument, or use `AsyncLocalStorage`. All requests that run at the same time share the fields of a service and the variables of a module.',
  compares: mayBeOfAnother,
  relates: mayBeReplaced,
  overlaps: mayBeOfAnother,
  find(kept, head, beside) {
    for (const find of hasDatabase(kept) ? [heldForAnother, givenByAnother, replacedMeanwhile] : []) {
      const found = find(kept as Held, head, beside);
      if (found.length > 0) return found;
    }
    return sentOfAnother(kept, head, beside);
  },
};

export const heldRules: readonly Rule[] = [valueOfAnotherRequest, filterLeft, listLeft];
