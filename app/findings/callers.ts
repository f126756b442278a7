/** Whose data it is: values, rows and responses that belong to another caller, or to another request. */
import { sameName } from '../panels/shared/compare-values.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { leavesIn, leavesOf, objectsIn, parseBeginning } from '../panels/shared/json-leaves.ts';
import { givenValue } from '../panels/shared/read-statement.ts';
import { decodeSafely, type ReceivedField, receivedBy, receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { type Command, fillOf, storersAmong } from './shared/cache.ts';
import { type Caller, callerOf, IDENTITY, isSame } from './shared/callers.ts';
import { callName, isReading } from './shared/calls.ts';
import {
  type Database,
  endOf,
  type Interval,
  type Kept,
  type Needs,
  type OtherRequest,
  type Rule,
} from './shared/kept.ts';
import { asksForKey, namedIds, routeValues, textsIn } from './shared/conditions.ts';
import { draftAt, labelOf, PRIMARY, type Read, readsOf, sqlOf, textOf } from './shared/queries.ts';
import { excerpt, requestText, singular } from './shared/wording.ts';
import { isSuccess } from './shared/http.ts';

function isFound({ hits, asked, key }: Command): boolean {
  return hits === 1 && asked === 1 && key !== null;
}

function asksFor({ words, value }: Caller, database: Database): boolean {
  return readsOf(database).some(({ read, query }) =>
    read.where?.some((one) => {
      const isOfCaller = words.test(one.column) || (PRIMARY.test(one.column) && words.test(read.table ?? ''));
      return one.operator === '=' && isOfCaller && textsIn(one, query).includes(value);
    }),
  );
}

/** Whose the value is that another request stored; null: nobody’s, or that is not known. */
function ownerOf(filler: OtherRequest | undefined): (Caller & { token: string }) | null {
  const { request, database } = filler?.kept ?? {};
  const caller = callerOf(request);
  if (filler === undefined || caller === null || database === undefined) return null;
  // An address that names it has it for everybody.
  const isNamed = receivedBy(filler.head, { request: { ...request, sessionAndUser: null } }).has(
    caller.value,
  );
  return isNamed || !asksFor(caller, database) ? null : { ...caller, token: filler.head.token };
}

/** Fields by which a response tells whose it is. */
const WHOSE = /^(?:_?id|user_?id|user_?name|email|login)$/i;

/** The first field of a response that the user of the request has, too, with another value that the request did not name. */
function ofAnotherUser(request: KeptRequest, head: ProfileHead): string | null {
  const user = leavesOf(request.sessionAndUser?.user ?? null).filter(({ path }) => WHOSE.test(path));
  if (user.length === 0) return null;
  const sent = leavesIn(request.response?.text ?? '');
  const received = receivedBy(head, { request });
  const other = sent.find(({ path, name, value }) => {
    const own = WHOSE.test(name) && !/\d/.test(path) && user.find((leaf) => leaf.name === name);
    return own !== false && own !== undefined && own.value !== value && !received.has(String(value));
  });
  return other?.name ?? null;
}

/** Keys and values that each line asked for first, before a moment: a middleware looks up the caller by them. */
function askedBefore({ cache, database }: Partial<Kept>, untilMs: number): Map<string, string> {
  const asked = new Map<string, string>();
  const add = (caller: string | null, startMs: number, what: string): void => {
    if (caller !== null && startMs < untilMs && !asked.has(caller)) asked.set(caller, what);
  };
  for (const { command, caller, startMs, key, args } of cache?.items ?? [])
    if (READS.test(command)) add(caller, startMs, [key, ...args.map(({ value }) => textOf(value))].join(' '));
  for (const { query, read } of database === undefined ? [] : readsOf(database))
    if (read.verb === 'select')
      add(query.caller, query.startMs, query.bindings.map(({ value }) => textOf(value)).join(' '));
  return asked;
}

const READS = /^(?:GET|HGET|HGETALL|JSON\.GET)$/;

/** A response that an earlier request stored is sent again, although a line before asked for another caller than it did there. */
function replayed(self: OtherRequest, head: ProfileHead, earlier: readonly OtherRequest[]): FindingDraft[] {
  const { cache, request } = self.kept;
  const sent = parseBeginning(request?.response?.text ?? '')?.value;
  if (cache === undefined || !isRecord(sent) || head.method === 'GET') return [];
  const storerOf = storersAmong(self, earlier);
  return cache.items.flatMap((item, index): FindingDraft[] => {
    const { key, found, startMs, command, caller: place } = item;
    const text = found?.value;
    const kept = typeof text === 'string' ? parseBeginning(text)?.value : text;
    if (!isFound(item) || key === null || kept === undefined) return [];
    if (!objectsIn(kept).some((object) => JSON.stringify(object) === JSON.stringify(sent))) return [];
    const by = storerOf(index)?.request;
    const theirs = by === undefined ? new Map<string, string>() : askedBefore(by.kept, Infinity);
    const other = [...askedBefore(self.kept, startMs)].find(
      ([line, asked]) => line !== place && theirs.has(line) && theirs.get(line) !== asked,
    );
    if (by === undefined || other === undefined) return [];
    const sentence = `${command} found what ${requestText(by.head)} had stored for another caller (${other[0]} asked for something else there), and this request answered with it: the key ${excerpt(key, 60)} names no caller`;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: `k${index + 1}`, place }];
  });
}

