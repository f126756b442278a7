/** Conditions and keys that ask for something else than they seem to: brackets, NOT IN, constants, days, joined rows, no condition. */
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { leavesOf, listsIn, parseBeginning } from '../panels/shared/json-leaves.ts';
import { type Comparison, givenValue } from '../panels/shared/read-statement.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Json } from '../profiler/json.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import type { Database, Needs, OtherRequest, Query, Rule } from './shared/kept.ts';
import { givenText, OWNER, textsIn } from './shared/conditions.ts';
import {
  draftAt,
  hasJoinsOf,
  labelOf,
  plainSql,
  PRIMARY,
  type Read,
  readsOf,
  rolledBack,
  runsOf,
  sqlOf,
  textOf,
} from './shared/queries.ts';
import { bracketed, count, excerpt, requestText } from './shared/wording.ts';
import { limitOf } from './shared/statement-reasons.ts';

/** Ids that say which one is wanted: of the address, of the user and the session. */
function wantedIds({ routeParams, sessionAndUser }: KeptRequest): { name: string; value: string }[] {
  const { user = null, session = null } = sessionAndUser ?? {};
  const ofParams = receivedFields({ routeParams }).map(({ name, value }) => ({ name, value: String(value) }));
  const ofUser = leavesOf(user).filter(({ path }) => PRIMARY.test(path));
  const ofSession = leavesOf(session).filter(({ name }) => /user_?id$/i.test(name));
  return [
    ...ofParams,
    ...[...ofUser, ...ofSession].map(({ value }) => ({ name: 'the user’s id', value: String(value) })),
  ];
}

function sentId({ response }: KeptRequest): string | null {
  const whole = parseBeginning(response?.text ?? '')?.value ?? null;
  const ids = leavesOf(whole).filter(({ name }) => PRIMARY.test(name));
  const [first, ...others] = ids;
  const own = ids.find(({ path }) => PRIMARY.test(path)) ?? (others.length === 0 ? first : undefined);
  return own === undefined || own.path.split('.').length > 2 ? null : String(own.value);
}

const OF_ONE = /setting|config|preference|option|feature|flag|info|state|version|site/i;

function readsAnyRow({ read, query }: Read): boolean {
  return (
    read.verb === 'select' &&
    read.table !== null &&
    !OF_ONE.test(read.table) &&
    read.where === null &&
    read.orderBy === '' &&
    read.offset === null &&
    read.joins === 0 &&
    !read.isAggregated &&
    limitOf(read, query) === 1
  );
}

const anyRow: Rule<Needs<'database' | 'request'>> = {
  name: 'any-row',
  needs: ['database', 'request'],
  labels: ['any row'],
  why: 'A read with LIMIT 1 had neither WHERE nor ORDER BY, and the response has the id of another row than the one of the address or of the user.',
  fix: 'Check the value before you ask: ORMs drop a criterion that is `undefined` (`findOneBy({ id: undefined })`), and then the first row of the table is as good as any.',
  find({ database, request }, { method, status }) {
    if (method !== 'GET' || status !== 200) return [];
    const wanted = wantedIds(request);
    const sent = sentId(request);
    const [first] = wanted;
    if (first === undefined || sent === null || wanted.some(({ value }) => value === sent)) return [];
    const ids = new Set(wanted.map(({ value }) => value));
    const isWanted = ({ read, query }: Read): boolean =>
      read.where?.some((one) => PRIMARY.test(one.column) && textsIn(one, query).some((id) => ids.has(id))) ===
      true;
    // What else was read may be what was sent.
    const found = readsOf(database).filter((one) => one.query.rows !== 0 && !isWanted(one));
    const [one] = found;
    if (one === undefined || found.length > 1 || !readsAnyRow(one)) return [];
    // Of an ORM that was seen to drop a condition, condition-dropped tells.
    if (one.query.dropped !== undefined) return [];
    const sentence = `${labelOf(database, one.query)} has LIMIT 1, no WHERE and no ORDER BY, so it reads any row: the response has another id than ${excerpt(first.name, 40)}, as if its criterion was undefined`;
    return [draftAt(one, sentence, 'bad')];
  },
};

