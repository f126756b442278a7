/** The panel of queries: their durations, their lines, and repeats. */
import type { Panel } from '../../profiler/panel.ts';
import type { PanelSummary } from '../../profiler/profile.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { labelOfStatement } from '../shared/about-statement.ts';
import { isControl } from '../shared/statements.ts';
import { type Collecting, collectQueries } from './collect.ts';
import type { DatabaseData, KeptDatabase } from './data.ts';
import { drawQueries } from './cards.ts';
import { presentQueries } from './present.ts';
import { querySpans } from './spans.ts';

export interface DatabasePanelOptions {
  /** Duration from which a query is called slow. */
  slowMs?: number;
  /** The database libraries that are observed in this process. */
  watched?: () => readonly { name: string; version: string | null }[];
  /** Source around a place in own code, `src/a.ts:41`; null if it may not or can't be read. */
  excerptAt?: Collecting['excerptAt'];
  sourceAbove?: Collecting['sourceAbove'];
}

const SLOW_MS = 100;

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
  slowMs = SLOW_MS,
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
    collect: (context) => collectQueries(context, { slowMs, excerptAt, sourceAbove }),
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
    rows: (data, from) => presentQueries(data, from, slowMs),
    view: { kind: 'db', model: drawQueries },
  };
}