const cacheOfAnotherUser: Rule<Needs<'cache' | 'request', 'database' | 'runtime'>> = {
  name: 'cache-of-another-user',
  needs: ['cache', 'request'],
  labels: ['another user'],
  why: 'A request of another user, or with another `X-Customer`, stored the value, and its statement asked for that one. Or the response has the id or name of another user, or was stored for another caller. The key names none.',
  fix: 'Put the id of the user or the value of the header into the key, or cache only data that is the same for all.',
  compares: ({ cache, request }, { method }) =>
    (callerOf(request) !== null || method !== 'GET') && cache.items.some(isFound),
  find({ cache, request, database, ...kept }, head, { earlier }) {
    const again = replayed(
      { head, kept: { ...kept, cache, request, ...(database && { database }) } },
      head,
      earlier,
    );
    const own = callerOf(request);
    if (own === null || again.length > 0) return again;
    const self = { head, kept: { ...kept, cache } };
    const field = database === undefined ? ofAnotherUser(request, head) : null;
    const user = leavesOf(request.sessionAndUser?.user ?? null);
    const storerOf = storersAmong(self, earlier);
    return cache.items.flatMap((item, index): FindingDraft[] => {
      const { command, key, caller: place } = item;
      if (!isFound(item) || key === null) return [];
      const parts = new Set(key.split(/[:/|.-]/));
      if (parts.has(own.value) || user.some(({ value }) => parts.has(String(value)))) return [];
      const owner = ownerOf(storerOf(index)?.request);
      const isOther =
        owner !== null && owner.by === own.by && owner.value !== own.value && !parts.has(owner.value);
      if (!isOther && field === null) return [];
      const what = isOther
        ? `stored for another ${own.by} (${owner.token}): its statement asks for that one`
        : `cached for another user: the response has another ${field ?? ''} than the user of this request`;
      const sentence = `${command} found a value that was ${what}, and the key ${excerpt(key, 60)} names none`;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: `k${index + 1}`, place }];
    });
  },
};

/** Its pattern is the beginning of the other one, as is its path. */
function isAbove(above: ProfileHead, below: ProfileHead): boolean {
  const path = ({ url }: ProfileHead): string => url.split('?', 1)[0] ?? '';
  return (
    above.route !== null &&
    above.route.includes(':') &&
    below.route?.startsWith(`${above.route}/`) === true &&
    path(below).startsWith(`${path(above)}/`)
  );
}

/** Columns, beside the key, whose value says whose a row is: no switch such as `archived`. */
function alsoAsked({ read, query }: Read): string[] {
  const where = read.where ?? [];
  if (!where.some(({ column }) => PRIMARY.test(column))) return [];
  return where.flatMap(({ column, operator, values: [value] }) => {
    const given = givenValue(value, query.bindings);
    const isOwner = (typeof given === 'string' && given !== '') || (typeof given === 'number' && given > 1);
    return operator === '=' && !PRIMARY.test(column) && isOwner ? [column] : [];
  });
}

