/**
 * Query plans, in the application's own pool (decision 13): of slow statements of PostgreSQL by itself, after the response and never with
 * `ANALYZE`; of any statement when somebody asks. It never makes the application wait: it takes idle connections only, by itself at most
 * three a second.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError } from '../../profiler/record/thrown-value.ts';
import { within } from '../../profiler/timeouts.ts';
import { type Context, createSlot } from '../../profiler/record/context.ts';
import type { KeptPlans, PlanOutcome, StatementToPlan } from '../../profiler/read/query-plan.ts';
import { endsTransaction } from '../../profiler/transaction-sql.ts';
import { type ExplainedStatement, explainOn, problem } from './explain-statement.ts';
import type { QueryFact } from './query-fact.ts';
import { dropOldest } from '../../profiler/drop-oldest.ts';

export interface ExplainPool {
  numFree(): number;
  numUsed(): number;
  numPendingAcquires(): number;
  max?: number;
}

export interface ExplainClient {
  dialect?: unknown;
  driverName?: unknown;
  pool?: object;
  acquireConnection(): Promise<object>;
  /** With `failure`, the connection did not respond. */
  releaseConnection(connection: object, failure?: unknown): unknown;
}

interface Disposable {
  __knex__disposed?: unknown;
}

interface SlowStatement {
  context: Context;
  fact: QueryFact;
  client: ExplainClient;
  sql: string;
  bindings: readonly unknown[];
}

export interface ExecutedStatement {
  context: Context;
  fact: QueryFact;
  connection: object | null;
  sql: string;
  bindings: unknown;
}

export interface ExplainerOptions {
  overMs: number;
  mask: (context: Context, plans: KeptPlans) => KeptPlans;
  store: (token: string, plans: KeptPlans) => Promise<unknown>;
  unobserved: <T>(work: () => T) => T;
}

const MOST_PER_REQUEST = 3;
const MOST_PER_SECOND = 3;
const LONGEST_QUEUE = 20;
const LONGEST_SQL = 20_000;
const MOST_BINDINGS = 1000;
const REMEMBERED_MS = 60_000;
const MOST_REMEMBERED = 200;
const MOST_KEPT = 100;
const MOST_LOOKS = 10;
const LOOK_EVERY = 200;
const STATEMENT_MS = 1000;
const LOCK_MS = 100;
const ANSWER_MS = 3000;
/** What somebody asked for and waits for may take longer. */
const ASKED_STATEMENT_MS = 5000;
const ASKED_ANSWER_MS = 8000;
/** Connections whose pools are remembered, for plans that are asked for. */
const MOST_CONNECTIONS = 1000;
const CAN_BE_PLANNED = /^\s*(?:(?:--[^\n]*\n|\/\*[^*]*\*\/)\s*)*(?:select|insert|update|delete|with)\b/i;
/** Anything after a semicolon, even inside a literal: a driver that ignores `queryMode` would run it. */
const MAY_BE_SEVERAL = /;\s*\S/;

const NONE_IDLE = 'No pool connection was idle, so EXPLAIN was not run';

interface Remembered {
  at: number;
  outcome: PlanOutcome;
}

function isPostgres({ dialect, driverName }: ExplainClient): boolean {
  return driverName === 'pg' && dialect === 'postgresql';
}

function hasIdle({ pool }: ExplainClient): boolean {
  const { numFree, numUsed, numPendingAcquires, max } = (pool ?? {}) as Partial<ExplainPool>;
  if (numFree === undefined || numUsed === undefined || numPendingAcquires === undefined) return false;
  const free = numFree.call(pool);
  const canGrow = max !== undefined && free + numUsed.call(pool) < max;
  return numPendingAcquires.call(pool) === 0 && (free > 1 || (free === 1 && canGrow));
}

function hasOpenTransaction(context: Context): boolean {
  const open = new Set<string>();
  for (const { transaction, sql } of context.all('query')) {
    if (transaction === null) continue;
    if (endsTransaction(sql)) open.delete(transaction);
    else open.add(transaction);
  }
  return open.size > 0;
}

function pause(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false });
}

async function planOnPool(
  client: ExplainClient,
  statement: ExplainedStatement,
  answerMs: number,
): Promise<PlanOutcome> {
  const late = (): Error => new Error(`no response within ${answerMs} ms`);
  const connection = (await within(client.acquireConnection(), answerMs, late)) as Disposable;
  let failure: unknown;
  try {
    return await within(explainOn(connection, statement), answerMs, late);
  } catch (error) {
    failure = error;
    connection.__knex__disposed = error;
    return problem(`EXPLAIN failed: ${describeError(error).message.slice(0, 300)}`);
  } finally {
    await client.releaseConnection(connection, failure);
  }
}

/** SQLite has no pool; the database must not be kept alive by us. */
function databaseClient(database: object): ExplainClient {
  const held = new WeakRef(database);
  return {
    acquireConnection() {
      const open = held.deref();
      return open === undefined ? Promise.reject(new Error('the database is closed')) : Promise.resolve(open);
    },
    releaseConnection: () => undefined,
  };
}

