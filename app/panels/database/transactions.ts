/** Transactions as they ran: the queries of each, where it begins, where and how it ends. */
import { addTo } from '../../profiler/group-by.ts';
import { beginsTransaction, commits, rollsBack } from '../../profiler/transaction-sql.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import type { DatabaseData, DatabaseQuery } from './data.ts';

export interface TransactionMark {
  /** `T1`, in the order of their begin. */
  name: string;
  /** On its first query: `6 statements, open for 34.0 ms, committed`. */
  says: string | null;
}

function endOf(data: DatabaseData, index: number): 'committed' | 'rolled back' | null {
  const sql = sqlOf(data, index);
  if (commits(sql)) return 'committed';
  return rollsBack(sql) ? 'rolled back' : null;
}

function endMs({ startMs, durationMs }: DatabaseQuery): number {
  return startMs + (durationMs ?? 0);
}

function sqlOf(data: DatabaseData, index: number): string {
  return data.statements[data.queries[index]?.statement ?? -1]?.sql ?? '';
}

function sayOf(data: DatabaseData, members: readonly number[]): string {
  const first = data.queries[members[0] ?? 0];
  const lastIndex = members.at(-1) ?? 0;
  const last = data.queries[lastIndex];
  const end = endOf(data, lastIndex);
  const ends = end === null ? 0 : 1;
  if (data.unkept === undefined && !members.some((index) => beginsTransaction(sqlOf(data, index))))
    return `${count(members.length - ends, 'statement')}, whose BEGIN was not recorded in this request`;
  const inner = Math.max(0, members.length - ends - 1);
  const openMs = first === undefined || last === undefined ? 0 : endMs(last) - first.startMs;
  const how = end ?? 'still open when this was recorded';
  return `${count(inner, 'statement')}, open for ${durationText(openMs)}, ${how}`;
}

export function transactionMarks(data: DatabaseData): Map<number, TransactionMark> {
  const transactions = new Map<string, number[]>();
  data.queries.forEach(({ transaction, instance }, index) => {
    if (transaction !== null) addTo(transactions, `${instance}\n${transaction}`, index);
  });
  const marks = new Map<number, TransactionMark>();
  [...transactions.values()].forEach((members, at) => {
    for (const index of members)
      marks.set(index, { name: `T${at + 1}`, says: index === members[0] ? sayOf(data, members) : null });
  });
  return marks;
}
