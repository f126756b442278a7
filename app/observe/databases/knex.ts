/**
 * Knex -> for its driver: the line that a statement is sent for, the name of its instance, and waits for its pool. The driver records the
 * statement; what no observed driver sends (mssql, oracledb, a driver in a bundle) is recorded here. Methods of the client's prototype
 * are wrapped; clients of other instances share it and pass through. The profiler's own Knex is never handed in.
 */
import type { Knex } from 'knex';
import type { Context, ContextTracker } from '../../profiler/record/context.ts';
import type { FindCaller } from '../stacks/caller.ts';
import { wrapRunner } from '../channels/lazy-query.ts';
import { replaceMethod } from '../channels/wrap-method.ts';
import type { ExplainClient, Explainer } from './explain.ts';
import { createPoolWaits } from './pool-waits.ts';
import type { Origin, QueryRecorder } from './queries.ts';
import type { QuerySystem } from './query-fact.ts';
import { errorOfKnex, rowsOf, statementOf, textOf } from './statement.ts';

/** Changed in place: whether it ran is known later. */
interface BuiltFact {
  label: string;
  caller: string | null;
  /** It was compiled: run, made part of another query, or its SQL was asked for. */
  ran: boolean;
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    built: BuiltFact;
  }
}

interface Builder {
  client?: unknown;
  _single?: { table?: unknown };
  [method: string]: unknown;
}

const WRITES: Readonly<Record<string, string>> = {
  insert: 'insert into',
  update: 'update',
  delete: 'delete from',
  del: 'delete from',
};
const LONGEST = 80;

function tableOf({ _single: single }: Builder): string {
  return typeof single?.table === 'string' ? single.table.slice(0, LONGEST) : '…';
}

/**
 * Writes that were built -> facts `built`: a Knex query runs only when it is awaited, so one that is forgotten fails silently. Reads are
 * not watched: they are built conditionally more often, and a missing result is noticed. `contextOf`: null if it is not recorded.
 */
function watchBuilders(
  prototype: Builder,
  contextOf: (client: unknown) => Context | null,
  findCaller: FindCaller | undefined,
) {
  const built = new WeakMap<object, BuiltFact>();
  const undo: (() => void)[] = [];

  function note(builder: Builder, write: string): void {
    if (built.has(builder)) return;
    const context = contextOf(builder.client);
    if (context === null || context.isFull('built')) return;
    const caller = findCaller?.({ isOwn: true }) ?? null;
    const fact: BuiltFact = { label: `${write} ${tableOf(builder)}`, caller, ran: false };
    built.set(builder, fact);
    context.add('built', fact, fact.label.length);
  }

  function factOf(builder: unknown): BuiltFact | undefined {
    return typeof builder === 'object' && builder !== null ? built.get(builder) : undefined;
  }

  function compiled(builder: unknown): void {
    const fact = factOf(builder);
    if (fact !== undefined) fact.ran = true;
  }

  for (const [name, write] of Object.entries(WRITES)) {
    const original = prototype[name];
    if (typeof original !== 'function') continue;
    const method = function (this: Builder, ...args: unknown[]): unknown {
      const result: unknown = Reflect.apply(original, this, args);
      try {
        note(this, write);
      } catch {
        // It is not watched.
      }
      return result;
    };
    undo.push(replaceMethod(prototype, name, method));
  }
  const { clone } = prototype;
  if (typeof clone === 'function')
    undo.push(
      replaceMethod(prototype, 'clone', function (this: unknown, ...args: unknown[]): unknown {
        // Whoever copies a query runs the copies.
        compiled(this);
        return Reflect.apply(clone, this, args) as unknown;
      }),
    );
  return {
    compiled,
    /** The line that made it a write; null for a read. */
    callerOf: (builder: unknown): string | null => factOf(builder)?.caller ?? null,
    undo,
  };
}

interface ObserveKnexOptions {
  tracker: ContextTracker;
  queries: QueryRecorder;
  findCaller?: FindCaller | undefined;
  instance?: string | undefined;
  explainer?: Explainer | undefined;
}

interface Client extends ExplainClient {
  config?: object;
  pool?: Pool;
  query: Send;
  stream: Send;
  acquireConnection(this: Client): Promise<Connection>;
  runner(this: Client, builder: unknown): Runner;
  queryCompiler(this: Client, ...args: unknown[]): unknown;
}

type Send = (
  this: Client,
  connection: Connection,
  statement: unknown,
  ...rest: unknown[]
) => Promise<unknown>;

interface Pool {
  max?: number;
  used?: readonly { resource: Connection }[];
  free?: readonly unknown[];
}

interface Connection {
  __knexTxId?: unknown;
}

interface Runner {
  ensureConnection?: (...args: unknown[]) => unknown;
}

const SYSTEMS: Readonly<Record<string, QuerySystem>> = {
  postgresql: 'postgresql',
  mysql: 'mysql',
  sqlite3: 'sqlite',
  'better-sqlite3': 'sqlite',
  mssql: 'mssql',
  oracle: 'oracle',
};
const LIBRARY = 'knex';

