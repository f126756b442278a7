/** Groups of statements: one that a loop repeats, and one that runs twice with the same values. */
import type { Facts } from '../../profiler/facts.ts';
import type { StatementBook } from './statement-book.ts';
import { isControl, isRead } from './statements.ts';
import { addTo } from '../../profiler/group-by.ts';

type Query = Facts['query'];

/** `n+1`: reads in a loop. `loop`: writes in a loop. `duplicate`: the values are the same, too. */
export type GroupKind = 'n+1' | 'loop' | 'duplicate';

export interface QueryGroup {
  kind: GroupKind;
  /** Indexes of its queries, in the order they ran. */
  members: number[];
}

/** How often its statement ran, including runs past the recording limit. */
export function timesOf({ members, more = 0 }: { members: readonly number[]; more?: number }): number {
  return members.length + more;
}

/** Equal for statements that a loop repeats. */
export function repeatKey(caller: string | null, shape: string): string {
  return `${caller ?? ''}\n${shape}`;
}

/** From this many runs on, the same statement from the same line is a loop. */
const LOOP_FROM = 3;

export function groupQueries(queries: readonly Query[], book: StatementBook): QueryGroup[] {
  const byShape = new Map<string, number[]>();
  queries.forEach(({ sql, caller }, index) => {
    if (sql === '' || isControl(sql)) return;
    addTo(byShape, repeatKey(caller, book.about(sql).shape), index);
  });
  const groups: QueryGroup[] = [];
  for (const members of byShape.values()) {
    if (members.length < 2) continue;
    const same = new Set(
      members.map((index) => JSON.stringify([queries[index]?.sql, queries[index]?.bindings])),
    );
    const [first = 0] = members;
    const sql = queries[first]?.sql ?? '';
    if (same.size === 1 && isRead(sql)) groups.push({ kind: 'duplicate', members });
    else if (members.length >= LOOP_FROM) groups.push({ kind: isRead(sql) ? 'n+1' : 'loop', members });
  }
  return groups;
}
