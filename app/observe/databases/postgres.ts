/** `postgres`: makes it publish, and describes its statements. As an ES module it is reached where Node.js has synchronous hooks. */
import { tracingChannel } from 'node:diagnostics_channel';
import { wrapLazyQuery } from '../channels/lazy-query.ts';
import { publishEnd, publishError, type Traced } from '../channels/trace.ts';
import { allOf, wrapCalls } from '../channels/wrap-method.ts';
import { field, isObject, makerOf } from '../../profiler/record/safe-read.ts';
import type { Driver } from './drivers.ts';
import type { LibraryPatch } from '../libraries.ts';

/** What we use of the library's Query: a promise that is sent when somebody waits for it. */
interface PostgresSent {
  executed: boolean;
  strings: readonly string[];
  args: readonly unknown[];
  tagged: boolean;
  resolve: (result: unknown) => unknown;
  reject: (error: unknown) => unknown;
  /** Of a cursor: its last step is its result. */
  cursorRows?: unknown;
  string?: unknown;
  parameters?: unknown;
  state?: unknown;
  origin: string;
}

interface PostgresQuery extends Traced {
  query: PostgresSent;
}

const query = tracingChannel('express-hindsight:postgres:query');

function watchEnd(message: PostgresQuery): void {
  const sent = message.query;
  for (const name of ['resolve', 'reject'] as const) {
    let settle = sent[name];
    const settled = (value: unknown): unknown => {
      if (name === 'reject') publishError(query, message, value);
      else message.result = value;
      publishEnd(query, message);
      return settle(value);
    };
    // Who iterates over a cursor sets them again for each step.
    Object.defineProperty(sent, name, {
      configurable: true,
      enumerable: true,
      get: () => settled,
      set(next: typeof settle) {
        settle = next;
      },
    });
  }
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
      wrapLazyQuery(prototype, (one) => (one as PostgresSent).tagged),
    );
  },
};

/** Its own query for array types on each new connection. */
const OF_THE_LIBRARY = /^\s*select b\.oid, b\.typarray\b/;

function writtenText({ strings }: PostgresSent): string {
  return strings.reduce((text, part, at) => (at === 0 ? part : `${text}$${at}${part}`), '');
}

/** `sql.json(value)` and the like; an object of the application may have these properties as well. */
function valueOf(value: unknown): unknown {
  return isObject(value) && makerOf(value) === 'Parameter' ? field(value, 'value') : value;
}

/** Of an argument that is text of the statement, the values in it: `sql\`…\``, `sql(names)`. Those of `sql(rows)` are not known. */
function valuesIn(value: unknown): readonly unknown[] {
  if (!isObject(value)) return [value];
  const args = makerOf(value) === 'Query' ? field(value, 'args') : value;
  if (['Builder', 'Identifier'].includes(makerOf(value))) return [];
  const isList = Array.isArray(args) && (args !== value || isQuery(field(value, '0')));
  return isList ? args.flatMap(valuesIn) : [value];
}

function isQuery(value: unknown): boolean {
  return isObject(value) && makerOf(value) === 'Query';
}

/** Sent values are text; arguments are recorded as passed. */
function sentText({ string, parameters, args }: PostgresSent): { sql?: string; bindings?: unknown } {
  if (typeof string !== 'string') return {};
  const sent: readonly unknown[] = Array.isArray(parameters) ? parameters : [];
  const passed = args.flatMap(valuesIn);
  // A text that the server asked for as JSON is sent with quotes.
  const values =
    passed.length === sent.length
      ? passed.map((value, at) => (typeof value === 'string' ? sent[at] : value))
      : sent;
  return { sql: string, bindings: values.map(valueOf) };
}

function rowsOf(result: unknown): number | null {
  const { count } = (result ?? {}) as { count?: unknown };
  return typeof count === 'number' ? count : Array.isArray(result) ? result.length : null;
}

export const postgresDriver: Driver<PostgresQuery> = {
  system: 'postgresql',
  library: 'postgres',
  query,
  describe: ({ query: sent }) =>
    OF_THE_LIBRARY.test(sent.strings[0] ?? '')
      ? null
      : {
          sql: writtenText(sent),
          bindings: sent.args.some((value) => valuesIn(value)[0] !== value) ? [] : sent.args,
          stack: () => sent.origin,
        },
  outcome({ query: sent, result, error }) {
    const connection = typeof sent.state === 'object' ? sent.state : null;
    const isCursor = sent.cursorRows !== undefined;
    const found = Array.isArray(result) && !isCursor ? (result as unknown[]) : undefined;
    return { rows: isCursor ? null : rowsOf(result), found, error, connection, ...sentText(sent) };
  },
};
