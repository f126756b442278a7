/** Statements and calls of a request, each with its name in a sentence. */
import { callName } from './calls.ts';
import type { Interval, Kept } from './kept.ts';
import { labelOf, rowOf } from './queries.ts';

interface Work extends Interval {
  caller: string | null;
}

interface NamedWork extends Work {
  what: string;
  panel: 'database' | 'http_client';
  anchor: string;
}

function timesOf({ startMs, durationMs, caller }: Work): Work {
  return { startMs, durationMs, caller };
}

/** The statements, then the calls. */
export function workIn({ database, http_client: client }: Partial<Kept>): NamedWork[] {
  const statements = database?.queries.map((query, index) => {
    const anchor = rowOf(index);
    return { ...timesOf(query), what: labelOf(database, query), panel: 'database' as const, anchor };
  });
  const calls = client?.calls.map((call, index) => {
    const anchor = `c${index + 1}`;
    return { ...timesOf(call), what: callName(call), panel: 'http_client' as const, anchor };
  });
  return [...(statements ?? []), ...(calls ?? [])];
}
