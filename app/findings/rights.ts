/** What somebody may do: checks that stop nobody, and rights from the body. */
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { givenValue } from '../panels/shared/read-statement.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import { callerOf } from './shared/callers.ts';
import { endOf, type Kept, type Needs, type OtherRequest, type Rule } from './shared/kept.ts';
import { asksForKey, routeValues } from './shared/conditions.ts';
import { draftAt, labelOf, plainSql, type Read, readsOf, runsOf, sqlOf, textOf } from './shared/queries.ts';
import { excerpt } from './shared/wording.ts';
import { nameOfLayer } from './shared/http.ts';

/** Columns that say what somebody may do. */
const ALLOWS =
  /^(?:roles?|permissions?|access(?:_level)?|is_(?:admin|owner|member|moderator|editor)|can_\w+)$/i;

/** A statement that only says whether somebody may. */
const IS_CHECK =
  /^\s*select (?:1|true|exists|count)\b(?=[^;]*\b(?:grant|permission|role|member|access|owner|share|collaborator))/i;

/** A check that found no row in a middleware, which called next() as it does when one is found, and the change that followed. */
function checkIgnored(
  { database, routing }: Pick<Partial<Kept>, 'routing'> & Needs<'database'>,
  checks: readonly Read[],
  changes: readonly Read[],
  earlier: readonly OtherRequest[],
): FindingDraft[] {
  return checks.flatMap((check): FindingDraft[] => {
    const { query } = check;
    const sql = sqlOf(database, query);
    if (query.rows !== 0 || !IS_CHECK.test(plainSql(database, query))) return [];
    const isGuarded = routing?.layers.some(
      ({ outcome, startMs, nextMs }) =>
        outcome === 'next' && startMs <= query.startMs && query.startMs <= startMs + (nextMs ?? 0),
    );
    const change = changes.find((one) => one.query.startMs >= endOf(query));
    if (isGuarded !== true || change === undefined) return [];
    const ran = earlier.flatMap(({ head, kept: { database: theirs } }) =>
      runsOf(theirs, sql).map(({ rows }) => ({ head, rows })),
    );
    const found = ran.find(({ rows, head }) => (rows ?? 0) > 0 && (head.status ?? 400) < 400);
    if (found === undefined || ran.some(({ rows, head }) => rows === 0 && (head.status ?? 400) >= 400))
      return [];
    const sentence = `${labelOf(database, query)} found no row, and its middleware called next() all the same, as when it finds one (${found.head.token}): ${labelOf(database, change.query)} ran for the same id`;
    return [draftAt(check, sentence, 'bad')];
  });
}

/** A check that a middleware sent and did not wait for: it called next() first, and the response was sent without its answer, or against it. */
function checkUnanswered(
  { request, database, routing }: Needs<'request' | 'database', 'routing'>,
  checks: readonly Read[],
): FindingDraft[] {
  const headersAtMs = request.response?.headersAtMs ?? Infinity;
  return checks.flatMap((check): FindingDraft[] => {
    const { query } = check;
    if (!IS_CHECK.test(plainSql(database, query))) return [];
    const askedMs = query.startMs - query.waitMs;
    const layer = routing?.layers.findLast(
      ({ kind, outcome, startMs, nextMs }) =>
        kind !== 'router' &&
        outcome === 'next' &&
        startMs <= askedMs &&
        askedMs <= startMs + (nextMs ?? 0) &&
        startMs + (nextMs ?? 0) < endOf(query),
    );
    const isLate = endOf(query) > headersAtMs;
    if (layer === undefined || !(isLate || query.rows === 0)) return [];
    const found = query.rows === 0 ? '. It found no row' : '';
    const sentence = `${nameOfLayer(layer)} called next() before ${labelOf(database, query)} was answered: that check could not stop the request${isLate ? ', whose response was sent meanwhile' : ''}${found}`;
    return [draftAt(check, sentence, isLate ? 'bad' : 'warn')];
  });
}

