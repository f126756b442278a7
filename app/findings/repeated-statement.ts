/** A read that asks what was asked before, with nothing written in between: its answer was there already. */
import type { Finding, FindingRule } from '../profiler/finding.ts';
import { endOf, type Kept, type Query } from './shared/kept.ts';
import { kindOf, labelOf, rowOf, sqlOf } from './shared/queries.ts';
import { counted, dearestFirst, placed, shareOf } from './shared/wording.ts';

interface Repeated {
  members: number[];
  /** Times something had been written when the first of them ran. */
  writes: number;
}

/** Reads that give something else each time, or take a lock: asked again on purpose. */
const VOLATILE =
  /\b(?:nextval|setval|random|gen_random_\w+|uuid\w*|clock_timestamp|timeofday|pg_(?:try_)?advisory\w*|pg_sleep\w*|pg_notify)\s*\(|\bfor\s+(?:no\s+key\s+)?(?:update|share)\b/i;

/** How often each statement ran: one that ran once repeats nothing, and its values need not be looked at. */
function timesRan({ statements, queries }: Kept['database']): Uint16Array {
  const times = new Uint16Array(statements.length);
  for (const { statement } of queries) times[statement] = (times[statement] ?? 0) + 1;
  return times;
}

/** Reads that were the same to the letter, in runs that no write interrupts. */
function repeatedIn(database: Kept['database']): Repeated[] {
  const known = new Map<string, Repeated>();
  const all: Repeated[] = [];
  const times = timesRan(database);
  let writes = 0;
  database.queries.forEach((query, index) => {
    const kind = kindOf(sqlOf(database, query));
    if (kind === 'write') writes++;
    if (kind !== 'read' || times[query.statement] === 1) return;
    // What the same line asks in a loop is told of as a loop.
    if (query.error !== null || isLoop(database, query) || VOLATILE.test(sqlOf(database, query))) return;
    const key = `${query.statement}\n${query.instance}\n${JSON.stringify(query.bindings)}`;
    const before = known.get(key);
    if (before?.writes === writes) before.members.push(index);
    else {
      const begun = { members: [index], writes };
      known.set(key, begun);
      all.push(begun);
    }
  });
  return all.filter(({ members }) => members.length > 1);
}

function isLoop({ groups }: Kept['database'], { group }: Query): boolean {
  return group !== null && groups[group]?.kind === 'n+1';
}

export const repeatedStatement: FindingRule<Pick<Kept, 'database'>> = {
  name: 'repeated-statement',
  needs: ['database'],
  labels: ['duplicate'],
  known:
    'Two or more reads of one request were the same to the letter, values too, and the request wrote nothing in between.',
  mends: 'Ask once and hand the answer on, or keep it for the length of the request.',
  find({ database }, { durationMs: wholeMs }) {
    const { queries } = database;
    if (queries.length < 2 || database.statements.length === queries.length) return [];
    const found: Finding[] = [];
    for (const { members } of repeatedIn(database)) {
      const of = members.map((index) => queries[index]).filter((query) => query !== undefined);
      const [first, second] = of;
      if (first === undefined || second === undefined) continue;
      const costMs = of.slice(1).reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
      const together = of.every((query) => query === first || query.startMs - query.waitMs < endOf(first));
      const places = new Set(of.map(({ caller }) => caller)).size;
      const where = places > 1 ? ` from ${counted(places, 'place')}` : together ? ' at once' : '';
      const sentence = `${labelOf(database, first)} ran ${counted(of.length)} times with the same values${where}; all but the first took ${shareOf(costMs, wholeMs)}`;
      const anchor = rowOf(database, members[1] ?? 0);
      const severity = of.length > 3 || (costMs >= 10 && costMs > (wholeMs ?? 0) / 10) ? 'warn' : 'info';
      found.push(
        placed({ label: 'duplicate', severity, sentence, panel: 'database', anchor, costMs }, second.caller),
      );
    }
    return dearestFirst(found);
  },
};