/** What a found row has in a column for which another value was asked; null: none is known. */
function otherFound({ read, query }: Read, { column, values: [value] }: Comparison): string | null {
  const asked = givenText(value, query);
  if (asked === null || isMasked(asked) || read.joins > 0) return null;
  const found = foundRows(query).flatMap((row) =>
    Object.entries(row).flatMap(([name, other]) =>
      sameName(name) === sameName(column) ? (textOf(other) ?? []) : [],
    ),
  );
  return found.find((other) => other !== asked && !isMasked(other)) ?? null;
}

interface Unowned {
  owner: string;
  column: string;
  /** A row of this owner was found. */
  other: string | null;
}

/** A comparison after an OR that repeats one of the other side, where whose the row is isn't asked again. */
function unownedBranch(one: Read): Unowned | null {
  const { alternatives } = one.read;
  const valueOf = ({ values: [value] }: Comparison): Json | undefined =>
    givenValue(value, one.query.bindings);
  for (const branch of alternatives) {
    for (const owner of branch) {
      const isOwner = OWNER.test(owner.column);
      if (owner.operator !== '=' || (!isOwner && !/[a-z]_?id$/i.test(owner.column))) continue;
      const other = otherFound(one, owner);
      const rest = branch.filter((two) => two !== owner);
      const repeated = alternatives.find(
        (side) =>
          side.length > 0 &&
          side.every(({ column }) => !OWNER.test(column) && column !== owner.column) &&
          side.every((asked) => {
            const value = valueOf(asked);
            // A row of any other id may be wanted, unless this is a search.
            return (
              (isOwner || (other !== null && /^i?like$/.test(asked.operator))) &&
              value !== undefined &&
              value !== null &&
              value !== valueOf(owner) &&
              rest.some((two) => two.operator === asked.operator && valueOf(two) === value)
            );
          }),
      );
      if (repeated !== undefined) return { owner: owner.column, column: repeated[0]?.column ?? '', other };
    }
  }
  return null;
}

/** Of what everybody may see: `owner_id = $1 and state = 'draft' or state = 'published'`. */
const FOR_ALL =
  /public|publish|shared?\b|scope|visib|access|audience|privacy|global|system|default|built_?-?in|standard|template|everyone|\ball\b|\bany\b|live|active|approved|listed|\bfree\b|\bopen_/i;

/** `tenant_id = $1 and status = $2 or status = $3`: the same column is compared on both sides, and only one of them asks whose the row is. */
function unownedState({ read, query }: Read): { owner: Comparison; column: string } | null {
  const { alternatives } = read;
  const textOfOne = ({ operator, wrapped, values: [value] }: Comparison): string | null => {
    const given = operator === '=' && wrapped === null ? givenValue(value, query.bindings) : null;
    return typeof given === 'string' && /[a-z]/i.test(given) ? given : null;
  };
  const ofOwner = alternatives.filter((branch) => branch.some(({ column }) => OWNER.test(column)));
  const [branch = []] = ofOwner;
  const owner = branch.find(({ column, operator }) => operator === '=' && OWNER.test(column));
  if (owner === undefined || ofOwner.length !== 1 || alternatives.length < 2) return null;
  for (const other of alternatives) {
    const [one, ...more] = other;
    if (other === branch || one === undefined || more.length > 0) continue;
    const state = branch.find(({ column, of }) => column === one.column && of === one.of);
    const [own, alternative] = [state, one].map((side) => (side === undefined ? null : textOfOne(side)));
    if (typeof own !== 'string' || typeof alternative !== 'string') continue;
    if (!FOR_ALL.test(one.column) && !FOR_ALL.test(alternative)) return { owner, column: one.column };
  }
  return null;
}

/** A statement that asks for the rows of this table by the same owner, whatever else it asks for. */
function alwaysOwned(database: Database, { read, query }: Read, owner: Comparison): Read | undefined {
  const of = textsIn(owner, query)[0];
  return readsOf(database).find(
    (one) =>
      one.read.table === read.table &&
      one.read.isPlain &&
      one.read.where?.some(
        (asked) =>
          asked.column === owner.column &&
          asked.operator === '=' &&
          of !== undefined &&
          textsIn(asked, one.query)[0] === of,
      ) === true,
  );
}

