/**
 * Operations of GraphQL -> facts `graphql`, by the channels of channels/graphql.ts. What a resolver threw is an exception of the profile,
 * although the response is 200; the operation names the route.
 */
import { createSlot, type Slot } from '../profiler/record/context.ts';
import type { Json } from '../profiler/json.ts';
import { truncateText, type PlainLimits, toPlain } from '../profiler/record/plain.ts';
import {
  createResolverWrapping,
  graphqlChannels,
  type GraphqlExecuted,
  type GraphqlRefused,
  type GraphqlResolved,
  type GraphqlSchemaUsed,
  type ResolveInfo,
  type ResponsePath,
} from './channels/graphql.ts';
import { isThenable } from './channels/trace.ts';
import { recordError } from './errors-seen.ts';
import { createCallRecorder, type RecordedCall } from './observe-calls.ts';
import { type ObserverParts, subscribeTo, subscribeToCalls } from './subscribe.ts';

export interface ResolverTimes {
  field: string;
  calls: number;
  totalMs: number;
  slowestMs: number;
  failed: number;
  startMs: number;
}

export interface GraphqlFact {
  /** The name that the client gave it. */
  operation: string | null;
  /** Its name, or else the fields that it asks for. */
  label: string | null;
  type: 'query' | 'mutation' | 'subscription' | null;
  document: string;
  variables: Json;
  startMs: number;
  durationMs: number | null;
  errors: { message: string; path: string }[];
  resolvers: ResolverTimes[];
  caller: string | null;
}

declare module '../profiler/record/facts.ts' {
  interface Facts {
    graphql: GraphqlFact;
  }
}

interface Running extends RecordedCall<'graphql'> {
  byField: Map<string, ResolverTimes>;
  operation: Definition | null;
  byResolvers: boolean;
}

interface Definition {
  kind?: unknown;
  operation?: unknown;
  name?: { value?: unknown };
  selectionSet?: { selections?: unknown };
  loc?: { source?: { body?: unknown } };
}

const VARIABLES: PlainLimits = { depth: 5, width: 50, length: 500, total: 200 };
const DOCUMENT_LENGTH = 10_000;
const MOST_ERRORS = 20;
const MOST_FIELDS = 200;
const NAMED_FIELDS = 3;

function operationOf({ document, operationName }: GraphqlExecuted): Definition | null {
  const { definitions } = (document ?? {}) as { definitions?: unknown };
  if (!Array.isArray(definitions)) return null;
  const operations = (definitions as Definition[]).filter(({ kind }) => kind === 'OperationDefinition');
  return (
    operations.find(({ name }) => name?.value === operationName) ??
    (operationName === null || operationName === undefined ? operations[0] : undefined) ??
    null
  );
}

function typeOf(operation: Definition | null): GraphqlFact['type'] {
  const type = operation?.operation;
  return type === 'query' || type === 'mutation' || type === 'subscription' ? type : null;
}

function nameOf(operation: Definition | null): string | null {
  const name = operation?.name?.value;
  return typeof name === 'string' ? truncateText(name, 200) : null;
}

/** `importSubscribers`: an operation without a name is told apart by the fields that it asks for; null: it only spreads fragments. */
function fieldsOf(operation: Definition | null): string | null {
  const selections = operation?.selectionSet?.selections;
  if (!Array.isArray(selections)) return null;
  const names = (selections as Definition[])
    .filter(({ kind }) => kind === 'Field')
    .map((field) => nameOf(field) ?? '');
  const [first, ...others] = new Set(names);
  if (first === undefined) return null;
  const more = others.length < NAMED_FIELDS ? '' : ', …';
  return [first, ...others.slice(0, NAMED_FIELDS - 1)].join(', ') + more;
}

function sourceOf(document: unknown): string {
  const { loc } = (document ?? {}) as { loc?: { source?: { body?: unknown } } };
  const body = loc?.source?.body;
  return typeof body === 'string' ? truncateText(body, DOCUMENT_LENGTH) : '';
}

/** Errors of GraphQL wrap those that resolvers threw. */
function thrownBy(error: unknown): unknown {
  return (error as { originalError?: unknown } | null | undefined)?.originalError ?? error;
}

function pathOf(error: unknown): string {
  const { path } = (error ?? {}) as { path?: unknown };
  return Array.isArray(path) ? path.join('.') : '';
}

function keysOf(path: ResponsePath | undefined): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let at = path; at !== undefined; at = at.prev) keys.unshift(at.key);
  return keys;
}

