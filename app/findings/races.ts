/** Changes that rest on a read which another change made stale, of this request or of one at the same time. */
import { clockOf, type Overlap, overlapsOf, type Race } from '../panels/shared/overlap.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Json } from '../profiler/json.ts';
import { commits } from '../profiler/transaction-sql.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { givenValue } from '../panels/shared/read-statement.ts';
import { receivedFields } from '../panels/shared/received.ts';
import { givenText, keyedBy, textsIn } from './shared/conditions.ts';
import { isSuccess, receivedHeader } from './shared/http.ts';
import { type Database, endOf, type Needs, type OtherRequest, type Query, type Rule } from './shared/kept.ts';
import {
  draftAt,
  kindOf,
  labelOf,
  type Read,
  readsOf,
  sqlOf,
  textOf,
  transactionsOf,
} from './shared/queries.ts';
import { count, duration, listOf, requestText, snakeCase } from './shared/wording.ts';

const MOST_NAMED = 3;

function isWrite(database: Database, query: Query): boolean {
  return query.error === null && kindOf(database, query) === 'write';
}

/** Of the writes that rest on a stale read: what is certain of their order. */
function raceSentence({ head }: Overlap, { who, columns, of, isInsert, label, staleMs }: Race): string {
  const other = requestText(head);
  const read = `this request had read ${duration(staleMs)} before`;
  if (isInsert)
    return who === 'both'
      ? `${label} rests on a read of ${of} that ${other} made stale: both read before either inserted`
      : `${label} rests on a read of ${of} that did not see ${who === 'over' ? `the row ${other} had inserted meanwhile` : 'this one'}: ${read}`;
  const set = columns.slice(0, MOST_NAMED).join(' and ');
  if (who === 'over')
    return `${label} wrote over ${set} that ${other} had written meanwhile: ${read}, so the other change is lost`;
  if (who === 'under')
    return `${other} wrote over ${set} that ${label} had written: it had read the row before that, so this change is lost`;
  return `${label} and ${other} wrote ${set} of the same row at the same time, each from the value it had read before: one change is lost`;
}

const lostUpdate: Rule<Needs<'database', 'runtime'>> = {
  name: 'lost-update',
  needs: ['database'],
  labels: ['lost update', 'check then insert'],
  explains: ['unlocked-update'],
  why: 'The request read the row, or counted rows, before the other one wrote, and its value was neither received nor computed by the database. No lock and no condition of the write separated the two.',
  fix: 'Let the database compute the value (`set stock = stock - 1`), lock the row when you read it (`for update`), or compare a version in the `where`. Against a second row, use a unique index.',
  overlaps: ({ database, runtime }) =>
    (runtime?.concurrent ?? 1) > 1 && database.queries.some((query) => isWrite(database, query)),
  find(kept, head, { overlapping }) {
    if (overlapping.length === 0) return [];
    return overlapsOf({ head, kept: { ...kept } }, overlapping).flatMap((overlap) =>
      overlap.shared.flatMap(({ race }): FindingDraft[] => {
        if (race === null || race.panel !== 'database') return [];
        const { anchor, place, isInsert } = race;
        const label = isInsert ? 'check then insert' : 'lost update';
        const sentence = raceSentence(overlap, race);
        return [{ label, broke: 'unseen', severity: 'bad', sentence, anchor, place }];
      }),
    );
  },
};

/** A change of a column of rows that its transaction had read by that column. */
interface Decision {
  change: Read;
  columns: string[];
  /** The statement that read them, with its values. */
  asked: string;
  askedMs: number;
  /** The row that it changes, by the values of its conditions. */
  row: string;
  /** When others could see it. */
  seenMs: number;
}