/** The connections in use, if none is free and none can be opened. */
function inUse({ pool }: Client): readonly Connection[] {
  const { max = Infinity, used = [], free = [] } = pool ?? {};
  return used.length < max || free.length > 0 ? [] : used.map(({ resource }) => resource);
}

export function observeKnex(knex: Knex, options: ObserveKnexOptions): { close(): void } {
  const { tracker, queries, findCaller, instance, explainer } = options;
  const { calls, currentCall } = queries;
  const client = knex.client as Client;
  const prototype = Object.getPrototypeOf(client) as Client;
  const { query, stream, acquireConnection, runner, queryCompiler } = prototype;
  const system = SYSTEMS[String(client.dialect)] ?? 'other';
  const waits = createPoolWaits({ tracker, queries, system, library: LIBRARY, instance });
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

  /** The context that a statement of this client belongs to; null if it is not recorded. */
  function contextOf(of: Client): Context | null {
    const context = tracker.observed();
    return context === undefined || !isObserved(of) ? null : context;
  }

  /** What no driver has recorded; only now `statement` is as it was sent. */
  function record(
    connection: Connection,
    statement: unknown,
    startMs: number,
    answer: Promise<unknown>,
  ): void {
    const running = queries.start({ ...statementOf(statement), system, connection, library: LIBRARY });
    if (running === null) return;
    running.fact.startMs = startMs;
    running.fact.transaction ??= textOf(connection.__knexTxId);
    answer.then(
      (result) => queries.end(running, { rows: rowsOf(result) }),
      (error: unknown) => queries.end(running, { error: errorOfKnex(error) }),
    );
  }

  /** Without a line: that of `await` is in later frames, those of the statement or of an error. */
  function callOf({ token }: Context): Origin {
    return currentCall() ?? { token, caller: null, label: null, library: LIBRARY };
  }

  function sending(send: Send): Send {
    return function (this: Client, connection, statement, ...rest) {
      const context = contextOf(this);
      const call = (): Promise<unknown> => Reflect.apply(send, this, [connection, statement, ...rest]);
      if (context === null) return call();
      const startMs = context.elapsedMs();
      // Found here and not by the driver: behind its frames the stack is three times as long.
      const origin: Origin = { ...queries.originOf(LIBRARY), instance, isSent: false };
      return calls.run(origin, () => {
        const answer = call();
        if (origin.isSent !== true) record(connection, statement, startMs, answer);
        return answer;
      });
    };
  }

  function acquiring(this: Client): Promise<Connection> {
    if (!isObserved(this)) return acquireConnection.call(this);
    const context = tracker.observed();
    const asked = context === undefined ? null : waits.ask(inUse(this), callOf(context));
    const acquire = (): Promise<Connection> => acquireConnection.call(this);
    // Knex's own queries on a new connection are not the application's, and its socket belongs to no call.
    const acquired = context === undefined ? acquire() : tracker.unobserved(() => calls.exit(acquire));
    // One chain of promises: with a second reaction, the stack of an error would not lead to the caller.
    return acquired.then(
      (connection) => {
        explainer?.lend(connection, client);
        waits.got(asked, connection);
        return connection;
      },
      (error: unknown) => {
        waits.refused(asked, error);
        throw error;
      },
    );
  }

  /** A write that no line awaits by itself, as in a list of queries, has the line that built it. */
  function running(this: Client, builder: unknown): Runner {
    const made = runner.call(this, builder);
    const { ensureConnection } = made;
    const line = built.callerOf(builder);
    const context = line === null ? null : contextOf(this);
    if (context === null || currentCall() !== undefined || ensureConnection === undefined) return made;
    const { token } = context;
    const origin: Origin = {
      token,
      caller: null,
      otherwise: () => ({ caller: line }),
      label: null,
      library: LIBRARY,
    };
    const ensure: typeof ensureConnection = (...args) =>
      calls.run(origin, () => Reflect.apply(ensureConnection, made, args));
    made.ensureConnection = ensure;
    return made;
  }

  function compiling(this: Client, ...args: unknown[]): unknown {
    built.compiled(args[0]);
    return queryCompiler.apply(this, args);
  }

  const built = watchBuilders(
    Object.getPrototypeOf(knex.queryBuilder()) as Builder,
    (of) => contextOf(of as Client),
    findCaller,
  );
  const restore = [
    ...built.undo,
    replaceMethod(prototype, 'queryCompiler', compiling),
    replaceMethod(prototype, 'query', sending(query)),
    replaceMethod(prototype, 'stream', sending(stream)),
    replaceMethod(prototype, 'acquireConnection', acquiring),
    replaceMethod(prototype, 'runner', running),
    // Again, if a bundle hides its file.
    wrapRunner(Object.getPrototypeOf(client.runner(knex.queryBuilder()))),
  ];
  return {
    close() {
      closed = true;
      for (const undo of restore) undo?.();
    },
  };
}
