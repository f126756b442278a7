/** A condition on whose rows a user may see, which other requests of the same line have. Sentences have names, never values. */
import type { KeptRequest } from '../panels/request/data.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { leavesIn } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Json } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { callerOf, isSame } from './shared/callers.ts';
import { OWNER, textsIn } from './shared/conditions.ts';
import { isSuccess } from './shared/http.ts';
import type { Database, Kept, Needs, OtherRequest, Rule } from './shared/kept.ts';
import { draftAt, labelOf, plainSql, PRIMARY, type Read, readsOf, textOf } from './shared/queries.ts';
import { count, excerpt, listOf } from './shared/wording.ts';

function userOf(request: KeptRequest | undefined): string | null {
  const user = request?.sessionAndUser?.user;
  if (typeof user === 'string') return isMasked(user) ? null : user;
  const caller = callerOf(request);
  return caller?.by === 'user' ? caller.value : null;
}

interface Visible {
  /** Of whoever asks. */
  own: string;
  /** What is for all: `visibility` -> `team`. */
  shared: ReadonlyMap<string, string>;
}

function isAlternative(sql: string, one: string, other: string): boolean {
  const near = (first: string, second: string): boolean =>
    new RegExp(
      String.raw`\b${first}\b[^()]{0,80}\)?\s{0,9}\bor\b\s{0,9}\(?[^()]{0,80}\b${second}\b`,
      'i',
    ).test(sql);
  return near(one, other) || near(other, one);
}

/** `author = 'petra' or visibility = 'team'` */
function visibleIn({ read, query }: Read, user: string, database: Database): Visible | null {
  const equal = (read.where ?? []).flatMap((one) => {
    const [value] = one.operator === '=' && one.wrapped === null ? textsIn(one, query) : [];
    return value === undefined || !/^\w+$/.test(one.column) ? [] : [{ column: one.column, value }];
  });
  const own = equal.find(({ value }) => value === user)?.column;
  if (own === undefined || read.isPlain) return null;
  const sql = plainSql(database, query);
  const shared = equal.filter(({ column }) => column !== own && isAlternative(sql, own, column));
  return shared.length === 0
    ? null
    : { own, shared: new Map(shared.map(({ column, value }) => [column, value])) };
}

function selectsAt(database: Database | undefined, { query, read }: Read): Read[] {
  return readsOf(database).filter(
    (one) => one.query.caller === query.caller && one.read.table === read.table && one.read.verb === 'select',
  );
}

function areSame(one: Visible | null, other: Visible | null): boolean {
  return (
    JSON.stringify([one?.own, ...(one?.shared ?? [])]) ===
    JSON.stringify([other?.own, ...(other?.shared ?? [])])
  );
}

/** What each earlier request that ran this line asked for, if it is the same for all, this user among them. */
function usualOf(
  one: Read,
  user: string,
  earlier: readonly OtherRequest[],
): { visible: Visible; tokens: string[] } | null {
  const ran = earlier.flatMap(({ head: { token }, kept: { request, database } }) => {
    const selects = selectsAt(database, one);
    const by = userOf(request);
    if (database === undefined || selects.length === 0) return [];
    return [
      { token, by, visible: selects.map((each) => (by === null ? null : visibleIn(each, by, database))) },
    ];
  });
  const all = ran.flatMap(({ visible }) => visible);
  const [first] = all;
  if (first === null || first === undefined || ran.length < 2 || !all.every((each) => areSame(each, first)))
    return null;
  return ran.some(({ by }) => by === user) ? { visible: first, tokens: ran.map(({ token }) => token) } : null;
}

/** It is neither of this user nor for all. */
function isHidden(row: Record<string, Json>, user: string, { own, shared }: Visible): boolean {
  const isOther = (column: string, value: string): boolean =>
    textOf(row[column]) !== null && textOf(row[column]) !== value;
  return isOther(own, user) && [...shared].every(([column, value]) => isOther(column, value));
}

function isAsked({ request }: Pick<Kept, 'request'>, { method, status }: ProfileHead): boolean {
  return method === 'GET' && isSuccess(status) && userOf(request) !== null;
}

/** Columns that say whose a row is. */
const WHOSE = new RegExp(`[a-z]_?id$|${OWNER.source}`, 'i');

/** What a statement asks for without having received it: `branch_id = 2` of whoever asks. */
function scopesOf({ read, query }: Read, request: KeptRequest | undefined): Map<string, string> {
  const received = new Set(receivedFields(request ?? {}).map(({ value }) => String(value)));
  return new Map(
    (read.isPlain && read.joins === 0 ? (read.where ?? []) : []).flatMap((one) => {
      const [value] = one.operator === '=' && one.wrapped === null ? textsIn(one, query) : [];
      const isOwn = value !== undefined && WHOSE.test(one.column) && !received.has(value) && !isMasked(value);
      return isOwn ? [[one.column, value] as const] : [];
    }),
  );
}

/** Columns of rows that say whose they are, and that the statement compares nowhere. */
function openColumns(database: Database, { query, read }: Read): string[] {
  const [row] = foundRows(query);
  if (row === undefined || read.verb !== 'select' || read.joins > 0 || read.isAggregated) return [];
  const where = / where .*/i.exec(plainSql(database, query))?.[0] ?? '';
  return Object.keys(row).filter(
    (name) =>
      WHOSE.test(name) && !PRIMARY.test(name) && !new RegExp(String.raw`\b${name}\b`, 'i').test(where),
  );
}

/** `select id, branch_id from work_orders` */
function headOf(database: Database, query: Read['query']): string {
  return plainSql(database, query).split(/ (?:where|order by|limit) /i, 1)[0] ?? '';
}