function unownedAlternative(
  one: Read,
  database: Database,
  siblings: readonly OtherRequest[],
): FindingDraft[] {
  const found = unownedState(one);
  if (found === null) return [];
  const databases = [database, ...siblings.flatMap(({ kept }) => kept.database ?? [])];
  for (const other of databases) {
    const owned = alwaysOwned(other, one, found.owner);
    if (owned === undefined) continue;
    const { owner, column } = found;
    const sentence = `${labelOf(database, one.query)} asks for ${owner.column} only on one side of an OR without brackets, so it takes rows of any ${owner.column} by ${column}; ${labelOf(other, owned.query)}${bracketed(owned.query.caller)} always asks for ${owner.column}`;
    return [draftAt(one, sentence, 'bad')];
  }
  return [];
}

const orWithoutBrackets: Rule<Needs<'database'>> = {
  name: 'or-without-brackets',
  needs: ['database'],
  labels: ['OR without brackets'],
  why: 'The WHERE is `owner = … and a = x or b = x` without brackets, and rows were found; of another id, in a search by LIKE, one with another id. Or it is `owner = … and a = x or a = y`, and another statement always asks for the owner.',
  fix: 'Put the alternatives in brackets: `owner_id = $1 and (title ilike $2 or body ilike $2)`; in builders with a function, such as `andWhere((or) => or.where(…).orWhere(…))` of Knex.',
  relates: ({ database }) => readsOf(database).some((one) => unownedState(one) !== null),
  find({ database }, _head, { siblings }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { query } = one;
      if (query.rows === 0) return [];
      const found = unownedBranch(one);
      if (found === null) return unownedAlternative(one, database, siblings);
      const { owner, column, other } = found;
      const proof = other === null ? '' : `, such as a found one of ${owner} ${excerpt(other, 40)}`;
      const sentence = `${labelOf(database, query)} asks for ${owner} only on one side of an OR without brackets: rows of any ${owner} match by ${column}${proof}`;
      return [draftAt(one, sentence, OWNER.test(owner) ? 'bad' : 'warn')];
    });
  },
};

const NOT_IN =
  /\b(?:\w+\.)?(\w+) not in ?\( ?select (?:distinct )?(?:\w+\.)?(\w+) from (?:\w+\.)?(\w+)(?: (?!where\b)(?:as )?\w+)?(?: where ([^()]*))?\)/i;

interface NullableList {
  column: string;
  table: string;
  /** The WHERE of the subselect. */
  condition: string;
  isTree: boolean;
}

/** A column that a NOT IN selects, and that may be NULL, as that of the parent is in a tree; null: there is none. */
function nullableList(sql: string): NullableList | null {
  const [found, , column = '', table = '', condition = ''] = NOT_IN.exec(sql) ?? [];
  if (found === undefined) return null;
  const isKept = PRIMARY.test(column) || new RegExp(String.raw`\b${column}\b`, 'i').test(condition);
  const isTree = new RegExp(String.raw`\bfrom (?:\w+\.)?${table}\b.* not in`, 'i').test(sql);
  return isKept ? null : { column, table, condition, isTree };
}

/** A list that gets shorter row by row ends with one. */
const FEWEST_BEFORE = 2;

/** Equalities of the subselect that a row has to fulfil; null if it asks for anything else. */
function asksOfList({ read, query }: Read, { condition }: NullableList): Map<string, string> | null {
  const parts = condition === '' ? [] : condition.split(/ and /i);
  const asked = parts.map((part) => /^(?:\w+\.)?(\w+) = \S.*$/.exec(part.trim())?.[1] ?? '');
  const values = new Map<string, string>();
  for (const column of asked) {
    const of = (read.where ?? []).filter((one) => one.column === column && one.operator === '=');
    const [value] = of.length === 1 && of[0] !== undefined ? textsIn(of[0], query) : [];
    // Nothing is known of a row whose value is masked.
    if (value === undefined || isMasked(value)) return null;
    values.set(column, value);
  }
  return values;
}

