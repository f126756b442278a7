/** `postgres`, by the channel of channels/postgres.ts. */
import { type PostgresQuery, type PostgresSent, postgresChannels } from './channels/postgres.ts';
import type { Driver } from './drivers.ts';

/** Its own query for array types on each new connection. */
const OF_THE_LIBRARY = /^\s*select b\.oid, b\.typarray\b/;

/** Until it is sent, when its fragments are put together. */
function writtenText({ strings }: PostgresSent): string {
  return strings.reduce((text, part, at) => (at === 0 ? part : `${text}$${at}${part}`), '');
}

function valueOf(value: unknown): unknown {
  const isTyped = typeof value === 'object' && value !== null && 'value' in value && 'type' in value;
  return isTyped ? value.value : value;
}

/** Sent values are text; separate arguments are recorded as passed. */
function sentText({ string, parameters, args }: PostgresSent): { sql?: string; bindings?: unknown } {
  if (typeof string !== 'string') return {};
  const sent: readonly unknown[] = Array.isArray(parameters) ? parameters : [];
  const values = args.length === sent.length ? args : sent;
  return { sql: string, bindings: values.map(valueOf) };
}

function rowsOf(result: unknown): number | null {
  const { count } = (result ?? {}) as { count?: unknown };
  return typeof count === 'number' ? count : Array.isArray(result) ? result.length : null;
}

export const postgresDriver: Driver<PostgresQuery> = {
  system: 'postgresql',
  library: 'postgres',
  query: postgresChannels.query,
  describe: ({ query }) =>
    OF_THE_LIBRARY.test(query.strings[0] ?? '')
      ? null
      : { sql: writtenText(query), bindings: query.args, stack: () => query.origin },
  outcome({ query, result, error }) {
    const connection = typeof query.state === 'object' ? query.state : null;
    return { rows: rowsOf(result), error, connection, ...sentText(query) };
  },
};