const ownerNotAsked: Rule<Needs<'request' | 'database'>> = {
  name: 'owner-not-asked',
  needs: ['request', 'database'],
  labels: ['owner not asked'],
  why: 'The same caller got 403 or 404 for the resource above this one, because no row has the id together with another column. Here, rows of that id were found, and no statement compares that column.',
  fix: 'Before you read its children, look up the parent as its own route does (`where id = $1 and clinic = $2`). The best place is one middleware for all routes below it (`router.param`).',
  relates: ({ request }, { status, route }) =>
    status === 200 && route?.includes('/:') === true && callerOf(request) !== null,
  find({ request, database }, head, { siblings }) {
    const own = callerOf(request);
    if (own === null || head.status !== 200) return [];
    const reads = readsOf(database);
    const last = reads.findLast(({ read, query }) => read.verb === 'select' && (query.rows ?? 0) > 0);
    if (last === undefined) return [];
    const ids = routeValues(request);
    const isOfId = last.read.where?.some((one) => textsIn(one, last.query).some((text) => ids.has(text)));
    for (const { head: above, kept } of isOfId === true ? siblings : []) {
      const { request: asked, database: refused } = kept;
      if ((above.status !== 403 && above.status !== 404) || !isAbove(above, head)) continue;
      if (refused === undefined || !isSame(own, callerOf(asked))) continue;
      const columns = readsOf(refused)
        .filter(({ query, read }) => query.rows === 0 && read.verb === 'select')
        .flatMap(alsoAsked);
      const [column] = columns.filter(
        (one) =>
          !database.queries.some((query) =>
            new RegExp(String.raw`\b${one}\W*(?:=|in\b)`, 'i').test(sqlOf(database, query)),
          ),
      );
      if (column === undefined) continue;
      const sentence = `${labelOf(database, last.query)} doesn’t ask for ${excerpt(column, 40)}: ${above.method} ${above.route ?? ''} of the same ${own.by} was answered with ${above.status} (${above.token}), because its statement does`;
      return [draftAt(last, sentence, 'bad')];
    }
    return [];
  },
};

const otherParent: Rule<Needs<'request' | 'database'>> = {
  name: 'other-parent',
  needs: ['request', 'database'],
  labels: ['other parent'],
  why: 'The address names a thing below another (`/cases/1/notes/3`). A statement found the row by its id alone, its column for the upper one has another id than the address, and the response was a 2xx.',
  fix: 'Ask for both: `where id = $1 and case_id = $2`, and answer 404 if there is no such row.',
  find({ request, database }, { status, route }) {
    if (!isSuccess(status)) return [];
    const ids = namedIds(route, request);
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      const [row, ...others] = foundRows(query);
      const child = ids.find(({ of }) => singular(read.table ?? '').endsWith(of));
      if (row === undefined || others.length > 0 || child === undefined) return [];
      if (!asksForKey(one, child.id)) return [];
      for (const parent of ids.slice(0, ids.indexOf(child))) {
        const column = Object.keys(row).find((name) => sameName(name) === sameName(parent.column));
        const own = column === undefined ? null : textOf(row[column]);
        if (column === undefined || own === null || own === parent.id || isMasked(own)) continue;
        // It was moved there.
        const isMoved = database.queries.some(({ bindings }) =>
          bindings.some(({ name, value }) => name === column && textOf(value) === parent.id),
        );
        if (
          isMoved &&
          readsOf(database).some(({ read: { sets } }) => sets.some((set) => set.column === column))
        )
          continue;
        const sentence = `${labelOf(database, query)} found the row ${excerpt(child.id, 40)} by its id alone: its ${excerpt(column, 40)} is ${excerpt(own, 40)}, but the address says ${excerpt(parent.id, 40)}`;
        return [draftAt(one, sentence, 'bad')];
      }
      return [];
    });
  },
};

/** Fields of the address that the response has with one other value only. */
function otherValues(request: KeptRequest): { field: ReceivedField; sent: string }[] {
  const { response, query, routeParams } = request;
  const fields = receivedFields({ query, routeParams });
  if (fields.length === 0 || !/\bjson\b/i.test(response?.contentType ?? '')) return [];
  const leaves = leavesIn(response?.text ?? '');
  return fields.flatMap((field) => {
    const own = leaves.filter(({ name }) => sameName(name) === sameName(field.name));
    const [sent, ...others] = new Set(own.map(({ value }) => String(value)));
    return sent === undefined || others.length > 0 || sent === String(field.value) ? [] : [{ field, sent }];
  });
}

/** What tells requests from each other, but not their answers. */
const TRACKING = /^(?:utm_.*|ref|trace.*|.*request_?id|correlation.*|t|ts|_|cb|callback|nonce)$/i;

