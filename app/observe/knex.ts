/**
 * Knex -> facts `query`. Wraps `query`, `stream` and `acquireConnection` of the client's prototype: Knex's events lack the end of control statements
 * and start after the pool wait. `runner` and the builders' `then` are wrapped for callers, which `.then()` loses and `await` keeps.
 * Clients of other instances share the prototype and pass through; the profiler's own Knex is never handed in.
 */
import type { Knex } from 'knex';
import type { Context, ContextTracker } from '../profiler/context.ts';
import { truncateText, type PlainLimits, toPlain } from '../profiler/plain.ts';
import { callPath } from './call-path.ts';
import type { FindCaller } from './caller.ts';
import { type HeldConnection, noteHolders } from './connection-holders.ts';
import type { ExplainClient, Explainer } from './explain.ts';
import { type Builder, watchBuilders } from './knex-builders.ts';
import { type QueryRecorder, REPEATED_QUERY } from './queries.ts';
import type { QueryFact, QuerySystem } from './query-fact.ts';
import { bindingTypes, bytesOf, messageOf, rowsOf, statementOf, textOf } from './statement.ts';

export interface ObserveKnexOptions {
  tracker: ContextTracker;
  /** Absent: no driver is observed. */
  queries?: QueryRecorder;
  /** Omit to record no callers. */
  findCaller?: FindCaller;
  instance?: string;
  /** Plans slow statements after the response; omit to plan none. */
  explainer?: Explainer | undefined;
  /** Called when a statement has ended; must not throw. */
  onEnd?: (context: Context, fact: QueryFact) => void;
}

export interface Observation {
  close(): void;
}

/** What we use of Knex's client that its types don't declare. */
interface Client extends ExplainClient {
  config?: object;
  pool?: Pool;
  query(this: Client, connection: Connection, query: unknown): Promise<unknown>;
  stream(this: Client, connection: Connection, query: unknown, ...rest: unknown[]): Promise<unknown>;
  acquireConnection(this: Client): Promise<Connection>;
  runner(this: Client, builder: unknown): Runner;
  queryCompiler(this: Client, ...args: unknown[]): unknown;
}

/** tarn's. */
interface Pool {
  max?: number;
  used?: readonly { resource: Connection }[];
  free?: readonly unknown[];
}

interface Connection {
  __knexUid?: unknown;
  __knexTxId?: unknown;
}

/** State of a connection while one request uses it. */
interface Lease {
  /** Milliseconds the request waited for it; null once a statement has reported it. */
  wait: { context: Context; ms: number; opened: boolean; held: readonly HeldConnection[] } | null;
  /** The outermost transaction. */
  transaction: string | null;
  /** The request that got it last; null if something outside all requests did. */
  holder: Context | null;
  /** When it did, in the time of that request. */
  sinceMs: number;
}

interface Runner {
  query?: (statement: object) => unknown;
}

const NONE_HELD: readonly HeldConnection[] = [];
const SQL_LENGTH = 20_000;
const BINDINGS: PlainLimits = { depth: 3, width: 100, length: 500, total: 300 };
const SYSTEMS: Readonly<Record<string, QuerySystem>> = {
  postgresql: 'postgresql',
  mysql: 'mysql',
  sqlite3: 'sqlite',
  mssql: 'mssql',
  oracle: 'oracle',
};

/** Replaces a method until `restore`; an inherited one is inherited again. */
function replaceMethod<T extends object, K extends keyof T>(target: T, name: K, method: T[K]): () => void {
  const own = Object.getOwnPropertyDescriptor(target, name);
  Object.defineProperty(target, name, { value: method, writable: true, configurable: true });
  return () => {
    if (target[name] !== method) return;
    if (own === undefined) Reflect.deleteProperty(target, name);
    else Object.defineProperty(target, name, own);
  };
}