function nullInserted({ column, table }: NullableList, { read, query }: Read): Record<string, Json> | null {
  const names = query.bindings.map(({ name }) => name);
  // Several rows have each name several times.
  if (read.verb !== 'insert' || query.rows === 0 || new Set(names).size < names.length) return null;
  const row = Object.fromEntries(query.bindings.map(({ name, value }) => [name, value]));
  return read.table === table && row[column] === null ? row : null;
}

/** The request that inserted a row with NULL into the list of a NOT IN, if nothing is known to have changed that table since. */
function nullWriter(
  one: Read,
  list: NullableList,
  others: readonly OtherRequest[],
): { head: ProfileHead; place: string | null } | null {
  const asked = asksOfList(one, list);
  if (asked === null) return null;
  for (const { head, kept } of others.toSorted((a, b) => b.head.startedAt - a.head.startedAt)) {
    if (kept.database === undefined) continue;
    const undone = new Set(rolledBack(kept.database).flatMap(({ members }) => members));
    const writes = readsOf(kept.database).filter(
      ({ read, query, index }) =>
        read.verb !== 'select' && read.table === list.table && query.rows !== 0 && !undone.has(index),
    );
    for (const write of writes.toReversed()) {
      if (write.read.verb !== 'insert') return null;
      const row = nullInserted(list, write);
      if (row === null) continue;
      const isListed = [...asked].every(([column, value]) => textOf(row[column]) === value);
      if (isListed) return { head, place: write.query.caller };
    }
  }
  return null;
}

function hasNullableList({ database }: Needs<'database'>): boolean {
  return database.queries.some(
    (query) => query.rows === 0 && nullableList(plainSql(database, query)) !== null,
  );
}

const notInNull: Rule<Needs<'database'>> = {
  name: 'not-in-null',
  needs: ['database'],
  labels: ['NOT IN'],
  why: 'The WHERE has a NOT IN with a subselect that doesn’t exclude NULL, and found no row. An earlier request inserted such a NULL, or this route found none before or several. A subselect of another table is a note without either.',
  fix: 'Use `not exists (select 1 from … where …)`, or exclude NULL in the subselect (`where parent_id is not null`).',
  compares: hasNullableList,
  relates: hasNullableList,
  find({ database }, _head, { earlier, siblings }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { query } = one;
      const list = query.rows === 0 ? nullableList(plainSql(database, query)) : null;
      if (list === null) return [];
      const runs = earlier.flatMap(({ kept }) => runsOf(kept.database, sqlOf(database, query)));
      const valuesOf = ({ bindings }: Query): string => JSON.stringify(bindings.map(({ value }) => value));
      const same = runs.filter((run) => valuesOf(run) === valuesOf(query));
      // With other values, fewer or more rows say little.
      const before = same.length > 0 ? same : runs;
      const { column, table, isTree } = list;
      const foundBefore = before.some(({ rows }) => rows !== 0);
      const latest = before[0]?.rows ?? 0;
      const noneBefore = before.length === 0 ? '' : `, nor did ${count(before.length, 'earlier request')}`;
      const others = foundBefore ? `, although it found ${count(latest)} before` : noneBefore;
      const label = `${labelOf(database, query)} found no row${others}: NOT IN is never true if`;
      const writer = nullWriter(one, list, [...siblings, ...earlier]);
      if (writer !== null) {
        const at = bracketed(writer.place);
        const sentence = `${label} ${column} is NULL in one row of ${table}, as in the row that ${requestText(writer.head)} inserted${at}`;
        return [draftAt(one, sentence, 'bad')];
      }
      if (isTree ? foundBefore || before.length === 0 : foundBefore && latest < FEWEST_BEFORE) return [];
      const example = isTree
        ? `its subselect has NULL, such as the ${column} of a row without a parent`
        : `${column} is NULL in one row of ${table}`;
      return [draftAt(one, `${label} ${example}`, isTree || foundBefore ? 'warn' : 'info')];
    });
  },
};

