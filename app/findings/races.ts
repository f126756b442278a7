/** Changes of two requests at once, of which neither saw the other. */
import { type Overlap, overlapsOf, type Race } from '../panels/shared/overlap.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { commits } from '../profiler/transaction-sql.ts';
import { givenText } from './shared/conditions.ts';
import { type Database, endOf, type Needs, type OtherRequest, type Query, type Rule } from './shared/kept.ts';
import { draftAt, kindOf, labelOf, type Read, readsOf, sqlOf, transactionsOf } from './shared/queries.ts';
import { duration, excerpt, LONGEST_NAME, requestText } from './shared/wording.ts';

const MOST_NAMED = 3;

function isWrite(database: Database, query: Query): boolean {
  return query.error === null && kindOf(database, query) === 'write';
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

const lostUpdate: Rule<Needs<'database', 'runtime'>> = {
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

/** Milliseconds by which the other request began later. */
function shiftOf(other: OtherRequest, { head, kept }: OtherRequest): number {
  const [here, there] = [kept.runtime?.startMark, other.kept.runtime?.startMark];
  const isSameClock = here !== undefined && there !== undefined && other.head.process === head.process;
  return isSameClock ? there - here : other.head.startedAt - head.startedAt;
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
      shiftMs: shiftOf(other, { head, kept }),
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

export const raceRules: readonly Rule[] = [lostUpdate, writeSkew];
