/**
 * graphql 17 publishes `graphql:execute` by itself; 16 gets the same here. Resolvers are wrapped in the schema once it is executed, in
 * both: `graphql:resolve` of 17 reports every field, also those without a resolver, which costs more than these fields. An ES module that
 * imported graphql 16 before us uses the original `execute`; graphql still validates the schema, which shows us the schema.
 */
import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { createUndoList } from '../undo-list.ts';
import { isNativePromise, publishCalls, type Traced } from './trace.ts';
import { wrapCalls } from './wrap-method.ts';

/** The arguments of `execute`, under the names that graphql 17 gives them. */
export interface GraphqlExecuted extends Traced {
  schema?: unknown;
  document?: unknown;
  operationName?: unknown;
  rawVariableValues?: unknown;
}

export interface GraphqlResolved extends Traced {
  field: string;
  info?: ResolveInfo | undefined;
}

export interface ResolveInfo {
  operation?: unknown;
  variableValues?: unknown;
  path?: ResponsePath | undefined;
}

export interface ResponsePath {
  key: string | number;
  prev?: ResponsePath | undefined;
}

export interface GraphqlRefused {
  query?: unknown;
  operationName?: unknown;
  variables?: unknown;
  errors: readonly unknown[];
}

export interface GraphqlSchemaUsed {
  schema: unknown;
}

interface Field {
  resolve?: unknown;
}

interface ObjectType {
  name?: unknown;
  getFields?: () => Record<string, Field>;
}

interface Schema {
  getTypeMap?: () => Record<string, ObjectType>;
}

export const graphqlChannels = {
  execute: tracingChannel('express-hindsight:graphql:execute'),
  published: tracingChannel('graphql:execute'),
  resolve: tracingChannel('express-hindsight:graphql:resolve'),
  schema: channel('express-hindsight:graphql:schema'),
  refused: channel('express-hindsight:graphql:refused'),
};

function wrapResolvers(schema: Schema): (() => void)[] {
  const undo: (() => void)[] = [];
  for (const [name, type] of Object.entries(schema.getTypeMap?.() ?? {})) {
    if (name.startsWith('__') || typeof type.getFields !== 'function') continue;
    for (const [field, definition] of Object.entries(type.getFields()))
      if (typeof definition.resolve === 'function') {
        const restore = publishCalls(
          definition,
          'resolve',
          graphqlChannels.resolve,
          (_field, args): GraphqlResolved => ({
            field: `${name}.${field}`,
            info: args[3] as ResolveInfo | undefined,
          }),
          { isFollowed: isNativePromise },
        );
        if (restore !== null) undo.push(restore);
      }
  }
  return undo;
}

/** Wraps the resolvers of schemas as they are executed; unused schemas can be collected. */
export function createResolverWrapping(): { wrap(schema: unknown): void; close(): void } {
  const wrapped = new WeakSet<object>();
  const changed = createUndoList();
  return {
    wrap(schema) {
      if (typeof schema !== 'object' || schema === null || wrapped.has(schema)) return;
      wrapped.add(schema);
      const undo = wrapResolvers(schema);
      changed.add(schema, () => {
        for (const one of undo) one();
      });
    },
    close: changed.undo,
  };
}

const executePatch: LibraryPatch = {
  name: 'graphql',
  file: 'execution/execute.js',
  module: { file: 'execution/execute.mjs', names: ['execute'] },
  patch(exports) {
    if (
      (exports as { experimentalExecuteIncrementally?: unknown }).experimentalExecuteIncrementally !==
      undefined
    )
      return () => undefined;
    return publishCalls(
      exports,
      'execute',
      graphqlChannels.execute,
      (_exports, [given]): GraphqlExecuted | null => {
        if (typeof given !== 'object' || given === null) return null;
        const { schema, document, operationName, variableValues } = given as GraphqlExecuted & {
          variableValues?: unknown;
        };
        return { schema, document, operationName, rawVariableValues: variableValues };
      },
    );
  },
};

const schemaPatch: LibraryPatch = {
  name: 'graphql',
  file: 'type/validate.js',
  patch: (exports) =>
    wrapCalls(exports, 'assertValidSchema', (call, _exports, [schema]) => {
      graphqlChannels.schema.publish({ schema } satisfies GraphqlSchemaUsed);
      return call();
    }),
};

export const graphqlPatches: readonly LibraryPatch[] = [executePatch, schemaPatch];

interface RefusedRequest {
  request: { query?: unknown; operationName?: unknown; variables?: unknown };
  operation?: unknown;
  errors: readonly unknown[];
}

export interface ApolloPlugin {
  requestDidStart(): Promise<{ didEncounterErrors(refused: RefusedRequest): Promise<void> }>;
  invalidRequestWasReceived(refused: { error: unknown }): Promise<void>;
}

function publishRefused(message: GraphqlRefused): void {
  if (graphqlChannels.refused.hasSubscribers) graphqlChannels.refused.publish(message);
}

function onErrors({ request, operation, errors }: RefusedRequest): Promise<void> {
  const { query, operationName, variables } = request;
  if (operation === undefined || operation === null)
    publishRefused({ query, operationName, variables, errors });
  return Promise.resolve();
}

/** Goes into `plugins` of Apollo Server, of which it needs no package: syntax and validation errors, unknown operations, and requests that Apollo takes for forged are recorded. */
export function apolloPlugin(): ApolloPlugin {
  return {
    requestDidStart: () => Promise.resolve({ didEncounterErrors: onErrors }),
    invalidRequestWasReceived({ error }) {
      publishRefused({ errors: [error] });
      return Promise.resolve();
    },
  };
}