const sortedByConstant: Rule<Needs<'database', 'request'>> = {
  name: 'sorted-by-constant',
  needs: ['database'],
  labels: ['sorted by constant'],
  why: 'ORDER BY or GROUP BY has a bound text or a text in quotes. It is the same for all rows; a bound value is never the name of a column.',
  fix: 'Choose the column from a fixed list of names, and write it into the statement (`order by ${columns[sort] ?? "id"}`).',
  find({ database, request }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      const text = read.sortKeys
        .map((value) => (value.kind === 'bound' || value.kind === 'literal' ? value : null))
        .map((value) => (value === null ? null : givenValue(value, query.bindings)))
        .find((value) => typeof value === 'string' && !/^\d+$/.test(value));
      if (typeof text !== 'string' || (query.rows ?? 0) < 1) return [];
      // With ANSI_QUOTES, MySQL takes it for a name.
      if (sqlOf(database, query).includes(`"${text}"`)) return [];
      const field = receivedFields(request ?? {}).find(({ value }) => value === text);
      const which = field === undefined ? 'a text' : `the text of ${excerpt(field.name, 40)}`;
      const sentence = `${labelOf(database, query)} sorts or groups its ${count(query.rows ?? 0, 'row')} by ${which}, not by a column: it is the same for each of them`;
      return [draftAt(one, sentence, 'warn')];
    });
  },
};

/** `select count(o.id)`: the table that is counted, if it is named. */
const COUNTED = /^select count ?\( ?(?:\*|(?!distinct\b)(?:(\w+)\.)?\w+) ?\)/i;

const joinedRowsCounted: Rule<Needs<'database' | 'request'>> = {
  name: 'joined-rows-counted',
  needs: ['database', 'request'],
  labels: ['joined rows counted'],
  why: 'A count without `distinct` has the same joins as another statement of the request, which returned more rows than the response has entries.',
  fix: 'Count the entries: `count(distinct orders.id)`, `distinct: true` of Sequelize, or a count without the joins.',
  find({ database, request }) {
    const lengths = listsIn(request.response?.text ?? '').map((list) => list.length);
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      const sql = plainSql(database, query);
      const { table, alias = table, joins } = read;
      const [count_, of = alias] = COUNTED.exec(sql) ?? [];
      if (table === null || joins === 0 || count_ === undefined || / group by /i.test(sql)) return [];
      // Rows of a joined table may be what was to be counted.
      if (of !== table && of !== alias) return [];
      const page = database.queries.find(
        (other) =>
          other !== query &&
          (other.rows ?? 0) > 1 &&
          !/^select (?:distinct|count)\b/i.test(plainSql(database, other)) &&
          hasJoinsOf(sql, plainSql(database, other)),
      );
      const entries = Math.max(...lengths.filter((length) => length <= (page?.rows ?? 0)));
      if (page?.rows === null || page === undefined || entries < 1 || entries === page.rows) return [];
      const sentence = `${labelOf(database, query)} counts joined rows: the same join gave ${count(page.rows, 'row')} for ${count(entries, 'entry', 'entries')} of the response, and the count has no distinct`;
      return [draftAt(one, sentence, 'warn')];
    });
  },
};

/** `left join time_entries as t on …` */
const LEFT_JOIN =
  /\bleft (?:outer )?join (?:\w+\.)?(\w+)(?: as)?(?: (?!on\b|using\b)(\w+))? (?:on|using)\b/gi;
/** Columns that the text before FROM counts, or sums up with a value for none: rows without a match are wanted. */
function wantsUnmatched(sql: string, alias: string): boolean {
  const columns = /^select (.*?) from /i.exec(sql)?.[1] ?? '';
  const of = String.raw`[^()]*\b${alias}\.`;
  return (
    new RegExp(String.raw`\bcount ?\( ?(?:distinct )?${alias}\.`, 'i').test(columns) ||
    new RegExp(String.raw`\b(?:coalesce|ifnull|nvl) ?\( ?\w+ ?\(${of}`, 'i').test(columns)
  );
}

