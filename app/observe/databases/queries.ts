/** Facts `query`, for every observer of a database: bounds, callers, names of connections, and transactions. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { types } from 'node:util';
import type { Context, ContextTracker } from '../../profiler/record/context.ts';
import { type DateWriter, truncateText } from '../../profiler/record/plain.ts';
import type { Repeating } from '../../profiler/record/fact-list.ts';
import { beginsTransaction, endsTransaction } from '../../profiler/transaction-sql.ts';
import type { Called, CallerOptions, FindCaller } from '../stacks/caller.ts';
import { createHelperLines } from '../stacks/helper-lines.ts';
import { createLeftSettings } from './left-settings.ts';
import { type HeldConnection, noteHolders } from './connection-holders.ts';
import type { QueryFact, QuerySystem } from './query-fact.ts';
import type { Explainer } from './explain.ts';
import { bytesOf, countIds, firstRows, messageOf, recordedValues } from './statement.ts';

/** Who sends statements: the call of an ORM, or of a query builder. */
export interface Origin extends Called {
  /** Of the request that calls: a socket that is opened meanwhile keeps the store for the callbacks of all requests. */
  token: string | undefined;
  /** If no line is found when a statement is sent; null: none. */
  otherwise?: () => Called | null;
  label: string | null;
  dropped?: readonly string[] | undefined;
  skipped?: string | undefined;
  /** A query builder whose frames are no callers. Absent for an ORM: no line of any library says more than its call. */
  library?: string | undefined;
  instance?: string | undefined;
  through?: string | undefined;
  /** A driver has recorded a statement of this call. */
  isSent?: boolean;
}

export interface QueryStart {
  system: QuerySystem;
  sql: string;
  bindings?: unknown;
  /** As the driver sends a date. */
  writeDate?: DateWriter | undefined;
  connection?: object | null;
  server?: string | undefined;
  library: string;
  origin?: Origin | null;
  stack?: (() => string) | undefined;
  instance?: string | undefined;
  isPooled?: boolean;
}

export interface RunningQuery {
  context: Context;
  fact: QueryFact;
  query: QueryStart;
}

export interface QueryOutcome extends Partial<Pick<QueryStart, 'sql' | 'bindings' | 'connection'>> {
  rows?: number | null;
  warnings?: number;
  found?: readonly unknown[] | undefined;
  /** A number; 0 or absent: no row was inserted, or it has none. */
  insertedId?: unknown;
  alsoChanged?: number;
  error?: unknown;
}

export interface Waiting extends Pick<QueryStart, 'system' | 'library' | 'instance'> {
  context: Context;
  sinceMs: number;
  origin: Origin;
  held: readonly HeldConnection[];
  /** All connections were in use then, and the pool could open no other. */
  isFull: boolean;
}

export interface QueryRecorderOptions {
  tracker: ContextTracker;
  /** Omit to record no callers. */
  findCaller?: FindCaller | undefined;
  explainer?: Explainer | undefined;
  onEnd?: (context: Context, fact: QueryFact) => void;
}

interface Connection {
  name: string;
  transaction: string | null;
  wait: (Pick<Waiting, 'context' | 'held' | 'isFull'> & { ms: number; opened: boolean }) | null;
  holder: Context | null;
  sinceMs: number;
}

const SQL_LENGTH = 20_000;

/** A statement repeats with its line. */
const REPEATED: Repeating<QueryFact> = { key: ({ caller, sql }) => `${caller ?? ''}\n${sql}` };

