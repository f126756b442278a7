/** A condition on whose rows a user may see, which other requests of the same line have. Sentences have names, never values. */
import type { KeptRequest } from '../panels/request/data.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { leavesIn } from '../panels/shared/json-leaves.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Json } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { callerOf } from './shared/callers.ts';
import { textsIn } from './shared/conditions.ts';
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

function selectsAt(database: Database, { query, read }: Read): Read[] {
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
    const selects = database === undefined ? [] : selectsAt(database, one);
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

export const visibilityLost: Rule<Needs<'database' | 'request'>> = {
  name: 'visibility-lost',
  needs: ['database', 'request'],
  labels: ['others’ rows'],
  why: 'All earlier requests that ran this line asked for rows of their user, or for a value in another column that is for all; one was of this user. This statement compares neither column, and rows that are neither were sent.',
  fix: 'Join conditions with AND: `{ [Op.and]: [visibleTo(user), matching(q)] }`. In `{ ...a, ...b }`, a key of `b` replaces the same key of `a`: `[Op.or]`, `OR`, `$or`.',
  compares: isAsked,
  find(kept, head, { earlier }) {
    const { database, request } = kept;
    const user = userOf(request);
    if (user === null || !isAsked(kept, head)) return [];
    const sent = new Set(
      leavesIn(request.response?.text ?? '').flatMap(({ name, value }) =>
        PRIMARY.test(name) ? String(value) : [],
      ),
    );
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      if (read.verb !== 'select' || query.caller === null || query.rows === 0) return [];
      const usual = usualOf(one, user, earlier);
      if (usual === null) return [];
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