/** Names and values of an address: of its query, and the parts of its path. */
function partsOf(url: string): { name: string; value: string }[] {
  const at = URL.canParse(url, 'http://localhost') ? new URL(url, 'http://localhost') : null;
  const path = (at?.pathname ?? '').split('/').map((value) => ({ name: '', value: decodeSafely(value) }));
  return [...path, ...Array.from(at?.searchParams ?? [], ([name, value]) => ({ name, value }))];
}

interface Part {
  name: string;
  value: string | null;
}

/** A call or statement that reads, and what it was given. */
interface Reading {
  work: Interval;
  parts: Part[];
  with: string;
}

function readingsOf({ http_client, database }: Partial<Kept>): Reading[] {
  const calls = (http_client?.calls ?? []).filter(isReading).map((call) => ({
    work: call,
    parts: partsOf(call.url),
    with: callName(call),
  }));
  if (database === undefined) return calls;
  const statements = readsOf(database).filter(({ read }) => read.verb === 'select');
  return [
    ...calls,
    ...statements.map(({ query }) => ({
      work: query,
      parts: query.bindings.map(({ name, value }) => ({ name, value: textOf(value) })),
      with: labelOf(database, query),
    })),
  ];
}

/** Those that ran after the key was not found, and before this request stored it. */
function readingsForFill(kept: Partial<Kept>, key: string): Reading[] {
  const items = kept.cache?.items ?? [];
  const miss = items.find((item) => item.key === key && item.hits === 0);
  const filled = miss === undefined ? null : fillOf(items, miss);
  if (miss === undefined || filled === null) return [];
  return readingsOf(kept).filter(
    ({ work: { startMs } }) => startMs >= endOf(miss) && startMs < filled.fill.startMs,
  );
}

interface Found extends Part {
  with: string;
}

/** The first that has such a name and value. */
function readWith(readings: readonly Reading[], isIt: (part: Part) => boolean): Found | null {
  for (const reading of readings) {
    const part = reading.parts.find(isIt);
    if (part !== undefined) return { ...part, with: reading.with };
  }
  return null;
}

/** The call or statement that read with this value to make what was stored under the key; null: none did. */
function madeWith(
  kept: Partial<Kept>,
  key: string,
  { name, value }: Pick<ReceivedField, 'name' | 'value'>,
): string | null {
  const text = String(value);
  const isIt = (one: Part): boolean =>
    one.value === text && (sameName(one.name) === sameName(name) || /\p{L}.*\p{L}/u.test(text));
  return readWith(readingsForFill(kept, key), isIt)?.with ?? null;
}

/** Parameters by which the application may cut, order or shape the cached value. */
const OF_FORM = /sort|order|page|limit|size|offset|count|format|view|field|include|expand|search|query|^q$/i;
const WORD = /^\p{L}[\p{L}_-]+$/u;

/** A word that a read for the key got for a parameter, although its request did not bring one: its default. */
function defaultFor(
  kept: Partial<Kept>,
  key: string,
  { name, value }: ReceivedField,
): { value: string; with: string } | null {
  const own = String(value);
  if (OF_FORM.test(name) || TRACKING.test(name) || !WORD.test(own)) return null;
  const isIt = (one: Part): boolean => sameName(one.name) === sameName(name) && WORD.test(one.value ?? '');
  const found = readWith(readingsForFill(kept, key), isIt);
  if (found === null || found.value === null) return null;
  const [mine, theirs, text] = [own, found.value, key].map((one) => sameName(one)) as [
    string,
    string,
    string,
  ];
  // `de-CH` may choose what `de` chooses.
  const isAlike = mine.startsWith(theirs) || theirs.startsWith(mine);
  return isAlike || text.includes(mine) || text.includes(theirs)
    ? null
    : { value: found.value, with: found.with };
}

/** A parameter that only this request brought, and for which the other one took a default. */
function lackingByDefault(key: string, self: OtherRequest, { head, kept }: OtherRequest): Lacking | null {
  const theirs = receivedFields({ query: kept.request?.query });
  for (const field of receivedFields({ query: self.kept.request?.query })) {
    if (theirs.some(({ path }) => path === field.path)) continue;
    const found = defaultFor(kept, key, field);
    const isReadAnew = readWith(readingsOf(self.kept), ({ value }) => value === String(field.value)) !== null;
    if (found !== null && !isReadAnew)
      return { field, byDefault: found.value, own: field, with: found.with, token: head.token };
  }
  return null;
}

