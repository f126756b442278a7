/** `postgres` -> facts `query`, by the channel of channels/postgres.ts. */
import { type PostgresQuery, type PostgresSent, postgresChannels } from './channels/postgres.ts';
import type { QueryRecorder, RunningQuery } from './queries.ts';
import { subscribeToCalls } from './subscribe.ts';

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

export function observePostgres({ queries }: { queries: QueryRecorder }): { close(): void } {
  const running = new WeakMap<PostgresQuery, RunningQuery>();
  const undo = subscribeToCalls<PostgresQuery>(postgresChannels.query, {
    start(message) {
      if (OF_THE_LIBRARY.test(message.query.strings[0] ?? '')) return;
      const query = queries.start({
        system: 'postgresql',
        sql: writtenText(message.query),
        bindings: message.query.args,
        library: 'postgres',
        stack: () => message.query.origin,
      });
      if (query !== null) running.set(message, query);
    },
    asyncStart(message) {
      const query = running.get(message);
      if (query === undefined) return;
      running.delete(message);
      const { result, error } = message;
      const { state } = message.query;
      const connection = typeof state === 'object' ? state : null;
      queries.end(query, { rows: rowsOf(result), error, connection, ...sentText(message.query) });
    },
  });
  return { close: undo };
}