export function observeKnex(knex: Knex, options: ObserveKnexOptions): Observation {
  const { tracker, queries, findCaller, instance = 'default', explainer, onEnd } = options;
  const client = knex.client as Client;
  const system = SYSTEMS[String(client.dialect)];
  const prototype = Object.getPrototypeOf(client) as Client;
  const original = { ...pick(prototype) };
  /** Changed in place: connections live long, and added and deleted entries make garbage collections more expensive. */
  const leases = new WeakMap<Connection, Lease>();
  const callers = new WeakMap<object, string>();
  /** Used if a statement's stack does not lead to its caller. */
  const builders = new WeakMap<object, string>();
  const settings = new WeakSet<object>(client.config === undefined ? [] : [client.config]);
  let closed = false;

  /** Transactions share the settings object of their instance, copies for user parameters its pool. */
  function isObserved(other: Client): boolean {
    if (closed || other.config === undefined) return false;
    if (settings.has(other.config)) return true;
    if (other.pool === undefined || other.pool !== client.pool) return false;
    settings.add(other.config);
    return true;
  }

  function leaseOf(connection: Connection): Lease {
    const known = leases.get(connection);
    if (known !== undefined) return known;
    const made: Lease = { wait: null, transaction: null, holder: null, sinceMs: 0 };
    leases.set(connection, made);
    return made;
  }

  /** The outermost transaction: Knex drops its name from the connection once a nested one has ended. */
  function transactionOf(lease: Lease, connection: Connection): string | null {
    lease.transaction ??= textOf(connection.__knexTxId);
    return lease.transaction;
  }

  function takeWait(lease: Lease, context: Context): Lease['wait'] {
    const { wait } = lease;
    if (wait?.context !== context) return null;
    lease.wait = null;
    return wait;
  }

  function record(
    context: Context,
    connection: Connection,
    query: unknown,
    caller: string | null,
  ): QueryFact {
    const { sql, bindings, method } = statementOf(query);
    const lease = leaseOf(connection);
    const plain = toPlain(Array.isArray(bindings) ? bindings : [], BINDINGS);
    const types = bindingTypes(bindings);
    const wait = takeWait(lease, context);
    const fact: QueryFact = {
      sql: truncateText(sql, SQL_LENGTH),
      bindings: Array.isArray(plain) ? plain : [],
      method,
      startMs: context.elapsedMs(),
      durationMs: null,
      rows: null,
      connection: textOf(connection.__knexUid),
      transaction: transactionOf(lease, connection),
      waitMs: wait?.ms ?? 0,
      error: null,
      caller,
      instance,
    };
    const path = callPath(context, caller, { findCaller });
    if (path !== undefined) fact.path = path;
    if (system !== undefined) fact.system = system;
    if (types !== null) fact.types = types;
    if (wait?.opened === true) fact.opened = true;
    if (wait !== null) noteHolders(fact, wait.held);
    context.add('query', fact, bytesOf(fact.sql, fact.bindings), REPEATED_QUERY);
    return fact;
  }

  /** Statement and bindings as executed, unmasked and whole: they stay in memory until the statement is planned. */
  function explain(context: Context, fact: QueryFact, query: unknown): void {
    const { sql, bindings } = statementOf(query);
    explainer?.note({ context, fact, client, sql, bindings: listOf(bindings) });
  }

  /** The context that a statement of this client belongs to; null if it is not recorded. */
  function contextOf(client: Client): Context | null {
    const context = tracker.current();
    return context === undefined || !isObserved(client) ? null : context;
  }

  /** Called directly by the function that is `below`: each frame in between costs time. */
  function knownCallerOf(query: unknown): string | undefined {
    return typeof query === 'object' && query !== null ? callers.get(query) : undefined;
  }

  function builtAt(query: unknown): string | null {
    return typeof query === 'object' && query !== null ? (builders.get(query) ?? null) : null;
  }

  function watch(
    context: Context,
    { connection, query, caller }: { connection: Connection; query: unknown; caller: string | null },
    send: () => Promise<unknown>,
  ): Promise<unknown> {
    const startMs = context.elapsedMs();
    const answer = queries === undefined ? send() : queries.covered(send);
    try {
      // Only now `query` contains the statement as sent.
      const fact = record(context, connection, query, caller);
      fact.startMs = startMs;
      const end = (): void => {
        fact.durationMs = context.elapsedMs() - startMs;
        if (explainer !== undefined && fact.durationMs >= explainer.overMs) explain(context, fact, query);
      };
      answer.then(
        (result) => {
          end();
          fact.rows = rowsOf(result);
          onEnd?.(context, fact);
        },
        (error: unknown) => {
          end();
          fact.error = messageOf(error);
          onEnd?.(context, fact);
        },
      );
    } catch {
      // The statement is not recorded.
    }
    return answer;
  }

  function query(this: Client, connection: Connection, statement: unknown): Promise<unknown> {
    const context = contextOf(this);
    if (context === null) return original.query.call(this, connection, statement);
    const send = (): Promise<unknown> => original.query.call(this, connection, statement);
    const caller = knownCallerOf(statement) ?? findCaller?.({ skip: 'knex' }) ?? builtAt(statement);
    return watch(context, { connection, query: statement, caller }, send);
  }

  function stream(this: Client, connection: Connection, statement: unknown, ...rest: unknown[]) {
    const context = contextOf(this);
    if (context === null) return original.stream.call(this, connection, statement, ...rest);
    const send = (): Promise<unknown> => original.stream.call(this, connection, statement, ...rest);
    const caller = knownCallerOf(statement) ?? findCaller?.({ skip: 'knex' }) ?? null;
    return watch(context, { connection, query: statement, caller }, send);
  }

  /** The connections in use, if none is free and none can be opened. */
  function heldIn({ pool }: Client): readonly HeldConnection[] {
    const { max = Infinity, used, free } = pool ?? {};
    if (used === undefined || used.length < max || (free?.length ?? 0) > 0) return NONE_HELD;
    return used.flatMap(({ resource }) => {
      const { holder: context = null, sinceMs = 0 } = leases.get(resource) ?? {};
      return context === null ? [] : [{ context, connection: textOf(resource.__knexUid), sinceMs }];
    });
  }

  function acquireConnection(this: Client): Promise<Connection> {
    const context = tracker.current();
    if (!isObserved(this)) return original.acquireConnection.call(this);
    if (context === undefined) {
      const used = original.acquireConnection.call(this);
      used.then(
        (connection) => (leaseOf(connection).holder = null),
        () => undefined,
      );
      return used;
    }
    const held = heldIn(this);
    // Knex's own queries on a new connection are not the application's.
    const acquired = tracker.unobserved(() => original.acquireConnection.call(this));
    const askedMs = context.elapsedMs();
    // One chain of promises: with a second reaction, the stack of an error would not lead to the caller.
    return acquired.then(
      (connection) => {
        const opened = !leases.has(connection);
        const lease = leaseOf(connection);
        lease.transaction = null;
        lease.holder = context;
        lease.sinceMs = context.elapsedMs();
        lease.wait = { context, ms: lease.sinceMs - askedMs, opened, held };
        return connection;
      },
      (error: unknown) => {
        const waitMs = context.elapsedMs() - askedMs;
        const refused = { startMs: askedMs, durationMs: waitMs, waitMs, error: messageOf(error) };
        try {
          const caller = findCaller?.({ stack: stackOf(error) }) ?? null;
          const fact = record(context, {}, { sql: '', method: 'connect' }, caller);
          noteHolders(Object.assign(fact, refused), held);
        } catch {
          // The statement is not recorded.
        }
        throw error;
      },
    );
  }

  /** The engine itself calls `then` of a builder, for `await`. */
  let isAwaited = false;
  const knownBuilders = new WeakSet<object>();

  /** Finds out whether `await` or own code called a builder's `then`. */
  function watchThen(builder: object): void {
    let holder: object | null = Object.getPrototypeOf(builder) as object | null;
    if (holder === null || knownBuilders.has(holder)) return;
    knownBuilders.add(holder);
    while (holder !== null && !Object.hasOwn(holder, 'then'))
      holder = Object.getPrototypeOf(holder) as object | null;
    if (holder === null) return;
    const target = holder as { then: (...args: unknown[]) => unknown };
    if (knownBuilders.has(target.then)) return;
    const original = target.then;
    const then = function (this: unknown, ...args: unknown[]): unknown {
      const before = isAwaited;
      isAwaited = isResolver(args[0]);
      try {
        return Reflect.apply(original, this, args);
      } finally {
        isAwaited = before;
      }
    };
    knownBuilders.add(then);
    restore.push(replaceMethod(target, 'then', then));
  }

  /**
   * `.then()` and callbacks leave no trace in later frames, so we take the stack here. For `await` the caller is in later frames,
   * and not in this stack.
   */
  function runner(this: Client, builder: unknown): Runner {
    const made = original.runner.call(this, builder);
    if (findCaller === undefined || tracker.current() === undefined || !isObserved(this)) return made;
    if (typeof builder === 'object' && builder !== null) watchThen(builder);
    const call = queries?.calls.getStore()?.caller ?? null;
    const caller = call ?? (isAwaited ? null : findCaller({ skip: 'knex' }));
    const fallback = built.callerOf(builder);
    const send = made.query;
    if ((caller === null && fallback === null) || send === undefined) return made;
    const query: Runner['query'] = (statement) => {
      if (caller !== null) callers.set(statement, caller);
      else if (fallback !== null) builders.set(statement, fallback);
      return send.call(made, statement);
    };
    made.query = query;
    return made;
  }

  function queryCompiler(this: Client, ...args: unknown[]): unknown {
    built.compiled(args[0]);
    return original.queryCompiler.apply(this, args);
  }

  const built = watchBuilders({
    prototype: Object.getPrototypeOf(knex.queryBuilder()) as Builder,
    replace: replaceMethod,
    contextOf: (of) => contextOf(of as Client),
    findCaller,
  });
  const restore = [
    ...built.undo,
    replaceMethod(prototype, 'queryCompiler', queryCompiler),
    replaceMethod(prototype, 'query', query),
    replaceMethod(prototype, 'stream', stream),
    replaceMethod(prototype, 'acquireConnection', acquireConnection),
    replaceMethod(prototype, 'runner', runner),
  ];
  return {
    close() {
      closed = true;
      for (const undo of restore) undo();
    },
  };
}

/** Its frames after `await` lead to the caller. */
function stackOf(error: unknown): string {
  return error instanceof Error && typeof error.stack === 'string' ? error.stack : '';
}

/** A copy: the application may change its list later. */
function listOf(bindings: unknown): readonly unknown[] {
  return Array.isArray(bindings) ? [...(bindings as unknown[])] : [];
}

/** What the engine passes to `then` for `await`: a function without name or source. */
function isResolver(callback: unknown): boolean {
  return (
    typeof callback === 'function' &&
    callback.name === '' &&
    callback.length === 1 &&
    Function.prototype.toString.call(callback) === 'function () { [native code] }'
  );
}

function pick({ query, stream, acquireConnection, runner, queryCompiler }: Client) {
  return { query, stream, acquireConnection, runner, queryCompiler };
}
