/**
 * The door of Apollo Server: a plugin that records the operations that it refuses before they run. Those that run are recorded through
 * `graphql`. Needs no package of Apollo.
 */
import { type GraphqlRefused, graphqlChannels } from '../observe/channels/graphql.ts';

interface RefusedRequest {
  request: { query?: unknown; operationName?: unknown; variables?: unknown };
  operation?: unknown;
  errors: readonly unknown[];
}

export interface ApolloPlugin {
  requestDidStart(): Promise<{ didEncounterErrors(refused: RefusedRequest): Promise<void> }>;
  invalidRequestWasReceived(refused: { error: unknown }): Promise<void>;
}

function publish(message: GraphqlRefused): void {
  if (graphqlChannels.refused.hasSubscribers) graphqlChannels.refused.publish(message);
}

function onErrors({ request, operation, errors }: RefusedRequest): Promise<void> {
  const { query, operationName, variables } = request;
  if (operation === undefined || operation === null) publish({ query, operationName, variables, errors });
  return Promise.resolve();
}

/** Goes into `plugins` of the server: syntax and validation errors, unknown operations, and requests that Apollo takes for forged are recorded. */
export function apolloPlugin(): ApolloPlugin {
  return {
    requestDidStart: () => Promise.resolve({ didEncounterErrors: onErrors }),
    invalidRequestWasReceived({ error }) {
      publish({ errors: [error] });
      return Promise.resolve();
    },
  };
}