interface Run {
  token: string;
  request: KeptRequest | undefined;
  value: string | undefined;
}

/** Names in the response, outside of its lists. */
function titlesIn(request: KeptRequest | undefined): Map<string, string> {
  const leaves = leavesIn(request?.response?.text ?? '');
  return new Map(
    leaves.flatMap(({ path, value }) =>
      typeof value === 'string' && value.length > 2 && !/\d/.test(path) ? [[path, value] as const] : [],
    ),
  );
}

/** What the column was compared with for whoever sent this request, too: the same caller, or the responses have the same name, which differs between others. */
function ownValue(request: KeptRequest, { where }: Read['read'], runs: readonly Run[]): string | undefined {
  const titles = titlesIn(request);
  const isTold = (run: Run): boolean =>
    [...titlesIn(run.request)].some(
      ([path, title]) =>
        titles.get(path) === title &&
        runs.every(
          (other) => (titlesIn(other.request).get(path) === title) === (other.value === run.value),
        ) &&
        runs.some((other) => other.value !== run.value),
    );
  // Without any condition, the caller may have asked for all.
  const isOwn = (run: Run): boolean => where !== null && isSame(callerOf(request), callerOf(run.request));
  return runs.find((run) => isOwn(run) || isTold(run))?.value;
}

/** Rows of others, of a line that asked all earlier requests for those of one. */
function scopeLost(
  { database, request }: Needs<'database' | 'request'>,
  one: Read,
  earlier: readonly OtherRequest[],
  sent: ReadonlySet<string>,
): string | null {
  for (const column of openColumns(database, one)) {
    const runs = earlier.flatMap(({ head: { token }, kept }): Run[] => {
      const { database: theirs } = kept;
      const selects = readsOf(theirs).filter(
        (each) =>
          each.read.table === one.read.table &&
          (each.query.caller === one.query.caller
            ? each.read.verb === 'select'
            : // The line may not be known each time.
              theirs !== undefined && headOf(theirs, each.query) === headOf(database, one.query)),
      );
      return selects.map((each) => ({
        token,
        request: kept.request,
        value: scopesOf(each, kept.request).get(column),
      }));
    });
    const own =
      runs.length < 2 || runs.some(({ value }) => value === undefined)
        ? undefined
        : ownValue(request, one.read, runs);
    const others = foundRows(one.query).filter(
      (row) =>
        textOf(row[column]) !== null &&
        textOf(row[column]) !== own &&
        Object.entries(row).some(([name, value]) => PRIMARY.test(name) && sent.has(textOf(value) ?? '')),
    );
    if (own === undefined || others.length === 0) continue;
    const tokens = [...new Set(runs.map(({ token }) => token))];
    return `${labelOf(database, one.query)} has no condition on ${excerpt(column, 40)}, which it had in ${count(tokens.length, 'earlier request')} (${tokens.slice(0, 2).join(', ')}): ${count(others.length, 'row')} of another ${excerpt(column, 40)} ${others.length === 1 ? 'was' : 'were'} sent`;
  }
  return null;
}

export const visibilityLost: Rule<Needs<'database' | 'request'>> = {
  name: 'visibility-lost',
  needs: ['database', 'request'],
  labels: ['others’ rows'],
  why: 'All earlier requests that ran this line asked for rows of their user, or for a value in another column that is for all; or for one `…_id` that they had not received. One had the same caller. Here, rows of others were sent.',
  fix: 'Join conditions with AND: `{ [Op.and]: [visibleTo(user), matching(q)] }`. In `{ ...a, ...b }`, a key of `b` replaces that of `a`: `[Op.or]`, `OR`, `$or`. A second `.where()` of Drizzle replaces the first: `and(a, b)`.',
  compares: (kept, head) =>
    isAsked(kept, head) ||
    (head.method === 'GET' &&
      isSuccess(head.status) &&
      readsOf(kept.database).some((one) => openColumns(kept.database, one).length > 0)),
  find(kept, head, { earlier }) {
    const { database, request } = kept;
    const user = userOf(request);
    if (head.method !== 'GET' || !isSuccess(head.status)) return [];
    const sent = new Set(
      leavesIn(request.response?.text ?? '').flatMap(({ name, value }) =>
        PRIMARY.test(name) ? String(value) : [],
      ),
    );
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      if (read.verb !== 'select' || query.caller === null || query.rows === 0) return [];
      const lost = scopeLost(kept, one, earlier, sent);
      if (lost !== null) return [{ ...draftAt(one, lost, 'bad'), broke: 'response' }];
      const usual = user === null ? null : usualOf(one, user, earlier);
      if (user === null || usual === null) return [];
      const { own, shared } = usual.visible;
      const columns = [own, ...shared.keys()];
      if (read.where?.some(({ column }) => column === own) !== false) return [];
      const hidden = foundRows(query).filter(
        (row) =>
          isHidden(row, user, usual.visible) &&
          Object.entries(row).some(([name, value]) => PRIMARY.test(name) && sent.has(textOf(value) ?? '')),
      );
      if (hidden.length === 0) return [];
      const names = listOf(columns.map((column) => excerpt(column, 40)));
      const tokens = usual.tokens.slice(0, 2).join(', ');
      const sentence = `${labelOf(database, query)} has no condition on ${names}, which it had in ${count(usual.tokens.length, 'earlier request')} (${tokens}): ${count(hidden.length, 'row')} that the user could not see there ${hidden.length === 1 ? 'was' : 'were'} sent`;
      return [{ ...draftAt(one, sentence, 'bad'), broke: 'response' }];
    });
  },
};