const checkNotAwaited: Rule<Needs<'request' | 'database', 'routing'>> = {
  name: 'check-not-awaited',
  needs: ['request', 'database'],
  labels: ['check not awaited'],
  explains: ['work-after-response'],
  why: 'A statement read a role or permission for an id of the address. Before it was answered, a change of that thing was sent, or its middleware called `next()`. Or it found no row, and `next()` was called as if it had.',
  fix: 'Await the check before you write: `if (!(await canManage(id, user))) return res.sendStatus(403)`. A promise is an object, so `if (!canManage(…))` never refuses.',
  compares: ({ database }, { method }) =>
    method !== 'GET' &&
    database.queries.some((query) => query.rows === 0 && IS_CHECK.test(plainSql(database, query))),
  find({ request, database, routing }, { method, status }, { earlier }) {
    if (status === null || status >= 400) return [];
    const reads = readsOf(database);
    const ids = routeValues(request);
    const received = new Set(receivedFields({ body: request.body }).map(({ value }) => textOf(value)));
    const isOfId = ({ query }: Read): boolean =>
      query.bindings.some(({ value }) => ids.has(textOf(value) ?? ''));
    const checks = reads.filter((one) => one.read.verb === 'select' && isOfId(one));
    const unanswered = checkUnanswered({ request, database, routing }, checks);
    if (unanswered.length > 0 || method === 'GET') return unanswered.slice(0, 1);
    const changes = reads.filter(
      (one) =>
        one.read.verb !== 'select' &&
        one.query.rows !== 0 &&
        isOfId(one) &&
        one.query.bindings.some(({ value }) => textOf(value) !== null && received.has(textOf(value))),
    );
    const ignored = checkIgnored({ database, routing }, checks, changes, earlier);
    if (ignored.length > 0 || status >= 300) return ignored.slice(0, 1);
    return checks.flatMap((check): FindingDraft[] => {
      const { query } = check;
      const [row = {}] = foundRows(query);
      const column = Object.keys(row).find((name) => ALLOWS.test(name));
      if (column === undefined) return [];
      const change = changes.find(
        (one) =>
          one.query.caller !== query.caller &&
          one.query.startMs > query.startMs &&
          one.query.startMs - one.query.waitMs < endOf(query),
      );
      if (change === undefined) return [];
      const sentence = `${labelOf(database, change.query)} was sent before ${labelOf(database, query)} was answered: that check of ${excerpt(column, 40)} could not stop it, as nothing awaited it`;
      return [draftAt(change, sentence, 'bad')];
    });
  },
};

/** Columns that say what somebody may do, or owns. */
const RIGHTS =
  /^(?:is_?)?(?:roles?|admin|administrator|superuser|staff|moderator|verified|tier|permissions?|scopes?|credits?|balance)$/i;
const USERS = /^(?:users?|accounts?|members?|customers?|profiles?)$/i;
const MAY_ALL = /admin|owner|staff|root|superuser/i;

function sameValue(one: Json | undefined, other: Json | undefined): boolean {
  const plain = (value: Json | undefined): string =>
    typeof value === 'boolean' ? `${Number(value)}` : JSON.stringify(value ?? null);
  return plain(one) === plain(other);
}

const rightsWritten: Rule<Needs<'request' | 'database', 'http_client'>> = {
  name: 'rights-written',
  needs: ['request', 'database'],
  labels: ['rights from the body'],
  why: 'The row of the user who sent the request got a value of the body in a column such as `role`, `verified`, `tier` or `balance`. The user had another one and is no administrator, and no other service was called.',
  fix: 'Take the fields that users may change by name (`const { headline, rate } = req.body`), or let a schema drop the others.',
  find({ request, database, http_client }, { url }) {
    const own = callerOf(request);
    const { user = null } = request.sessionAndUser ?? {};
    const known = isRecord(user) ? user : {};
    const isAdmin = Object.entries(known).some(
      ([name, value]) =>
        /role|admin|staff|permission/i.test(name) &&
        (value === true || value === 1 || MAY_ALL.test(JSON.stringify(value))),
    );
    if (own?.by !== 'user' || isAdmin || (http_client?.calls.length ?? 0) > 0) return [];
    const fields = receivedFields(request).filter(
      ({ from, name, path }) =>
        (from === 'body' || from === 'form') &&
        path === name &&
        RIGHTS.test(name) &&
        !url.toLowerCase().includes(name.toLowerCase()),
    );
    if (fields.length === 0) return [];
    return readsOf(database).flatMap((update): FindingDraft[] => {
      const { read, query } = update;
      if (read.verb !== 'update' || query.rows === 0 || !asksForKey(update, own.value)) return [];
      const written = fields.filter(({ name, value }) => {
        const set = read.sets.find(({ column }) => sameName(column) === sameName(name));
        if (set === undefined || !sameValue(givenValue(set.value, query.bindings), value)) return false;
        const before = Object.entries(known).find(([key]) => sameName(key) === sameName(name));
        return before === undefined ? USERS.test(read.table ?? '') : !sameValue(before[1], value);
      });
      if (written.length === 0) return [];
      const named = written.map(
        ({ name, value }) => `${excerpt(name, 40)}: ${excerpt(JSON.stringify(value), 40)}`,
      );
      const sentence = `${labelOf(database, query)} wrote ${named.join(' and ')} of the body into the row of the user who sent it: users give themselves these rights`;
      return [draftAt(update, sentence, 'bad')];
    });
  },
};

export const rightRules: readonly Rule[] = [checkNotAwaited, rightsWritten];
