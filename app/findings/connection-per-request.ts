/** The same line opened a database connection in each of the last requests: a pool or client is created there instead of once. */
import type { EarlierRequest, FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { isInLibrary } from './shared/logged.ts';
import { labelOf, rowOf } from './shared/queries.ts';
import { count } from './shared/wording.ts';

/** A pool opens its first connections one after the other, too. */
const REQUESTS = 3;

type Database = Kept['database'];

/** The first successful statement of each line of own code, by its index. */
function firstOfLines({ queries }: Database): Map<string, number> {
  const firstOf = new Map<string, number>();
  queries.forEach(({ caller, error }, index) => {
    if (caller === null || isInLibrary(caller)) return;
    if (error === null && !firstOf.has(caller)) firstOf.set(caller, index);
  });
  return firstOf;
}

/** A query builder may have sent the first statement of the connection by itself. */
function isOnNew({ queries }: Database, index: number): boolean {
  const connection = queries[index]?.connection ?? null;
  return (
    connection !== null && queries.some((query) => query.first === true && query.connection === connection)
  );
}

/** Whether the first statement of this line ran on a new connection; null if the line ran none. */
function openedBy(line: string, database: Database | undefined): boolean | null {
  const index = database === undefined ? undefined : firstOfLines(database).get(line);
  return database === undefined || index === undefined ? null : isOnNew(database, index);
}

/** Requests in a row, with this one, in which the line ran on a new connection. */
function requestsInARow(line: string, earlier: readonly EarlierRequest[]): number {
  let requests = 1;
  for (const { kept } of earlier) {
    const opened = openedBy(line, kept.database as Database | undefined);
    if (opened === false) break;
    if (opened) requests++;
  }
  return requests;
}

export const connectionPerRequest: FindingRule<Pick<Kept, 'database'>> = {
  name: 'connection-per-request',
  needs: ['database'],
  labels: ['connection per request'],
  why: 'In at least three requests in a row of this route, the first statement of this line ran on a connection that no earlier request had used and that no known pool gave out.',
  fix: 'Create the pool or client once, when the module is loaded, and use it in all requests. If it is a Knex instance, `profiler.watchKnex(knex)` shows its pool.',
  compares: ({ database: { queries } }) => queries.some(({ first }) => first === true),
  find({ database }, _profile, { earlier }) {
    return [...firstOfLines(database)].flatMap(([line, index]) => {
      const query = database.queries[index];
      if (query === undefined || !isOnNew(database, index)) return [];
      const requests = requestsInARow(line, earlier);
      if (requests < REQUESTS) return [];
      const sentence = `${labelOf(database, query)} ran on a connection opened for it, as in the last ${count(requests, 'request')} from this line`;
      return [{ severity: 'warn', sentence, anchor: rowOf(database, index), place: line }];
    });
  },
};