function decisionsIn(database: Database): Decision[] {
  return transactionsOf(database).flatMap(({ members, sent }): Decision[] => {
    const commit = sent.findLast((one) => commits(sqlOf(database, one)));
    if (commit === undefined || sent.some((one) => /\bserializable\b/i.test(sqlOf(database, one)))) return [];
    const inside = new Set(members);
    const own = readsOf(database).filter(({ index }) => inside.has(index));
    const selects = own.filter(({ read }) => read.verb === 'select' && !read.isLocking);
    return own.flatMap((change): Decision[] => {
      const { read, query, index } = change;
      if (read.verb !== 'update' || query.rows === 0) return [];
      const columnsOf = ({ read: { where } }: Read): string[] =>
        (where ?? [])
          .map(({ column }) => column)
          .filter((name) => read.sets.some((set) => set.column === name));
      const basis = selects.find(
        (one) => one.read.table === read.table && one.index < index && columnsOf(one).length > 0,
      );
      if (basis === undefined) return [];
      const values = basis.query.bindings.map(({ value }) => value);
      return [
        {
          change,
          columns: columnsOf(basis),
          asked: JSON.stringify([sqlOf(database, basis.query), values]),
          askedMs: endOf(basis.query),
          row: JSON.stringify((read.where ?? []).map((one) => [one.column, givenText(one.values[0], query)])),
          seenMs: endOf(commit),
        },
      ];
    });
  });
}

const writeSkew: Rule<Needs<'database', 'runtime'>> = {
  name: 'write-skew',
  needs: ['database'],
  labels: ['write skew'],
  why: 'Two transactions at the same time read the same rows by a column, without a lock. Then each changed that column in another one of them, and both committed. Neither saw the change of the other.',
  fix: 'Lock the rows that you decide by (`SELECT … FOR UPDATE`), or use SERIALIZABLE, and try again after error 40001. REPEATABLE READ refuses the second change only if both change the same row.',
  overlaps: ({ database, runtime }) => (runtime?.concurrent ?? 1) > 1 && decisionsIn(database).length > 0,
  find(kept, head, { overlapping }) {
    const others = (overlapping as readonly OtherRequest[]).map((other) => ({
      head: other.head,
      shiftMs: clockOf({ head, kept }, other).shiftMs,
      decisions: other.kept.database === undefined ? [] : decisionsIn(other.kept.database),
    }));
    return decisionsIn(kept.database).flatMap(({ change, columns, ...own }): FindingDraft[] => {
      const other = others.find(({ decisions, shiftMs }) =>
        decisions.some(
          (their) =>
            their.asked === own.asked &&
            their.row !== own.row &&
            own.askedMs < their.seenMs + shiftMs &&
            their.askedMs + shiftMs < own.seenMs,
        ),
      );
      if (other === undefined) return [];
      const sentence = `${labelOf(kept.database, change.query)} and ${requestText(other.head)} each changed ${columns.join(' and ')} of another row, after both had read the same rows by it: neither saw the change of the other`;
      return [draftAt(change, sentence, 'bad')];
    });
  },
};

/** Names of what is counted or summed up. In other columns a number may be a constant. */
const AMOUNT =
  /^(?:\w*_)?(?:balance|stock|quantity|qty|count|counter|total|amount|points|credits?|views|likes|votes|seats|remaining|available|inventory|usage|used|score)(?:_\w+)?$/i;
const VERSIONED = /^(?:\w*_)?(?:version|revision|etag|lock_version|updated_?at)$/i;
const ISOLATED = /\b(?:serializable|repeatable\s+read)\b/i;

/** The column that an update sets to a number which was computed from what the request had read before. */
function computedColumn(update: Read, received: ReadonlySet<string>): string | null {
  for (const { column, value } of update.read.sets) {
    const text = givenText(value, update.query);
    if (!AMOUNT.test(snakeCase(column)) || text === null) continue;
    if (/^-?\d+(?:\.\d+)?$/.test(text) && !received.has(text) && text !== '0') return column;
  }
  return null;
}

