/** Queries and outgoing calls that the response did not wait for: nothing reports their errors. */
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { endOf } from './shared/kept.ts';
import { count, duration } from './shared/wording.ts';

interface Started {
  startMs: number;
  durationMs: number | null;
  caller?: string | null;
}

interface Kept {
  request: object;
  database?: {
    queries: readonly (Started & { statement?: number })[];
    statements?: readonly { sql: string }[];
  };
  http_client?: { calls: readonly Started[] };
}

/** Work right after the end still belongs to the response, such as saving a session. */
const GRACE_MS = 5;
/** Work under way when the client leaves may go on; what goes on this often is repeated by a timer or a listener. */
const MANY = 3;

function after(list: readonly Started[] | undefined, endMs: number): Started[] {
  // Usually the last one started before the end.
  const last = list?.at(-1);
  if (list === undefined || last === undefined || last.startMs <= endMs) return [];
  return list.filter(({ startMs }) => startMs > endMs);
}

/** Started before the response had finished, and ended after it. */
function unfinished(list: readonly Started[] | undefined, endMs: number): Started[] {
  return list?.filter((one) => one.startMs <= endMs && endOf(one) > endMs) ?? [];
}

/** Without settings of a connection (`set time zone`), which a pool also sends to one that no query of the request waits for. */
function queriesOf(database: Kept['database']): readonly Started[] | undefined {
  const { queries, statements = [] } = database ?? {};
  return queries?.filter(({ statement = -1 }) => !/^\s*set\b/i.test(statements[statement]?.sql ?? ''));
}

function textOf(queries: readonly Started[], calls: readonly Started[]): string {
  return [
    ...(queries.length === 0 ? [] : [count(queries.length, 'query', 'queries')]),
    ...(calls.length === 0 ? [] : [count(calls.length, 'outgoing call')]),
  ].join(' and ');
}

function callerOf(work: readonly Started[]): string | null {
  return work.find(({ caller }) => typeof caller === 'string')?.caller ?? null;
}

export const workAfterResponse: FindingRule<Kept & Record<string, unknown>> = {
  name: 'work-after-response',
  needs: ['request'],
  labels: ['after the response'],
  why: 'Queries or outgoing calls in the async context of this request started, or ended, more than 5 ms after the response finished or the client left.',
  fix: "Await the work before the response if its result matters; otherwise hand it to a queue, and catch its errors. Stop timers and listeners when the client leaves (`res.on('close', …)`).",
  find({ database, http_client }, { durationMs, outcome }) {
    if (durationMs === null || (outcome !== 'finished' && outcome !== 'aborted')) return [];
    const isLeft = outcome === 'aborted';
    const panelOf = (queries: readonly Started[]) => (queries.length > 0 ? 'database' : 'http_client');
    const severity = 'info';
    const found: FindingDraft[] = [];
    const endMs = durationMs + GRACE_MS;
    const all = queriesOf(database);
    const queries = after(all, endMs);
    const calls = after(http_client?.calls, endMs);
    const last = [...queries, ...calls].reduce((most, { startMs }) => Math.max(most, startMs), 0);
    if (last > 0) {
      const sentence = `${textOf(queries, calls)} started after ${isLeft ? 'the client had left' : 'the response'}, the last one ${duration(last - durationMs)} later`;
      const goesOn = isLeft && queries.length + calls.length >= MANY;
      const place = callerOf([...queries, ...calls]);
      found.push({ severity: goesOn ? 'warn' : severity, sentence, panel: panelOf(queries), place });
    }
    if (isLeft) return found;
    const open = unfinished(all, durationMs);
    const openCalls = unfinished(http_client?.calls, durationMs);
    if (open.length + openCalls.length > 0) {
      const sentence = `${textOf(open, openCalls)} had not finished when the response was sent`;
      found.push({ severity, sentence, panel: panelOf(open), place: callerOf([...open, ...openCalls]) });
    }
    return found;
  },
};
