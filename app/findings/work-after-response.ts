/** Queries and outgoing calls that began when the answer was out: nobody waits for them, and nobody hears of their errors. */
import type { FindingRule } from '../profiler/finding.ts';
import { counted, duration } from './shared/wording.ts';

interface Started {
  startMs: number;
  caller?: string | null;
}

interface Kept {
  request: object;
  database?: { queries: readonly Started[] };
  http_client?: { calls: readonly Started[] };
}

/** What one turn after the end is still part of the answer: its own close, a session that is saved. */
const GRACE_MS = 5;

function after(list: readonly Started[] | undefined, endMs: number): Started[] {
  // Mostly the last one began before the end.
  const last = list?.at(-1);
  if (list === undefined || last === undefined || last.startMs <= endMs) return [];
  return list.filter(({ startMs }) => startMs > endMs);
}

export const workAfterResponse: FindingRule<Kept & Record<string, unknown>> = {
  name: 'work-after-response',
  needs: ['request'],
  labels: ['after the answer'],
  known:
    'Statements or outgoing calls of the asynchronous context of this request began more than 5 ms after its answer had ended.',
  mends: 'Await it before the answer where it matters; else hand it to a queue, and catch its errors.',
  find({ database, http_client }, { durationMs }) {
    if (durationMs === null) return [];
    const endMs = durationMs + GRACE_MS;
    const queries = after(database?.queries, endMs);
    const calls = after(http_client?.calls, endMs);
    const last = [...queries, ...calls].reduce((most, { startMs }) => Math.max(most, startMs), 0);
    if (last === 0) return [];
    const what = [
      ...(queries.length === 0 ? [] : [counted(queries.length, 'query', 'queries')]),
      ...(calls.length === 0 ? [] : [counted(calls.length, 'outgoing call')]),
    ].join(' and ');
    return [
      {
        label: 'after the answer',
        severity: 'info',
        sentence: `${what} began after the answer was out, the last ${duration(last - durationMs)} later`,
        panel: queries.length > 0 ? 'database' : 'http_client',
      },
    ];
  },
};