const leftJoinUndone: Rule<Needs<'database'>> = {
  name: 'left-join-undone',
  needs: ['database'],
  labels: ['LEFT JOIN'],
  why: 'A LEFT JOIN whose rows are counted or summed up with a value for none, and a WHERE that compares a column of the joined table: the column is NULL where no row matches, and a comparison with NULL is never true.',
  fix: 'Move the condition from WHERE to the ON of the join: `left join time_entries t on t.employee_id = e.id and t.approved`.',
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      if (read.verb !== 'select' || read.joins === 0 || !read.isPlain) return [];
      const sql = plainSql(database, query);
      for (const [, table = '', alias = table] of sql.matchAll(LEFT_JOIN)) {
        const compared = (read.where ?? []).filter(({ of }) => of?.toLowerCase() === alias.toLowerCase());
        const [first] = compared;
        // Every comparison but these two is unknown for NULL.
        const isNullSafe = compared.some(({ operator }) => operator === 'is' || operator === '<=>');
        if (first === undefined || isNullSafe || !wantsUnmatched(sql, alias)) continue;
        const from = read.table ?? 'the first table';
        const sentence = `${labelOf(database, query)} has a LEFT JOIN of ${excerpt(table, 40)}, but its WHERE compares ${first.column} of it, which is NULL where no row matches: rows of ${excerpt(from, 40)} without ${excerpt(table, 40)} are left out`;
        return [draftAt(one, sentence, 'warn')];
      }
      return [];
    });
  },
};

const GIVEN = String.raw`(?:\$\d+(?:::\w+)?|\?|[:@]\w+)`;
/** A moment lies between two columns. A column begins at no place within a word: a long text is read once. */
const WITHIN = String.raw`\(? ?(?:${GIVEN} >=? [\w.]+ and ${GIVEN} <=? [\w.]+|(?<![\w.])[\w.]+ <=? ${GIVEN} and [\w.]+ >=? ${GIVEN}|${GIVEN} between [\w.]+ and [\w.]+) ?\)?`;
const ENDS_WITHIN = new RegExp(`(?<!\\bor [( ]*)(${WITHIN}) or (${WITHIN})(?![) ]* or\\b)`, 'i');

/** The columns of beginning and end, if a WHERE asks whether the new beginning or the new end lies between them. */
function askedByEnds(sql: string): [from: string, to: string] | null {
  const halves = ENDS_WITHIN.exec(sql)?.slice(1) ?? [];
  const names = halves.map(
    (half) => half.replace(new RegExp(GIVEN, 'g'), '').match(/\b(?!and\b|between\b)[a-z_][\w.]*/gi) ?? [],
  );
  const [[from = '', to = ''] = [], others] = names;
  return from === '' || from === to || others?.[0] !== from || others[1] !== to ? null : [from, to];
}

const enclosedNotFound: Rule<Needs<'database'>> = {
  name: 'enclosed-not-found',
  needs: ['database'],
  labels: ['overlap missed'],
  why: 'A statement asks whether the new beginning or the new end lies within a row. It found none, and the request then inserted into the same table. A row that lies wholly within the new one has neither in it.',
  fix: 'Two spans overlap if each begins before the other ends: `where starts_at < $end and ends_at > $start`. In PostgreSQL, an exclusion constraint keeps them apart for certain.',
  find({ database }) {
    const reads = readsOf(database);
    return reads.flatMap((one): FindingDraft[] => {
      const { read, query, index } = one;
      if (read.verb !== 'select' || query.rows !== 0) return [];
      const insert = reads.find(
        (other) => other.index > index && other.read.verb === 'insert' && other.read.table === read.table,
      );
      if (insert === undefined || insert.query.rows === 0) return [];
      const asked = askedByEnds(plainSql(database, query));
      if (asked === null) return [];
      const [from, to] = asked;
      const sentence = `${labelOf(database, query)} asks only whether the new beginning or the new end lies between ${from} and ${to}, and ${labelOf(database, insert.query)} followed: a row that lies wholly within the new one is not found`;
      return [draftAt(one, sentence, 'warn')];
    });
  },
};

export const predicateRules: readonly Rule[] = [
  anyRow,
  orWithoutBrackets,
  notInNull,
  sortedByConstant,
  joinedRowsCounted,
  leftJoinUndone,
  enclosedNotFound,
];
