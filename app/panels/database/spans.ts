import { lasting, SHORTEST_WAIT_MS, type SpanDraft, type SpanPart } from '../../profiler/span.ts';
import { unkeptSpans } from '../shared/unkept.ts';
import { labelOfStatement } from '../shared/about-statement.ts';
import type { DatabaseQuery, KeptDatabase } from './data.ts';

/** The wait for a lock, then what is left; undefined if it waited for none. */
function partsOf({ startMs, lockedBy }: DatabaseQuery, durationMs: number): SpanPart[] | undefined {
  const waitedMs = Math.min(lockedBy?.waitedMs ?? 0, durationMs);
  if (waitedMs < SHORTEST_WAIT_MS) return undefined;
  return [
    { kind: 'lock', startMs, durationMs: waitedMs },
    { kind: 'db', startMs: startMs + waitedMs, durationMs: durationMs - waitedMs },
  ];
}

export function querySpans({ statements, queries, unkept }: KeptDatabase, endMs: number): SpanDraft[] {
  const drafts: SpanDraft[] = [];
  for (const [index, query] of queries.entries()) {
    const statement = statements[query.statement];
    const sql = statement?.sql ?? '';
    const anchor = query.group === null ? `q${index + 1}` : `g${query.group + 1}`;
    if (query.waitMs >= SHORTEST_WAIT_MS) {
      // A wait that no statement followed is a row of its own, from when it began.
      const durationMs = sql === '' ? query.waitMs : Math.min(query.waitMs, query.startMs);
      drafts.push({
        kind: 'connection',
        label: 'waiting for a connection',
        startMs: sql === '' ? query.startMs : query.startMs - durationMs,
        durationMs,
        panel: 'database',
        anchor,
        ...(sql === '' && query.error !== null ? { failed: 'failed' } : {}),
      });
      if (sql === '') continue;
    }
    const durationMs = lasting(query.startMs, query.durationMs, endMs);
    const parts = partsOf(query, durationMs);
    drafts.push({
      kind: 'db',
      label: statement === undefined ? '' : labelOfStatement(statement),
      startMs: query.startMs,
      durationMs,
      panel: 'database',
      anchor,
      ...(parts === undefined ? {} : { parts }),
      ...(query.error === null ? {} : { failed: 'failed' }),
      // Its libraries run statements without a break.
      ...(statement?.system === 'sqlite' ? { ranMs: durationMs } : {}),
    });
  }
  drafts.push(...unkeptSpans(unkept, { kind: 'db', noun: 'queries', panel: 'database' }));
  return drafts;
}
