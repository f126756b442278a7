import { lasting, SHORTEST_WAIT_MS, type SpanDraft } from '../../profiler/span.ts';
import { unkeptSpans } from '../shared/unkept.ts';
import { labelOfStatement } from '../shared/statements.ts';
import type { KeptDatabase } from './data.ts';

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
        kind: 'wait',
        label: 'waiting for a connection',
        startMs: sql === '' ? query.startMs : query.startMs - durationMs,
        durationMs,
        panel: 'database',
        anchor,
        reason: 'pool',
      });
      if (sql === '') continue;
    }
    drafts.push({
      kind: 'db',
      label: statement === undefined ? '' : labelOfStatement(statement),
      startMs: query.startMs,
      durationMs: lasting(query.startMs, query.durationMs, endMs),
      panel: 'database',
      anchor,
    });
  }
  drafts.push(...unkeptSpans(unkept, { kind: 'db', noun: 'queries', panel: 'database' }));
  return drafts;
}
