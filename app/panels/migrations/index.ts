/**
 * The migrations panel: what the owner's migration-version table said while the request ran.
 *
 * The fact is read beside each request, so the panel only shortens it: of the executed ones the newest are kept by name
 * and the rest counted, as this lies in every profile.
 */
import type { Context } from '../../profiler/context.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel, PanelPreview, PanelSummary } from '../../profiler/panel.ts';
import { firstRows } from '../shared/preview.ts';

type Fact = Facts['migrations'];

export interface MigrationsPanelData {
  state: Fact['state'];
  schema: string;
  table: string;
  /** Executed ones in all. */
  executedCount: number;
  /** The newest, newest first. */
  executed: Fact['executed'];
  pending: string[];
  unknown: string[];
  /** Names left out of `pending` and `unknown`. */
  cut: number;
  durationMs: number;
  message: string | null;
}

const NEWEST_KEPT = 12;
const NAMES_KEPT = 100;

function collect(context: Context): MigrationsPanelData | null {
  const fact = context.last('migrations');
  if (fact === undefined) return null;
  const { state, schema, table, executed, pending, unknown, durationMs, message } = fact;
  return {
    state,
    schema,
    table,
    executedCount: executed.length,
    executed: executed.slice(-NEWEST_KEPT).reverse(),
    pending: pending.slice(0, NAMES_KEPT),
    unknown: unknown.slice(0, NAMES_KEPT),
    cut: Math.max(0, pending.length - NAMES_KEPT) + Math.max(0, unknown.length - NAMES_KEPT),
    durationMs,
    message,
  };
}

/** What stands in a table that was read. */
function wasRead({ state }: Pick<MigrationsPanelData, 'state'>): boolean {
  return state === 'ok' || state === 'behind' || state === 'ahead';
}

function summary(data: MigrationsPanelData): PanelSummary {
  const { state, pending, unknown, executedCount } = data;
  if (pending.length > 0) return { text: `${pending.length} pending`, tone: 'warn', count: pending.length };
  if (unknown.length > 0) return { text: `${unknown.length} unknown`, tone: 'warn', count: unknown.length };
  if (state === 'missing') return { text: 'no table', tone: 'plain' };
  return wasRead(data)
    ? { text: String(executedCount), tone: 'plain', count: executedCount }
    : { text: state, tone: 'warn' };
}

function preview(data: MigrationsPanelData): PanelPreview {
  const { table, executedCount, pending, unknown, message } = data;
  return {
    facts: [
      ['Table', table],
      ...(wasRead(data) ? [['Executed', String(executedCount)] as const] : []),
      ...(message === null ? [] : [['State', message] as const]),
    ],
    ...firstRows(
      [
        ...pending.map((name) => ({ text: name, note: 'pending' })),
        ...unknown.map((name) => ({ text: name, note: 'executed, and not among the files' })),
      ],
      (row) => ({ ...row, tone: 'warn' }),
    ),
  };
}

export function createMigrationsPanel(): Panel<MigrationsPanelData> {
  return { name: 'migrations', title: 'Migrations', collect, summary, preview };
}