/** Updates of one row that were each computed from the same number, because each had read it before the first one ended. */
function overwritten(reads: readonly Read[], update: Read, column: string) {
  const keyOf = ({ read, query }: Read): string =>
    JSON.stringify([read.table, (read.where ?? []).map((one) => [one.column, textsIn(one, query)])]);
  const numberOf = ({ read, query }: Read): number => {
    const value = read.sets.find((set) => set.column === column)?.value;
    return Number(givenValue(value, query.bindings));
  };
  const updates = reads
    .filter((one) => one.read.verb === 'update' && one.query.rows !== 0 && keyOf(one) === keyOf(update))
    .toSorted((a, b) => endOf(a.query) - endOf(b.query));
  const [first] = updates;
  const values = updates.map(numberOf);
  const read = reads
    .filter((one) => one.read.verb === 'select' && keyOf(one) === keyOf(update))
    .filter(({ query }) => first !== undefined && query.startMs < endOf(first.query))
    .flatMap(({ query }) => foundRows(query).flatMap((row) => (column in row ? [Number(row[column])] : [])));
  const [base = NaN] = read;
  const last = values.at(-1);
  if (last === undefined || updates.length < 2 || read.length < updates.length) return null;
  if ([...read, ...values].some(Number.isNaN) || read.some((one) => one !== base)) return null;
  const together = Number(values.reduce((sum, value) => sum + value - base, base).toFixed(6));
  return { base, values, last, together };
}

const unlockedUpdate: Rule<Needs<'database' | 'request'>> = {
  name: 'unlocked-update',
  needs: ['database', 'request'],
  labels: ['unlocked update'],
  why: 'The request read a row without a lock, then set a column of it to a number that was not received; its WHERE names neither the old value nor a version. Or several updates rest on one number.',
  fix: 'Let the statement compute (`set stock = stock - $1 where id = $2 and stock >= $1`), lock the row (`for update`), or compare a version and try again. Within one request, add first and write once.',
  find({ database, request }) {
    const reads = readsOf(database);
    if (!reads.some(({ read }) => read.sets.length > 0)) return [];
    if (database.statements.some(({ sql }) => ISOLATED.test(sql))) return [];
    const received = new Set(receivedFields(request).map(({ value }) => String(value)));
    for (const update of reads) {
      const { read, query, index } = update;
      const column = read.verb === 'update' && query.rows !== 0 ? computedColumn(update, received) : null;
      if (column === null || read.where === null) continue;
      if (read.where.some((one) => one.column === column || VERSIONED.test(one.column))) continue;
      const keys = new Set(
        read.where.filter(({ operator }) => operator === '=').flatMap((one) => textsIn(one, query)),
      );
      const before = reads.filter(
        (one) =>
          one.read.verb === 'select' &&
          one.read.table === read.table &&
          one.query.startMs < query.startMs &&
          keyedBy(one, keys) !== undefined,
      );
      const [first] = before;
      const locking = before.find((one) => one.read.isLocking);
      // Outside of a transaction, a lock ends with its statement; if the update is in one, that is a finding of its own.
      const isLocked = locking !== undefined && (locking.query.transaction ?? query.transaction) !== null;
      if (first === undefined || isLocked) continue;
      const lost = overwritten(reads, update, column);
      if (lost !== null) {
        const { base, values, last, together } = lost;
        const sentence = `${count(values.length)} × ${labelOf(database, query)} set ${column} to ${listOf(values.map(String))}, each computed from the same ${base}: the last one stays, so ${column} is ${last}, where all of them make ${together}`;
        return [draftAt({ query, index }, sentence, 'bad')];
      }
      const sentence = `${labelOf(database, query)} sets ${column} to a number computed from ${labelOf(database, first.query)}, ${locking === undefined ? 'which did not lock the row' : 'whose lock ended with it, outside of a transaction'}: of two requests at once, one is lost`;
      return [draftAt({ query, index }, sentence, 'warn')];
    }
    return [];
  },
};

/** With a moment that is no version, but for a condition on it. */
const COUNTED_VERSION = /^(?:\w*_)?(?:version|revision|lock_version)$/i;

