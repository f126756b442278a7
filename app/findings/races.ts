/** Changes of two requests at once, of which neither saw the other. */
import { type Overlap, overlapsOf, type Race } from '../panels/shared/overlap.ts';
import type { EarlierRequest, FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { givenText } from './shared/conditions.ts';
import { endOf, type Kept, type Needs, type Query } from './shared/kept.ts';
import { draftAt, kindOf, labelOf, type Read, readsOf, sqlOf } from './shared/queries.ts';
import { duration, excerpt } from './shared/wording.ts';

type Database = Kept['database'];

const LONGEST_NAME = 80;
const MOST_NAMED = 3;

function isWrite(database: Database, query: Query): boolean {
  return query.error === null && kindOf(sqlOf(database, query)) === 'write';
}

/** Of the writes that rest on a stale read: what is certain of their order. */
function raceSentence(
  { what, token }: Overlap,
  { who, columns, of, isInsert, label, staleMs }: Race,
): string {
  const other = `${excerpt(what, LONGEST_NAME)} (${token})`;
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

const lostUpdate: FindingRule<Needs<'database', 'runtime'>> = {
  name: 'lost-update',
  needs: ['database'],
  labels: ['lost update', 'check then insert'],
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

const COMMIT = /^\s*(?:commit|end)\b/i;

/** A change of a column of rows that its transaction had read by that column, with when others could see it. */
interface Decision {
  read: Read;
  change: Read;
  columns: string[];
  seenMs: number;
}

function decisionsIn(database: Database): Decision[] {
  const reads = readsOf(database);
  return reads.flatMap((change): Decision[] => {
    const { query } = change;
    if (change.read.verb !== 'update' || query.transaction === null || query.rows === 0) return [];
    const inTransaction = ({ transaction, connection }: Query): boolean =>
      transaction === query.transaction && connection === query.connection;
    const own = database.queries.filter(inTransaction);
    const commit = own.findLast((one) => COMMIT.test(sqlOf(database, one)));
    if (commit === undefined || own.some((one) => /\bserializable\b/i.test(sqlOf(database, one)))) return [];
    const changed = new Set(change.read.sets.map(({ column }) => column));
    const read = reads.find(
      (one) =>
        one.read.verb === 'select' &&
        !one.read.isLocking &&
        one.read.table === change.read.table &&
        inTransaction(one.query) &&
        one.index < change.index &&
        (one.read.where ?? []).some(({ column }) => changed.has(column)),
    );
    if (read === undefined) return [];
    const columns = (read.read.where ?? []).map(({ column }) => column).filter((name) => changed.has(name));
    return [{ read, change, columns, seenMs: endOf(commit) }];
  });
}

/** The statement with its values. */
function askedBy(database: Database, { query }: Read): string {
  return JSON.stringify([sqlOf(database, query), query.bindings.map(({ value }) => value)]);
}

/** The row that it changes, by the values of its conditions. */
function rowOfChange({ read, query }: Read): string {
  return JSON.stringify(
    (read.where ?? []).map(({ column, values }) => [column, givenText(values[0], query)]),
  );
}

const writeSkew: FindingRule<Needs<'database', 'runtime'>> = {
  name: 'write-skew',
  needs: ['database'],
  labels: ['write skew'],
  why: 'Two transactions at the same time read the same rows by a column, without a lock. Then each changed that column in another one of them, and both committed. Neither saw the change of the other.',
  fix: 'Lock the rows that you decide by (`SELECT … FOR UPDATE`), or use SERIALIZABLE, and try again after error 40001. REPEATABLE READ refuses the second change only if both change the same row.',
  overlaps: ({ database, runtime }) => (runtime?.concurrent ?? 1) > 1 && decisionsIn(database).length > 0,
  find(kept, head, { overlapping }) {
    const { database, runtime } = kept;
    return decisionsIn(database).flatMap(({ read, change, columns, seenMs }): FindingDraft[] => {
      const other = (overlapping as readonly EarlierRequest<Partial<Kept>>[]).find((one) => {
        const there = one.kept.database;
        const mark = one.kept.runtime?.startMark;
        const shiftMs =
          runtime?.startMark === undefined || mark === undefined || one.head.process !== head.process
            ? one.head.startedAt - head.startedAt
            : mark - runtime.startMark;
        return (
          there !== undefined &&
          decisionsIn(there).some(
            (their) =>
              askedBy(there, their.read) === askedBy(database, read) &&
              rowOfChange(their.change) !== rowOfChange(change) &&
              endOf(read.query) < their.seenMs + shiftMs &&
              endOf(their.read.query) + shiftMs < seenMs,
          )
        );
      });
      if (other === undefined) return [];
      const { method, route, url, token } = other.head;
      const who = `${method} ${excerpt(route ?? url, LONGEST_NAME)} (${token})`;
      const sentence = `${labelOf(database, change.query)} and ${who} each changed ${columns.join(' and ')} of another row, after both had read the same rows by it: neither saw the change of the other`;
      return [draftAt(change, sentence, 'bad')];
    });
  },
};

export const raceRules: readonly FindingRule[] = [lostUpdate, writeSkew];
