/**
 * Facts `query`, for every observer of a database: bounds, callers, names of connections and transactions, and that a statement is
 * recorded once where a query builder and its driver are both observed.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context, ContextTracker } from '../profiler/context.ts';
import { truncateText, type PlainLimits, toPlain } from '../profiler/plain.ts';
import type { Repeating } from '../profiler/fact-list.ts';
import { callPath } from './call-path.ts';
import type { FindCaller } from './caller.ts';
import { type HeldConnection, noteHolders } from './connection-holders.ts';
import type { QueryFact, QuerySystem } from './query-fact.ts';
import { bindingTypes, bytesOf, messageOf } from './statement.ts';

/** Who sends a statement. */
export interface Origin {
  /** `file:line`. */
  caller: string | null;
  /** Model and method of an ORM. */
  label: string | null;
  /** Of a line that sends again and again: the lines that led to it. */
  path?: readonly string[] | undefined;
}

export interface QueryStart {
  system: QuerySystem;
  /** The statement as sent, or its text form: `db.users.find({"email": ?})`. */
  sql: string;
  /** A list by placeholder, or an object by name. */
  bindings?: unknown;
  /** As the driver sends a date. */
  writeDate?: ((date: Date) => string) | undefined;
  /** The object that identifies the connection: it gets a name, and its transactions are followed. */
  connection?: object | null;
  /** Package whose frames are skipped for the caller. */
  library: string;
  /** If that is known already. */
  origin?: Origin | null;
  /** A stack that the library took, used if the current one has no own code. */
  stack?: () => string;
  instance?: string;
}

/** A statement between its start and its end. */
export interface RunningQuery {
  context: Context;
  fact: QueryFact;
}

export interface QueryOutcome extends Partial<Pick<QueryStart, 'sql' | 'bindings' | 'connection'>> {
  /** Returned or changed; null if the driver does not say. */
  rows?: number | null;
  error?: unknown;
}

/** A request for a connection that failed, or without `error`: that waited until the end. */
export interface Refusal {
  sinceMs: number;
  error?: unknown;
  held: readonly HeldConnection[];
}

export interface QueryRecorder {
  /** null if it is not recorded: outside a request, or recorded by a level above. */
  start(query: QueryStart): RunningQuery | null;
  end(running: RunningQuery, outcome: QueryOutcome): void;
  /** Who calls now; null without a request or where a level above records. */
  originOf(library: string): Origin | null;
  /** This request waited for a connection, which its next statement on it reports. */
  waited(
    context: Context,
    on: { system: QuerySystem; connection: object },
    wait: { ms: number; held: readonly HeldConnection[] },
  ): void;
  /** Which requests hold these connections. */
  heldOf(connections: readonly object[]): readonly HeldConnection[];
  /** Something outside all requests got this connection: it is not new any more. */
  used(on: { system: QuerySystem; connection: object }): void;
  /** No connection was given: a statement without SQL. */
  refused(context: Context, query: Omit<QueryStart, 'sql'>, wait: Refusal): void;
  /** Runs the call of a driver whose statement is recorded already. Synchronous: drivers are called so. */
  covered<T>(work: () => T): T;
  /** The call of an ORM that statements are sent for, whenever they are. */
  calls: AsyncLocalStorage<Origin>;
}

export interface QueryRecorderOptions {
  tracker: ContextTracker;
  /** Omit to record no callers. */
  findCaller?: FindCaller | undefined;
  /** Called when a statement has ended; must not throw. */
  onEnd?: (context: Context, fact: QueryFact) => void;
}

interface Connection {
  name: string;
  /** The outermost one. */
  transaction: string | null;
  wait: { context: Context; ms: number; opened: boolean; held: readonly HeldConnection[] } | null;
  /** The request that got it last; null if something outside all requests did. */
  holder: Context | null;
  /** When it did, in the time of that request. */
  sinceMs: number;
}

const SQL_LENGTH = 20_000;
const BINDINGS: PlainLimits = { depth: 3, width: 100, length: 500, total: 300 };
const BEGINS = /^\s*(?:begin|start\s+transaction)\b/i;
/** A statement that ends a transaction, also as the last of several. */
export const ENDS =
  /(?:^|;)\s*(?:commit|end(?:\s+transaction)?|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)[^;]*)\s*;?\s*$/i;

/** A statement repeats with its line. */
export const REPEATED_QUERY: Repeating<QueryFact> = { key: ({ caller, sql }) => `${caller ?? ''}\n${sql}` };

