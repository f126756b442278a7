/** `postgres` -> channel `express-hindsight:postgres:query`. As an ES module it is reached where Node.js has synchronous hooks. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { wrapLazyQuery } from './lazy-query.ts';
import { publishEnd, publishError, type Traced } from './trace.ts';
import { allOf, wrapCalls } from './wrap-method.ts';

/** What we use of the library's Query: a promise that is sent when somebody waits for it. */
export interface PostgresSent {
  executed: boolean;
  strings: readonly string[];
  args: readonly unknown[];
  tagged: boolean;
  resolve: (result: unknown) => unknown;
  reject: (error: unknown) => unknown;
  /** When it was sent: the statement with its placeholders, and the values. */
  string?: unknown;
  parameters?: unknown;
  /** Of the connection that it was sent over. */
  state?: unknown;
  /** A stack of where it was written. */
  origin: string;
}

export interface PostgresQuery extends Traced {
  query: PostgresSent;
}

const query = tracingChannel('express-hindsight:postgres:query');

export const postgresChannels = { query };

function watchEnd(message: PostgresQuery): void {
  const sent = message.query;
  const { resolve, reject } = sent;
  const resolved: typeof resolve = (result) => {
    message.result = result;
    publishEnd(query, message);
    return resolve(result);
  };
  const rejected: typeof reject = (error) => {
    publishError(query, message, error);
    publishEnd(query, message);
    return reject(error);
  };
  sent.resolve = resolved;
  sent.reject = rejected;
}

function prototypeOf(exports: unknown): object | null {
  const { Query } = exports as { Query?: { prototype?: object } };
  if (Query?.prototype !== undefined) return Query.prototype;
  // By hand: the function that makes queries; a query that nobody awaits is not sent.
  if (typeof exports !== 'function' || !('unsafe' in exports)) return null;
  const sql = exports as unknown as { unsafe: (text: string) => object };
  return Object.getPrototypeOf(sql.unsafe('')) as object;
}

export const postgresPatch: LibraryPatch = {
  name: 'postgres',
  file: 'cjs/src/query.js',
  module: { file: 'src/query.js', names: ['Query'] },
  patch(exports) {
    const prototype = prototypeOf(exports);
    const handle = wrapCalls(prototype, 'handle', (call, self) => {
      const sent = self as PostgresSent;
      if (sent.executed || !query.start.hasSubscribers) return call();
      const message: PostgresQuery = { query: sent };
      watchEnd(message);
      query.start.publish(message);
      const handled = call();
      query.end.publish(message);
      return handled;
    });
    // A tagged template has a stack of where it was written.
    return allOf(
      handle,
      wrapLazyQuery(prototype, (query) => (query as PostgresSent).tagged),
    );
  },
};