interface Lacking {
  field: { name: string; value: ReceivedField['value'] };
  /** The other request did not bring it: its read got this value all the same. */
  byDefault?: string;
  own: { value: ReceivedField['value'] } | undefined;
  with: string;
  token: string;
  /** Another value than the field’s made it: one of this column, that the address does not have. */
  through?: string;
}

/** Names of headers that choose content. */
const CHOOSES =
  /^(?:accept-language|x-(?:\w+-)*(?:market|currency|locale|lang|language|country|region|store|shop|site|brand|channel|units?))$/i;

/** The texts of a language header: `de-CH,fr;q=0.8` -> `de-CH` and `de`. */
function saidBy(name: string, value: string): string[] {
  const first = value.split(/[,;]/, 1)[0]?.trim() ?? '';
  return name === 'accept-language' ? [first, first.split('-', 1)[0] ?? ''] : [value];
}

/** A column or parameter for which a read for the key was given a text that neither the key nor the request has. */
function boundApart(kept: Partial<Kept>, head: ProfileHead, key: string): Found | null {
  const received = receivedBy(head, { request: kept.request });
  return readWith(
    readingsForFill(kept, key),
    ({ name, value }) =>
      value !== null &&
      /\p{L}/u.test(value) &&
      !received.has(value) &&
      !isMasked(value) &&
      CHOOSES.test(`x-${name.replaceAll('_', '-')}`) &&
      !sameName(key).includes(sameName(value)),
  );
}

/** A header that chose the value of the key in another request, and that the key does not have. */
function lackingHeader(key: string, own: KeptRequest, { head, kept: filler }: OtherRequest): Lacking | null {
  if (filler.request?.response?.text !== own.response?.text) return null;
  for (const { name, value } of filler.request?.headers ?? []) {
    const mine = own.headers.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (!CHOOSES.test(name) || IDENTITY.test(name) || isMasked(value) || mine?.value === value) continue;
    const said = saidBy(name.toLowerCase(), value);
    const mySaid = saidBy(name.toLowerCase(), mine?.value ?? '');
    if (said.some((text) => mySaid.includes(text) || sameName(key).includes(sameName(text)))) continue;
    const field = { name, value };
    const found = { field, own: mine, token: head.token };
    const column = name.replace(/^x-|^accept-/i, '');
    const made = said
      .map((text) => madeWith(filler, key, { name: column, value: text }))
      .find((by) => by !== null);
    if (made !== undefined && made !== null) return { ...found, with: made };
    // A browser sends its language whether it is asked for or not.
    const apart = /^accept-language$/i.test(name) ? null : boundApart(filler, head, key);
    if (apart !== null) return { ...found, with: apart.with, through: apart.name };
  }
  return null;
}

/** A parameter or header that made the value of the key in another request, and that the key does not have. */
function lackingIn(key: string, self: OtherRequest, filler: OtherRequest | undefined): Lacking | null {
  const own = self.kept.request;
  if (own === undefined || filler?.kept.request === undefined) return null;
  const { kept } = filler;
  const { query: theirQuery, routeParams: theirParams } = filler.kept.request;
  const { query, routeParams } = own;
  const mine = receivedFields({ query, routeParams });
  for (const field of receivedFields({ query: theirQuery, routeParams: theirParams })) {
    const text = String(field.value);
    // A fraction may be rounded on purpose, such as a place on the map.
    if (text === '' || isMasked(text) || TRACKING.test(field.name) || /^-?\d+\.\d+$/.test(text)) continue;
    const same = mine.find(({ from, path }) => from === field.from && path === field.path);
    if (sameName(key).includes(sameName(text)) || sameName(String(same?.value ?? '')) === sameName(text))
      continue;
    const made = madeWith(kept, key, field);
    if (made !== null) return { field, own: same, with: made, token: filler.head.token };
  }
  return lackingByDefault(key, self, filler) ?? lackingHeader(key, own, filler);
}

