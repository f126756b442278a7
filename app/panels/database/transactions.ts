/** Transactions as they ran: the queries of each, where it begins, where and how it ends. */
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { DatabaseData, DatabaseQuery } from './data.ts';

const { count, durationText } = numberHelpers;

/** The transaction that a query ran in. */
export interface TransactionMark {
  /** `T1`, in the order of their begin. */
  name: string;
  /** 1 or 2: transactions that overlap are drawn side by side. */
  lane: 1 | 2;
  /** Place of the query in it. */
  edge: 'begins' | 'ends' | 'inside';
  /** On its first query: `6 statements, open for 34.0 ms, committed`. */
  says: string | null;
}

interface Transaction {
  members: number[];
  lane: 1 | 2;
}

const ENDS = /^\s*(commit|rollback)(?!\s+to\b)/i;

function endOf(data: DatabaseData, index: number): 'committed' | 'rolled back' | null {
  const sql = data.statements[data.queries[index]?.statement ?? -1]?.sql ?? '';
  const word = ENDS.exec(sql)?.[1]?.toLowerCase();
  return word === undefined ? null : word === 'commit' ? 'committed' : 'rolled back';
}

function endMs({ startMs, durationMs }: DatabaseQuery): number {
  return startMs + (durationMs ?? 0);
}

function sayOf(data: DatabaseData, { members }: Transaction): string {
  const first = data.queries[members[0] ?? 0];
  const lastIndex = members.at(-1) ?? 0;
  const last = data.queries[lastIndex];
  const end = endOf(data, lastIndex);
  const inner = Math.max(0, members.length - (end === null ? 1 : 2));
  const openMs = first === undefined || last === undefined ? 0 : endMs(last) - first.startMs;
  const how = end ?? 'still open when this was recorded';
  return `${count(inner, 'statement')}, open for ${durationText(openMs)}, ${how}`;
}

/** By index of a query. */
export function transactionMarks(data: DatabaseData): Map<number, TransactionMark> {
  const transactions = new Map<string, Transaction>();
  data.queries.forEach(({ transaction, instance }, index) => {
    if (transaction === null) return;
    const key = `${instance}\n${transaction}`;
    const known = transactions.get(key);
    if (known === undefined) transactions.set(key, { members: [index], lane: 1 });
    else known.members.push(index);
  });
  const marks = new Map<number, TransactionMark>();
  let before = -1;
  [...transactions.values()].forEach((transaction, at) => {
    const { members } = transaction;
    const [first = 0] = members;
    const last = members.at(-1) ?? first;
    const lane = first < before ? 2 : 1;
    before = Math.max(before, last);
    for (const index of members)
      marks.set(index, {
        name: `T${at + 1}`,
        lane,
        edge: index === first ? 'begins' : index === last ? 'ends' : 'inside',
        says: index === first ? sayOf(data, transaction) : null,
      });
  });
  return marks;
}
