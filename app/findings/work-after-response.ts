/** Queries and outgoing calls that started after the response: nothing waits for them or reports their errors. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { count, duration } from './shared/wording.ts';

interface Started {
  startMs: number;
  caller?: string | null;
}

interface Kept {
  request: object;
  database?: { queries: readonly Started[] };
  http_client?: { calls: readonly Started[] };
}

/** Work right after the end still belongs to the response, such as saving a session. */
const GRACE_MS = 5;

function after(list: readonly Started[] | undefined, endMs: number): Started[] {
  // Usually the last one started before the end.
  const last = list?.at(-1);
  if (list === undefined || last === undefined || last.startMs <= endMs) return [];
  return list.filter(({ startMs }) => startMs > endMs);
}

export const workAfterResponse: FindingRule<Kept & Record<string, unknown>> = {
  name: 'work-after-response',
  needs: ['request'],
  labels: ['after the response'],
  why: 'Queries or outgoing calls in the async context of this request started more than 5 ms after the response finished.',
  fix: 'Await the work before the response if its result matters; otherwise hand it to a queue, and catch its errors.',
  find({ database, http_client }, { durationMs }) {
    if (durationMs === null) return [];
    const endMs = durationMs + GRACE_MS;
    const queries = after(database?.queries, endMs);
    const calls = after(http_client?.calls, endMs);
    const last = [...queries, ...calls].reduce((most, { startMs }) => Math.max(most, startMs), 0);
    if (last === 0) return [];
    const what = [
      ...(queries.length === 0 ? [] : [count(queries.length, 'query', 'queries')]),
      ...(calls.length === 0 ? [] : [count(calls.length, 'outgoing call')]),
    ].join(' and ');
    return [
      {
        label: 'after the response',
        severity: 'info',
        sentence: `${what} started after the response, the last one ${duration(last - durationMs)} later`,
        panel: queries.length > 0 ? 'database' : 'http_client',
      },
    ];
  },
};
