/** The same line opened a database connection in each of the last requests: a pool or client is created there instead of once. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { isInLibrary } from './shared/logged.ts';
import { labelOf, rowOf } from './shared/queries.ts';
import { count } from './shared/wording.ts';

/** A pool opens its first connections one after the other, too. */
const REQUESTS = 3;
const MOST_LINES = 500;

interface Seen {
  /** Requests in a row. */
  requests: number;
  /** Of the last one: a profile may be built several times. */
  token: string;
}

export function createConnectionPerRequest(): FindingRule<Pick<Kept, 'database'>> {
  const byLine = new Map<string, Seen>();

  /** Number of requests in a row in which this line opened one. */
  function requestsInARow(line: string, isNew: boolean, token: string): number {
    const seen = byLine.get(line);
    if (seen?.token === token) return seen.requests;
    if (!isNew) {
      byLine.delete(line);
      return 0;
    }
    if (seen === undefined && byLine.size >= MOST_LINES) return 0;
    const requests = (seen?.requests ?? 0) + 1;
    byLine.set(line, { requests, token });
    return requests;
  }

  return {
    name: 'connection-per-request',
    needs: ['database'],
    labels: ['connection per request'],
    why: 'In at least three requests in a row, the first statement of this line ran on a connection that no earlier request had used and that no known pool gave out.',
    fix: 'Create the pool or client once, when the module is loaded, and use it in all requests. If it is a Knex instance, `profiler.watchKnex(knex)` shows its pool.',
    find({ database }, { token }) {
      const { queries } = database;
      if (byLine.size === 0 && !queries.some(({ first }) => first === true)) return [];
      // A query builder may have sent the first statement by itself.
      const opened = new Set(queries.flatMap(({ first, connection }) => (first === true ? connection : [])));
      const firstOf = new Map<string, number>();
      queries.forEach(({ caller, error }, index) => {
        if (caller === null || isInLibrary(caller)) return;
        if (error === null && !firstOf.has(caller)) firstOf.set(caller, index);
      });
      return [...firstOf].flatMap(([line, index]) => {
        const query = queries[index];
        if (query === undefined) return [];
        const requests = requestsInARow(line, opened.has(query.connection), token);
        if (requests < REQUESTS) return [];
        const sentence = `${labelOf(database, query)} ran on a connection opened for it, as in the last ${count(requests, 'request')} from this line`;
        return [{ severity: 'warn', sentence, anchor: rowOf(database, index), place: line }];
      });
    },
  };
}