export function createExplainer({ overMs, mask, store, unobserved }: ExplainerOptions) {
  const slow = createSlot<SlowStatement[]>('slow statements');
  const clients = new WeakMap<object, ExplainClient>();
  const named = new Map<string, ExplainClient>();
  const remembered = new WeakMap<object, Map<string, Remembered>>();
  const kept = new Map<string, KeptPlans['plans']>();
  let queue: SlowStatement[][] = [];
  let runs: number[] = [];
  let running = false;
  let closed = false;

  function memoryOf(client: ExplainClient): Map<string, Remembered> {
    const key = client.pool ?? client;
    const known = remembered.get(key) ?? new Map<string, Remembered>();
    remembered.set(key, known);
    return known;
  }

  async function awaitTurn(): Promise<void> {
    for (;;) {
      const now = performance.now();
      runs = runs.filter((at) => now - at < 1000);
      if (runs.length < MOST_PER_SECOND || closed) break;
      await pause(1000 - (now - (runs[0] ?? now)));
    }
    runs.push(performance.now());
  }

  async function awaitIdle(client: ExplainClient): Promise<boolean> {
    for (let looks = 1; client.pool !== undefined && !hasIdle(client); looks++) {
      if (looks >= MOST_LOOKS || closed) return false;
      await pause(LOOK_EVERY);
    }
    return true;
  }

  async function explain(statement: SlowStatement): Promise<PlanOutcome> {
    if (statement.bindings.length === 0 && MAY_BE_SEVERAL.test(statement.sql))
      return problem('The text may contain several statements, so EXPLAIN was not run');
    const memory = memoryOf(statement.client);
    const known = memory.get(statement.sql);
    if (known !== undefined && performance.now() - known.at < REMEMBERED_MS) return known.outcome;
    await awaitTurn();
    if (!(await awaitIdle(statement.client))) return problem(NONE_IDLE);
    const outcome = await planOnPool(
      statement.client,
      {
        system: 'postgresql',
        sql: statement.sql,
        values: statement.bindings,
        statementMs: STATEMENT_MS,
        lockMs: LOCK_MS,
      },
      ANSWER_MS,
    );
    if (memory.size >= MOST_REMEMBERED) memory.clear();
    memory.set(statement.sql, { at: performance.now(), outcome });
    return outcome;
  }

  async function explainAll(statements: readonly SlowStatement[]): Promise<void> {
    const [first] = statements;
    if (first === undefined) return;
    const { token } = first.context;
    const plans = [...(kept.get(token) ?? [])];
    const facts = first.context.all('query');
    for (const statement of statements) {
      const query = facts.indexOf(statement.fact);
      // A statement that the profile dropped has no row to show a plan with.
      if (query !== -1) plans.push({ query, ...(await explain(statement)) });
    }
    if (plans.length === 0) return;
    const safe = mask(first.context, { plans });
    kept.set(token, safe.plans);
    dropOldest(kept, MOST_KEPT);
    await store(token, safe);
  }

  async function run(): Promise<void> {
    running = true;
    while (queue.length > 0 && !closed) {
      await explainAll(queue.shift() ?? []).catch(() => undefined);
    }
    running = false;
  }

  /** Plans the slow statements, once the final profile is on its way to the storage. */
  function explainStored(context: Context): void {
    const statements = slow.get(context) ?? [];
    // Work after the response may still end its transaction: the profile is then written again.
    if (statements.length === 0 || hasOpenTransaction(context)) return;
    slow.set(context, []);
    if (closed || queue.length >= LONGEST_QUEUE) return;
    queue.push(statements);
    if (!running) unobserved(() => void run());
  }

  return {
    lend(connection: object, client: ExplainClient): void {
      clients.set(connection, client);
    },
    note({ context, fact, connection, sql, bindings: given }: ExecutedStatement): void {
      const client = connection === null ? undefined : clients.get(connection);
      if (connection !== null && fact.connection !== null && !named.has(fact.connection)) {
        const known = client ?? (fact.system === 'sqlite' ? databaseClient(connection) : undefined);
        if (known !== undefined) named.set(fact.connection, known);
        dropOldest(named, MOST_CONNECTIONS);
      }
      if (
        overMs <= 0 ||
        closed ||
        (fact.durationMs ?? 0) < overMs ||
        client === undefined ||
        !isPostgres(client)
      )
        return;
      if (context.kind === 'profiler' || !CAN_BE_PLANNED.test(sql)) return;
      // A copy: the application may change its list later.
      const bindings: readonly unknown[] = Array.isArray(given) ? [...(given as unknown[])] : [];
      if (sql.length > LONGEST_SQL || bindings.length > MOST_BINDINGS) return;
      const statement: SlowStatement = { context, fact, client, sql, bindings };
      const known = slow.get(context) ?? [];
      const same = known.find((other) => other.sql === sql);
      if (same !== undefined && (same.fact.durationMs ?? 0) >= (fact.durationMs ?? 0)) return;
      const slowest = [...known.filter((other) => other !== same), statement]
        .sort((a, b) => (b.fact.durationMs ?? 0) - (a.fact.durationMs ?? 0))
        .slice(0, MOST_PER_REQUEST);
      slow.set(context, slowest);
      context.onStored = explainStored;
    },
    knows: (connection: string) => named.has(connection),
    async explain(connection: string, statement: StatementToPlan): Promise<PlanOutcome> {
      const client = named.get(connection);
      if (client === undefined || closed)
        return problem('The connection is not open in this process any more');
      try {
        return await unobserved(async () => {
          if (!(await awaitIdle(client))) return problem(NONE_IDLE);
          const times = { statementMs: ASKED_STATEMENT_MS, lockMs: LOCK_MS };
          return await planOnPool(client, { ...statement, ...times }, ASKED_ANSWER_MS);
        });
      } catch (error) {
        return problem(`EXPLAIN failed: ${describeError(error).message.slice(0, 300)}`);
      }
    },
    close(): void {
      closed = true;
      named.clear();
      queue = [];
      kept.clear();
    },
  };
}

export type Explainer = ReturnType<typeof createExplainer>;