export function createQueryRecorder({ tracker, findCaller, explainer, onEnd }: QueryRecorderOptions) {
  const connections = new WeakMap<object, Connection>();
  const calls = new AsyncLocalStorage<Origin>();
  const counts = new Map<string, number>();
  const helpers = createHelperLines();
  const settings = createLeftSettings();
  let transactions = 0;

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

  function transactionOf(connection: Connection | null, sql: string): string | null {
    if (connection === null) return null;
    if (beginsTransaction(sql)) connection.transaction = `trx${++transactions}`;
    const { transaction } = connection;
    if (transaction !== null && endsTransaction(sql)) connection.transaction = null;
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
    if (typeof bindings !== 'object' || bindings === null || types.isProxy(bindings)) return [];
    const named = new Map(
      Object.entries(Object.getOwnPropertyDescriptors(bindings)).map(([name, { value }]) => [
        name.replace(/^[:@$]/, ''),
        value as unknown,
      ]),
    );
    const asked = [...new Set([...sql.matchAll(/[:@$]([A-Za-z_]\w*)/g)].map(([, name = '']) => name))];
    return asked.filter((name) => named.has(name)).map((name) => named.get(name));
  }

  function bind(
    fact: QueryFact,
    { sql, bindings, writeDate }: Pick<QueryStart, 'sql' | 'bindings' | 'writeDate'>,
  ): void {
    const { bindings: recorded, types: found } = recordedValues(valuesOf(sql, bindings), writeDate);
    fact.sql = truncateText(sql, SQL_LENGTH);
    fact.bindings = recorded;
    if (found === undefined) delete fact.types;
    else fact.types = found;
  }

  /** The call that statements are sent below, if it is of the same request. */
  function currentCall(): Origin | undefined {
    const call = calls.getStore();
    return call?.token === tracker.observed()?.token ? call : undefined;
  }

  /** Own code that calls now; where it makes a query, that is sent later. */
  function calledNow(): Called | null {
    return findCaller?.called({ isOwn: true, isHelper: helpers.isHelper }) ?? null;
  }

  /** Who calls now. */
  function originOf(library: string, stack?: QueryStart['stack']): Origin {
    const above = currentCall();
    const call = above ?? { token: tracker.observed()?.token, caller: null, label: null, library };
    if (call.caller !== null) return call;
    const skip = [library, call.library ?? library];
    let through: string | undefined;
    const isHelper: CallerOptions['isHelper'] = (line, callerOf) => {
      const is = helpers.isHelper(line, callerOf);
      if (is) through ??= line;
      return is;
    };
    const isFar = above?.library !== undefined;
    const search = (isOwn: boolean): Called | null =>
      findCaller?.called({ skip, isOwn, isFar, isHelper }) ?? null;
    const isBuilder = call.library !== undefined;
    const here =
      call.otherwise === undefined
        ? search(!isBuilder)
        : (search(true) ?? call.otherwise() ?? (isBuilder ? search(false) : null));
    const called = here ?? calledFrom(stack);
    if (through === called?.caller) through = undefined;
    return { ...call, ...called, through };
  }

  function calledFrom(stack: QueryStart['stack']): Called | null {
    return stack === undefined ? null : (findCaller?.called({ stack: stack() }) ?? null);
  }

  function factOf(context: Context, query: QueryStart): QueryFact {
    const { system, sql, connection = null, library } = query;
    const isFirst = connection !== null && !connections.has(connection);
    const known = connection === null ? null : connectionOf(connection, system);
    const transaction = transactionOf(known, sql);
    const {
      caller,
      label,
      instance = system,
      path,
      through,
      dropped,
      skipped,
    } = query.origin ?? originOf(library, query.stack);
    // A helper may call another one.
    if (!beginsTransaction(sql) && !endsTransaction(sql))
      for (const line of [through, caller]) if (typeof line === 'string') helpers.learn(line, sql);
    const wait = takeWait(known, context);
    const fact: QueryFact = {
      system,
      sql: '',
      bindings: [],
      startMs: context.elapsedMs(),
      durationMs: null,
      rows: null,
      connection: known?.name ?? null,
      transaction,
      waitMs: wait?.ms ?? 0,
      error: null,
      caller,
      instance: query.instance ?? instance,
    };
    if (query.server !== undefined) fact.server = query.server;
    if (wait?.opened === true) fact.opened = true;
    if (wait?.isFull === true) fact.full = true;
    if (isFirst) fact.first = true;
    const setting = connection === null ? null : settings.before(connection, context, { sql, caller });
    if (setting !== null) fact.setting = setting;
    if (query.isPooled === true && (beginsTransaction(sql) || endsTransaction(sql))) fact.pooled = true;
    if (wait !== null) noteHolders(fact, wait.held);
    bind(fact, query);
    if (label !== null) fact.label = label;
    if (dropped !== undefined) fact.dropped = dropped;
    if (skipped !== undefined) fact.skipped = skipped;
    if (path !== undefined) fact.path = path;
    if (through !== undefined) fact.through = through;
    return fact;
  }

  function add(context: Context, fact: QueryFact): void {
    context.add('query', fact, bytesOf(fact.sql, fact.bindings), REPEATED);
  }

  return {
    calls,
    currentCall,
    calledNow,
    originOf,
    start(query: QueryStart): RunningQuery | null {
      const context = tracker.observed();
      if (context === undefined) {
        transactionOf(connections.get(query.connection ?? query) ?? null, query.sql);
        return null;
      }
      const call = currentCall();
      if (call !== undefined) call.isSent = true;
      const fact = factOf(context, query);
      add(context, fact);
      return { context, fact, query };
    },
    end(
      { context, fact, query }: RunningQuery,
      { rows = null, warnings = 0, found = [], insertedId, alsoChanged = 0, error, ...sent }: QueryOutcome,
    ): void {
      fact.durationMs = context.elapsedMs() - fact.startMs;
      fact.rows = rows;
      if (warnings > 0) fact.warnings = warnings;
      const first = firstRows(context, found);
      if (first.length > 0) fact.found = first;
      const ids = countIds(found, fact.sql);
      if (ids !== null) fact.ids = ids;
      if (rows === 1 && /^[1-9]\d*$/.test(String(insertedId))) fact.insertedId = String(insertedId);
      if (alsoChanged > 0) fact.alsoChanged = alsoChanged;
      if (error !== undefined) fact.error = messageOf(error);
      if (sent.sql !== undefined) bind(fact, { sql: sent.sql, bindings: sent.bindings });
      const { sql, bindings, connection } = { ...query, ...sent };
      if (sent.connection !== undefined && sent.connection !== null) {
        const known = connectionOf(sent.connection, query.system);
        fact.connection = known.name;
        fact.transaction = transactionOf(known, fact.sql);
      }
      explainer?.note({ context, fact, connection: connection ?? null, sql, bindings });
      onEnd?.(context, fact);
      context.changed();
    },
    waited({ context, system, sinceMs, held, isFull }: Waiting, connection: object): void {
      const opened = !connections.has(connection);
      const known = connectionOf(connection, system);
      known.holder = context;
      known.sinceMs = context.elapsedMs();
      known.wait = { context, ms: known.sinceMs - sinceMs, opened, held, isFull };
    },
    heldOf: (used: readonly object[]) =>
      used.flatMap((one) => {
        const { holder: context = null, name = null, sinceMs = 0 } = connections.get(one) ?? {};
        return context === null ? [] : [{ context, connection: name, sinceMs }];
      }),
    used(system: QuerySystem, connection: object): void {
      connectionOf(connection, system).holder = null;
    },
    /** It got none, or without `failure`: it waited until the end. A statement without SQL. */
    refused(
      { context, sinceMs, held, isFull, ...waiting }: Waiting,
      failure?: { error: unknown } & Pick<QueryStart, 'stack'>,
    ): void {
      const waitMs = context.elapsedMs() - sinceMs;
      const fact = factOf(context, { ...waiting, sql: '' });
      if (fact.caller === null)
        Object.assign(fact, calledFrom(failure?.stack) ?? waiting.origin.otherwise?.());
      const error = failure === undefined ? null : messageOf(failure.error);
      Object.assign(fact, { startMs: sinceMs, durationMs: waitMs, waitMs, error });
      if (isFull) fact.full = true;
      add(context, fact);
      noteHolders(fact, held);
    },
  };
}

export type QueryRecorder = ReturnType<typeof createQueryRecorder>;
