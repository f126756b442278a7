/** The panel of queries: their durations, their lines, and repeats. */
import { isControl } from '../../profiler/transaction-sql.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { PanelSummary } from '../../profiler/profile.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { labelOfStatement } from '../shared/about-statement.ts';
import { type Collecting, collectQueries } from './collect.ts';
import type { DatabaseData, KeptDatabase, DatabaseQuery } from './data.ts';
import { drawQueries } from './cards.ts';
import { presentQueries } from './present.ts';
import { lasting, SHORTEST_WAIT_MS, type SpanDraft, type SpanPart } from '../../profiler/read/span.ts';
import { unkeptSpans } from '../shared/unkept.ts';

/** The wait for a lock, then what is left; undefined if it waited for none. */
function partsOf({ startMs, lockedBy }: DatabaseQuery, durationMs: number): SpanPart[] | undefined {
  const waitedMs = Math.min(lockedBy?.waitedMs ?? 0, durationMs);
  if (waitedMs < SHORTEST_WAIT_MS) return undefined;
  return [
    { kind: 'lock', startMs, durationMs: waitedMs },
    { kind: 'db', startMs: startMs + waitedMs, durationMs: durationMs - waitedMs },
  ];
}

function querySpans({ statements, queries, unkept }: KeptDatabase, endMs: number): SpanDraft[] {
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
      ...(isControl(sql) ? { count: 0 } : {}),
      ...(query.error === null ? {} : { failed: 'failed' }),
      // Its libraries run statements without a break.
      ...(statement?.system === 'sqlite' ? { ranMs: durationMs } : {}),
    });
  }
  const isSync = statements.every(({ system }) => system === 'sqlite');
  drafts.push(...unkeptSpans(unkept, { kind: 'db', noun: 'queries', panel: 'database', isSync }));
  return drafts;
}

export interface DatabasePanelOptions {
  watched?: () => readonly { name: string; version: string | null }[];
  excerptAt?: Collecting['excerptAt'];
  sourceAbove?: Collecting['sourceAbove'];
}

const HAND_OVER =
  "Libraries in a bundle, and ES modules that were loaded before the profiler, are not detected. Pass them to profiler.observe('postgres', sql), or " +
  'start the application with node --import express-hindsight/register. See docs/libraries.md.';

function watchedSentence(libraries: readonly { name: string; version: string | null }[]): string {
  if (libraries.length === 0) return 'No supported database library was found in this process.';
  const names = libraries.map(({ name, version }) => (version === null ? name : `${name} ${version}`));
  return `Recorded in this process: queries through ${names.join(', ')}, except the profiler’s own.`;
}

function summary({ totals, groups, queries, statements, unkept }: KeptDatabase): PanelSummary {
  const kept = queries.filter(({ statement }) => !isControl(statements[statement]?.sql ?? '')).length;
  const count = kept + (unkept?.count ?? 0);
  const text = numberHelpers.count(count);
  if (groups.some(({ kind }) => kind === 'n+1')) return { text: `N+1 · ${text}`, tone: 'bad', count };
  const isWrong = totals.failed > 0 || groups.some(({ kind }) => kind === 'loop');
  return { text, tone: isWrong ? 'warn' : 'plain', count };
}

export function createDatabasePanel({
  excerptAt = () => null,
  sourceAbove = () => null,
  watched = () => [],
}: DatabasePanelOptions = {}): Panel<DatabaseData, KeptDatabase> {
  return {
    name: 'database',
    title: 'Database',
    menu: { key: 'd', rank: 20, label: 'queries', summary },
    recorded: {
      facts: { query: 'queries' },
      searched: ['sql', 'bindings', 'error'],
      spans: (kept, { endMs }) => querySpans(kept, endMs),
      nothing: () => ({
        what: 'This request ran no queries.',
        why: watchedSentence(watched()),
        todo: HAND_OVER,
      }),
    },
    collect: (context) => collectQueries(context, { excerptAt, sourceAbove }),
    data: ({ collected: kept }) =>
      kept === null
        ? null
        : {
            ...kept,
            statements: kept.statements.map((statement) => ({
              ...statement,
              label: labelOfStatement(statement),
            })),
          },
    rows: presentQueries,
    view: { kind: 'db', model: drawQueries },
  };
}
