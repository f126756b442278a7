/**
 * The migrations panel: the owner's migration table as it was while the request ran. Every profile stores it, so only the newest executed
 * migrations are named; the rest are counted.
 */
import type { Context } from '../../profiler/context.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { PanelSummary } from '../../profiler/profile.ts';
import type { MigrationsData } from './data.ts';
import { noMigrations, presentMigrations, wasRead } from './present.ts';

const NEWEST_KEPT = 12;
const NAMES_KEPT = 100;

function collect(context: Context): MigrationsData | null {
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
    dropped: Math.max(0, pending.length - NAMES_KEPT) + Math.max(0, unknown.length - NAMES_KEPT),
    durationMs,
    message,
  };
}

function summary(data: MigrationsData): PanelSummary {
  const { state, pending, unknown, executedCount } = data;
  if (pending.length > 0) return { text: `${pending.length} pending`, tone: 'warn', count: pending.length };
  if (unknown.length > 0) return { text: `${unknown.length} unknown`, tone: 'warn', count: unknown.length };
  if (state === 'missing') return { text: 'no table', tone: 'plain' };
  return wasRead(data)
    ? { text: String(executedCount), tone: 'plain', count: executedCount }
    : { text: state, tone: 'warn' };
}

export const migrationsPanel: Panel<MigrationsData> = {
  name: 'migrations',
  title: 'Migrations',
  menu: { group: 'process', key: 'm', onlyWhenWrong: true, summary },
  recorded: { nothing: noMigrations },
  collect,
  rows: presentMigrations,
};