export function observeGraphql({ tracker, findCaller }: ObserverParts): { close(): void } {
  const calls = createCallRecorder({ tracker, fact: 'graphql' });
  const resolving = new WeakMap<GraphqlResolved, { times: ResolverTimes; entry: Running; sinceMs: number }>();
  const operations: Slot<Running[]> = createSlot('graphql');
  const resolvers = createResolverWrapping();

  function begin(
    key: object,
    given: Pick<Running, 'operation' | 'byResolvers'> & { source: unknown; variables: unknown },
  ): Running | null {
    const { operation, byResolvers, source, variables } = given;
    const name = nameOf(operation);
    calls.begin(key, (_find, context) => ({
      caller:
        findCaller?.({ isOwn: true }) ?? (context.last('route') ?? context.last('layer'))?.source ?? null,
      operation: name,
      label: name ?? fieldsOf(operation),
      type: typeOf(operation),
      document: sourceOf(source),
      variables: toPlain(variables ?? null, VARIABLES),
      errors: [],
      resolvers: [],
    }));
    const recorded = calls.running(key);
    if (recorded === undefined) return null;
    const { context, fact } = recorded;
    const entry: Running = { context, fact, byField: new Map(), operation, byResolvers };
    if (fact.label !== null) context.add('routeLabel', fact.label);
    operations.set(context, [...(operations.get(context) ?? []), entry]);
    return entry;
  }

  function fail({ context, fact }: RecordedCall<'graphql'>, error: unknown, path: string): void {
    if (fact.errors.length === MOST_ERRORS) return;
    const { message } = (error ?? {}) as { message?: unknown };
    fact.errors.push({ message: truncateText(String(message ?? error), 1000), path });
    recordError(context, thrownBy(error), { origin: 'graphql' });
  }

  function start(message: GraphqlExecuted): void {
    const context = tracker.observed();
    if (context === undefined) return;
    resolvers.wrap(message.schema);
    const { document, rawVariableValues } = message;
    const operation = operationOf(message);
    // graphql 17 publishes it inside of its ES module, whose export is wrapped without knowing that.
    const known = operations
      .get(context)
      ?.some((entry) => entry.operation === operation && entry.fact.durationMs === null);
    if (operation !== null && known === true) return;
    const given = { source: document, variables: rawVariableValues, byResolvers: false };
    begin(message, { ...given, operation });
  }

  function end(message: GraphqlExecuted): void {
    const { result, error } = message;
    // A promise goes on after its call.
    if ((result === undefined && error === undefined) || isThenable(result)) return;
    const { errors } = (result ?? { errors: [error] }) as { errors?: unknown };
    calls.end(message, undefined, (fact, context) => {
      for (const each of Array.isArray(errors) ? (errors as unknown[]) : [])
        fail({ context, fact }, each, pathOf(each));
    });
  }

  /** The operation that a resolver works for; null if it has ended, or is not recorded. */
  function operationOfResolver({ operation, variableValues }: ResolveInfo): Running | null {
    const context = tracker.observed();
    if (context === undefined || typeof operation !== 'object' || operation === null) return null;
    const known = operations.get(context)?.findLast((entry) => entry.operation === operation);
    if (known !== undefined) return known.byResolvers || known.fact.durationMs === null ? known : null;
    return begin(operation, { operation, byResolvers: true, source: operation, variables: variableValues });
  }

  function resolve(message: GraphqlResolved): void {
    const entry = operationOfResolver(message.info ?? {});
    if (entry === null) return;
    const { byField, fact, context } = entry;
    const sinceMs = context.elapsedMs();
    let times = byField.get(message.field);
    if (times === undefined) {
      if (byField.size === MOST_FIELDS) return;
      times = { field: message.field, calls: 0, totalMs: 0, slowestMs: 0, failed: 0, startMs: sinceMs };
      byField.set(message.field, times);
      fact.resolvers.push(times);
    }
    times.calls++;
    resolving.set(message, { times, entry, sinceMs });
  }

  function resolved(message: GraphqlResolved): void {
    const resolver = resolving.get(message);
    if (resolver === undefined) return;
    const { times, entry, sinceMs } = resolver;
    const { context, fact, byResolvers } = entry;
    const nowMs = context.elapsedMs();
    times.totalMs += nowMs - sinceMs;
    times.slowestMs = Math.max(times.slowestMs, nowMs - sinceMs);
    if (byResolvers) fact.durationMs = nowMs - fact.startMs;
    if (message.error !== undefined) {
      times.failed++;
      if (byResolvers) fail(entry, message.error, keysOf(message.info?.path).join('.'));
    }
    resolving.delete(message);
  }

  function refuse(message: GraphqlRefused): void {
    const { query, operationName, variables, errors } = message;
    const source = { loc: { source: { body: query } } };
    const operation = { name: { value: operationName } };
    begin(message, { operation, source, variables, byResolvers: false });
    calls.end(message, undefined, (fact, context) => {
      // It did not run.
      fact.durationMs = 0;
      for (const each of errors) fail({ context, fact }, each, pathOf(each));
    });
  }

  const undo = [
    ...[graphqlChannels.execute, graphqlChannels.published].map((channel) =>
      subscribeToCalls<GraphqlExecuted>(channel, { start, end, asyncStart: end }),
    ),
    subscribeToCalls<GraphqlResolved>(graphqlChannels.resolve, {
      start: resolve,
      asyncStart: resolved,
    }),
    subscribeTo<GraphqlRefused>(graphqlChannels.refused, refuse),
    subscribeTo<GraphqlSchemaUsed>(graphqlChannels.schema, ({ schema }) => {
      resolvers.wrap(schema);
    }),
  ];
  return {
    close() {
      for (const one of undo) one();
      resolvers.close();
    },
  };
}