export function createQueryRecorder({ tracker, findCaller, onEnd }: QueryRecorderOptions): QueryRecorder {
  const connections = new WeakMap<object, Connection>();
  const calls = new AsyncLocalStorage<Origin>();
  const counts = new Map<string, number>();
  let transactions = 0;
  let isCovered = false;

  function contextOf(): Context | null {
    return (isCovered ? undefined : tracker.observed()) ?? null;
  }

  function connectionOf(object: object, system: string): Connection {
    const known = connections.get(object);
    if (known !== undefined) return known;
    const count = (counts.get(system) ?? 0) + 1;
    counts.set(system, count);
    const made: Connection = {
      name: `${system}${count}`,
      transaction: null,
      wait: null,
      holder: null,
      sinceMs: 0,
    };
    connections.set(object, made);
    return made;
  }

  /** Followed for every statement, of a request or not: a connection is handed from one to the next. */
  function transactionOf(connection: Connection | null, sql: string): string | null {
    if (connection === null) return null;
    if (BEGINS.test(sql)) connection.transaction = `trx${++transactions}`;
    const { transaction } = connection;
    if (transaction !== null && ENDS.test(sql)) connection.transaction = null;
    return transaction;
  }

  function takeWait(connection: Connection | null, context: Context): Connection['wait'] {
    if (connection?.wait?.context !== context) return null;
    const { wait } = connection;
    connection.wait = null;
    return wait;
  }

  /** By placeholder; those of an object in the order of their names in the statement. */
  function valuesOf(sql: string, bindings: unknown): readonly unknown[] {
    if (Array.isArray(bindings)) return bindings;
    if (typeof bindings !== 'object' || bindings === null) return [];
    const named = new Map(
      Object.entries(bindings).map(([name, value]) => [name.replace(/^[:@$]/, ''), value as unknown]),
    );
    const asked = [...new Set([...sql.matchAll(/[:@$]([A-Za-z_]\w*)/g)].map(([, name = '']) => name))];
    return asked.filter((name) => named.has(name)).map((name) => named.get(name));
  }

  function bind(
    fact: QueryFact,
    { sql, bindings, writeDate }: Pick<QueryStart, 'sql' | 'bindings' | 'writeDate'>,
  ): void {
    const values = valuesOf(sql, bindings);
    const plain = toPlain(values, { ...BINDINGS, writeDate });
    const types = bindingTypes(values);
    fact.sql = truncateText(sql, SQL_LENGTH);
    fact.bindings = Array.isArray(plain) ? plain : [];
    if (types !== null) fact.types = types;
  }

  /** Below the call of an ORM, a line of the ORM says nothing. */
  const callerOf = (library: string, call: Origin | undefined): string | null => {
    const isOwn = call === undefined ? {} : { isOwn: true as const };
    return findCaller?.({ skip: library, ...isOwn }) ?? null;
  };

  const calledFrom = (stack: QueryStart['stack']): string | null =>
    stack === undefined ? null : (findCaller?.({ stack: stack() }) ?? null);

  function originOf(context: Context, library: string, stack?: QueryStart['stack']): Origin {
    const call = calls.getStore();
    const label = call?.label ?? null;
    if (call !== undefined && call.caller !== null) return { caller: call.caller, label, path: call.path };
    const here = callerOf(library, call);
    const caller = here ?? calledFrom(stack);
    const from = here === null && stack !== undefined ? { stack: stack() } : {};
    return { caller, label, path: callPath(context, caller, { findCaller, ...from }) };
  }

  function factOf(context: Context, query: QueryStart): QueryFact {
    const { system, sql, connection = null, library, instance = system } = query;
    const isFirst = connection !== null && !connections.has(connection);
    const known = connection === null ? null : connectionOf(connection, system);
    const transaction = transactionOf(known, sql);
    const { caller, label, path } = query.origin ?? originOf(context, library, query.stack);
    const wait = takeWait(known, context);
    const fact: QueryFact = {
      system,
      sql: '',
      bindings: [],
      method: null,
      startMs: context.elapsedMs(),
      durationMs: null,
      rows: null,
      connection: known?.name ?? null,
      transaction,
      waitMs: wait?.ms ?? 0,
      error: null,
      caller,
      instance,
    };
    if (wait?.opened === true) fact.opened = true;
    if (isFirst) fact.first = true;
    if (wait !== null) noteHolders(fact, wait.held);
    bind(fact, query);
    if (label !== null) fact.label = label;
    if (path !== undefined) fact.path = path;
    return fact;
  }

  function add(context: Context, fact: QueryFact): void {
    context.add('query', fact, bytesOf(fact.sql, fact.bindings), REPEATED_QUERY);
  }

  return {
    calls,
    start(query) {
      const context = contextOf();
      if (context === null) {
        const known = isCovered ? undefined : connections.get(query.connection ?? query);
        transactionOf(known ?? null, query.sql);
        return null;
      }
      const fact = factOf(context, query);
      add(context, fact);
      return { context, fact };
    },
    end({ context, fact }, { rows = null, error, sql, bindings, connection }) {
      fact.durationMs = context.elapsedMs() - fact.startMs;
      fact.rows = rows;
      if (error !== undefined) fact.error = messageOf(error);
      if (sql !== undefined) bind(fact, { sql, bindings });
      if (connection !== undefined && connection !== null) {
        const known = connectionOf(connection, fact.system ?? 'other');
        fact.connection = known.name;
        fact.transaction = transactionOf(known, fact.sql);
      }
      onEnd?.(context, fact);
    },
    originOf(library) {
      const context = contextOf();
      return context === null ? null : originOf(context, library);
    },
    waited(context, { connection, system }, { ms, held }) {
      const opened = !connections.has(connection);
      const known = connectionOf(connection, system);
      known.wait = { context, ms, opened, held };
      known.holder = context;
      known.sinceMs = context.elapsedMs();
    },
    heldOf: (used) =>
      used.flatMap((one) => {
        const { holder: context = null, name = null, sinceMs = 0 } = connections.get(one) ?? {};
        return context === null ? [] : [{ context, connection: name, sinceMs }];
      }),
    used({ connection, system }) {
      connectionOf(connection, system).holder = null;
    },
    refused(context, query, { sinceMs, error, held }) {
      const waitMs = context.elapsedMs() - sinceMs;
      const fact = factOf(context, { ...query, sql: '' });
      add(
        context,
        Object.assign(fact, {
          method: 'connect',
          startMs: sinceMs,
          durationMs: waitMs,
          waitMs,
          error: error === undefined ? null : messageOf(error),
        }),
      );
      noteHolders(fact, held);
    },
    covered(work) {
      const before = isCovered;
      isCovered = true;
      try {
        return work();
      } finally {
        isCovered = before;
      }
    },
  };
}
