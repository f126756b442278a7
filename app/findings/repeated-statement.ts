/** A read that repeats an earlier one with nothing written in between: its result was already known. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { coveredMs, pick } from '../panels/shared/rows.ts';
import { mediaType } from './shared/http.ts';
import { endOf, type Kept, type Query } from './shared/kept.ts';
import { kindOf, labelOf, rowOf, sqlOf } from './shared/queries.ts';
import { count, shareOf } from './shared/wording.ts';

interface Run {
  members: number[];
  /** Number of writes before the first of them. */
  writes: number;
}

/** Reads that return something else each time or take a lock are repeated on purpose. */
const VOLATILE =
  /\b(?:nextval|setval|random|gen_random_\w+|uuid\w*|clock_timestamp|timeofday|pg_(?:try_)?advisory\w*|pg_sleep\w*|pg_notify)\s*\(|\bfor\s+(?:no\s+key\s+)?(?:update|share)\b/i;

/** How often each statement ran. The values of one that ran once need no comparison. */
function timesRan({ statements, queries }: Kept['database']): Uint16Array {
  const times = new Uint16Array(statements.length);
  for (const { statement } of queries) times[statement] = (times[statement] ?? 0) + 1;
  return times;
}

/** Identical reads, in runs that no write interrupts. */
function repeatedIn(database: Kept['database']): Run[] {
  const latest = new Map<string, Run>();
  const all: Run[] = [];
  const times = timesRan(database);
  let writes = 0;
  database.queries.forEach((query, index) => {
    const kind = kindOf(sqlOf(database, query));
    if (kind === 'write') writes++;
    if (kind !== 'read' || times[query.statement] === 1) return;
    // A loop is reported as N+1.
    if (query.error !== null || isLoop(database, query) || VOLATILE.test(sqlOf(database, query))) return;
    const key = `${query.statement}\n${query.instance}\n${JSON.stringify(query.bindings)}`;
    const run = latest.get(key);
    if (run?.writes === writes) run.members.push(index);
    else {
      const started = { members: [index], writes };
      latest.set(key, started);
      all.push(started);
    }
  });
  return all.filter(({ members }) => members.length > 1);
}

function isLoop({ groups }: Kept['database'], { group }: Query): boolean {
  return group !== null && groups[group]?.kind === 'n+1';
}

const NAMED_PLACES = 3;

/** `3 places (a.ts:1, b.ts:2, c.ts:3)`. */
function placesText(places: ReadonlySet<string | null>): string {
  const known = [...places].filter((place) => place !== null);
  const more = known.length > NAMED_PLACES ? ', …' : '';
  const named = known.length < 2 ? '' : ` (${known.slice(0, NAMED_PLACES).join(', ')}${more})`;
  return `${count(places.size, 'place')}${named}`;
}

export const repeatedStatement: FindingRule<Pick<Kept, 'database'> & { request?: KeptRequest }> = {
  name: 'repeated-statement',
  needs: ['database'],
  labels: ['duplicate'],
  why: 'At least two reads of this request were identical, values included, and the request wrote nothing in between.',
  fix: 'Read once and pass the result on, or cache it for the duration of the request.',
  find({ database, request }, { durationMs: wholeMs }) {
    const { queries } = database;
    // An event stream asks again to see what has changed.
    if (mediaType(request?.response?.contentType ?? null) === 'text/event-stream') return [];
    if (queries.length < 2 || database.statements.length === queries.length) return [];
    return repeatedIn(database).flatMap(({ members }) => {
      const of = pick(queries, members);
      const [first, second] = of;
      if (first === undefined || second === undefined) return [];
      const costMs = coveredMs(of.slice(1));
      const isConcurrent = of.every(
        (query) => query === first || query.startMs - query.waitMs < endOf(first),
      );
      const places = new Set(of.map(({ caller }) => caller));
      const where = places.size > 1 ? ` from ${placesText(places)}` : isConcurrent ? ' at the same time' : '';
      const sentence = `${labelOf(database, first)} ran ${count(of.length)} times with the same values${where}; the repeats took ${shareOf(costMs, wholeMs)}`;
      const anchor = rowOf(database, members[1] ?? 0);
      const severity = of.length > 3 || (costMs >= 10 && costMs > (wholeMs ?? 0) / 10) ? 'warn' : 'info';
      return [{ severity, sentence, anchor, costMs, place: second.caller }];
    });
  },
};