/** The version that a client has read, as it sends it: in one field, or in If-Match, weak or strong. */
function sentVersions(request: Needs<'request'>['request']): { name: string; value: string }[] {
  const fields = receivedFields(request).filter(
    ({ name, path, from }) =>
      (from === 'body' || from === 'form') && name === path && VERSIONED.test(snakeCase(name)),
  );
  const match = /^(?:W\/)?"?(\d{1,9})"?$/.exec(receivedHeader(request, 'if-match') ?? '')?.[1];
  return [
    ...fields.flatMap(({ name, value }) => {
      const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
      return text === '' ? [] : [{ name, value: text }];
    }),
    ...(match === undefined ? [] : [{ name: 'If-Match', value: match }]),
  ];
}

/** Of two numbers, or of two moments. */
function isOlder(sent: string, read: string): boolean {
  const isNumber = /^\d+$/.test(sent) && /^\d+$/.test(read);
  const isMoment = [sent, read].every((text) => /^\d{4}-\d\d-\d\d[T ]/.test(text));
  if (isNumber) return Number(sent) < Number(read);
  return isMoment && Date.parse(sent) < Date.parse(read);
}

/** The version of the row that an update changes, as it was read before; some mappers put the name of the table before a column. */
function versionRead(reads: readonly Read[], { read, query, index }: Read, column: string): string | null {
  const rows = reads.flatMap((one) =>
    one.index < index && one.read.verb === 'select' && one.read.table === read.table
      ? foundRows(one.query)
      : [],
  );
  const valueIn = (row: Record<string, Json>, name: string): string | null => {
    const key = Object.keys(row).find((one) => one === name || one.endsWith(`_${name}`));
    return key === undefined ? null : textOf(row[key]);
  };
  const row = rows.findLast((one) =>
    read.where?.every((asked) => {
      const value = valueIn(one, asked.column);
      const [text] = textsIn(asked, query);
      return (
        value === null ||
        (asked.operator === '=' && (text === value || Date.parse(text ?? '') === Date.parse(value)))
      );
    }),
  );
  return row === undefined ? null : valueIn(row, column);
}

const versionNotCompared: Rule<Needs<'database' | 'request'>> = {
  name: 'version-not-compared',
  needs: ['database', 'request'],
  labels: ['version not compared'],
  why: 'The request brought an older version of the row (`version`, `updated_at`, `If-Match`) than the one it read, and the UPDATE changed the row: its WHERE has the version that was read here, or it only counts the version up.',
  fix: 'Compare the version that the client sent: `where id = $1 and version = $2` with that of the body, and answer 409 if no row was changed. A comparison with a version that you read a moment ago never fails.',
  find({ database, request }, { status }) {
    const sent = isSuccess(status) ? sentVersions(request) : [];
    if (sent.length === 0) return [];
    const reads = readsOf(database);
    return reads.flatMap((update): FindingDraft[] => {
      const { read, query } = update;
      if (read.verb !== 'update' || query.rows === 0 || !read.isPlain || read.where === null) return [];
      for (const { name, value } of sent) {
        const isColumn = (column: string): boolean =>
          name === 'If-Match' ? COUNTED_VERSION.test(snakeCase(column)) : sameName(column) === sameName(name);
        const asked = read.where.find((one) => isColumn(one.column) && one.operator === '=');
        const set = read.sets.find(({ column }) => isColumn(column));
        const column = asked?.column ?? set?.column ?? '';
        const had = column === '' ? null : versionRead(reads, update, column);
        if (had === null || !isOlder(value, had)) continue;
        const isCounted =
          COUNTED_VERSION.test(snakeCase(column)) &&
          (set?.value.kind === 'other' || givenText(set?.value, query) === String(Number(had) + 1));
        if (asked === undefined && !isCounted) continue;
        const how = asked === undefined ? `counted it up without a condition on ${column}` : `asked for the ${column} that this request had read`; // prettier-ignore
        const sentence = `${name} ${value} was received, but the row had ${column} ${had}: ${labelOf(database, query)} ${how}, so what was changed since is written over`;
        return [draftAt(update, sentence, 'bad')];
      }
      return [];
    });
  },
};

export const raceRules: readonly Rule[] = [lostUpdate, writeSkew, versionNotCompared, unlockedUpdate];