/** For a key that has the end of the path, and not the part before it, which has the value. */
function mountedFix(key: string, url: string, value: Json | undefined): Pick<FindingDraft, 'fix'> {
  const parts = (url.split('?', 1)[0] ?? '').split('/');
  const at = parts.findIndex((part) => decodeSafely(part) === textOf(value ?? null));
  const end = parts.slice(at + 1).join('/');
  if (at < 0 || end === '' || !key.includes(`/${end}`)) return {};
  return {
    fix: `Build the key from \`req.originalUrl\`: in a router, \`req.url\` and \`req.path\` lack the part of the path that the router is mounted at.`,
  };
}

function cachedForAnother(self: OtherRequest, earlier: readonly OtherRequest[]): FindingDraft[] {
  const storerOf = storersAmong(self, earlier);
  return (self.kept.cache?.items ?? []).flatMap((item, index): FindingDraft[] => {
    const { key, caller: place } = item;
    const filler = isFound(item) ? storerOf(index)?.request : undefined;
    const lacking = key === null ? null : lackingIn(key, self, filler);
    if (lacking === null || key === null) return [];
    const name = excerpt(lacking.field.name, 40);
    const said = ({ value }: Pick<ReceivedField, 'value'>): string => `${name} ${excerpt(String(value), 40)}`;
    const own = lacking.own === undefined ? `no ${name}` : said(lacking.own);
    const through =
      lacking.through === undefined ? '' : `, and the ${excerpt(lacking.through, 40)} that may depend on it`;
    const { byDefault } = lacking;
    const theirs = byDefault === undefined ? said(lacking.field) : `no ${name}`;
    const asked = byDefault === undefined ? '' : ` with ${said({ value: byDefault })}`;
    const sentence = `The cache key ${excerpt(key, 60)} lacks ${name}${through}: the value found is that of a request with ${theirs} (${lacking.token}), which had it from ${lacking.with}${asked}, and this one has ${own}`;
    const anchor = `k${index + 1}`;
    const severity = lacking.through === undefined ? 'bad' : 'warn';
    const fix = mountedFix(key, self.head.url, lacking.own?.value);
    return [{ broke: 'response', severity, sentence, panel: 'cache', anchor, place, ...fix }];
  });
}

/** It ran every statement that the earlier request ran, so what it sent came from the database again. */
function ranTheSame(own: Database | undefined, before: Database | undefined): boolean {
  const sqlOf = (data: Database | undefined): string[] => data?.statements.map(({ sql }) => sql) ?? [];
  const ran = new Set(sqlOf(own));
  return ran.size > 0 && sqlOf(before).every((sql) => ran.has(sql));
}

const answerOfAnother: Rule<Needs<'request', 'routing' | 'database' | 'cache' | 'runtime' | 'http_client'>> =
  {
    name: 'answer-of-another',
    needs: ['request'],
    labels: ['another answer'],
    why: 'The response is that of an earlier request of this route with another parameter, and contains its value. Or such a request cached the value, which it had read with that parameter or a header such as `X-Market`, and the key lacks it.',
    fix: 'Put every parameter that the response depends on into the cache key, including the query (`req.originalUrl`) and headers such as a language or market.',
    compares: ({ request, cache }, { method, status }) =>
      method === 'GET' &&
      status === 200 &&
      (otherValues(request).length > 0 || cache?.items.some(isFound) === true),
    find(given, ownHead, { earlier }) {
      const { request, routing, database, cache } = given;
      const cached = cachedForAnother({ head: ownHead, kept: { ...given } }, earlier);
      if (cached.length > 0) return cached;
      const others = otherValues(request);
      for (const { head, kept } of others.length === 0 ? [] : earlier) {
        const before = kept.request;
        if (before?.response === undefined || before.response.text !== request.response?.text) continue;
        const named = receivedFields(before);
        const name = others.find(({ field, sent }) =>
          named.some(
            ({ from, path, value }) => from === field.from && path === field.path && String(value) === sent,
          ),
        )?.field.name;
        if (name === undefined || ranTheSame(database, kept.database)) continue;
        const asked =
          database === undefined && cache === undefined
            ? ', and this request asked no database or cache for it'
            : '';
        const sentence = `The response is that of an earlier request (${head.token}) for another ${excerpt(name, 40)}${asked}: a cache does not seem to tell the two apart`;
        const place = cache?.items[0]?.caller ?? routing?.route?.source;
        return [{ broke: 'response', severity: 'bad', sentence, anchor: 'response', place }];
      }
      return [];
    },
  };

export const callerRules: readonly Rule[] = [cacheOfAnotherUser, ownerNotAsked, otherParent, answerOfAnother];
