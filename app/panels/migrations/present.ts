import type { EmptyState } from '../../profiler/panel.ts';
import type { ProfileHead } from '../../profiler/profile.ts';
import type { Presentation, Row, Section } from '../../profiler/rows.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { MigrationsData } from './data.ts';

const { count } = numberHelpers;

/** Whether the table could be read. */
export function wasRead({ state }: Pick<MigrationsData, 'state'>): boolean {
  return state === 'ok' || state === 'behind' || state === 'ahead';
}

function leadOf(data: MigrationsData): string[] {
  const { state, pending, schema, table, message } = data;
  const name = `${schema}.${table}`;
  if (state === 'missing') {
    const waiting =
      pending.length > 0
        ? `${count(pending.length, 'migration is', 'migrations are')} in the folder.`
        : 'The folder of migrations is empty.';
    return [`The table ${name} does not exist: no migration has run in this schema.`, waiting];
  }
  if (!wasRead(data)) {
    const why =
      state === 'locked' ? 'it is locked, or the database was too slow' : 'the database did not respond';
    return [`The table ${name} could not be read: ${why}.`, ...(message === null ? [] : [message])];
  }
  return [`Table ${name}, read while the request ran.`, ...(message === null ? [] : [message])];
}

function namesSection(id: string, title: string, names: readonly string[], note: string): Section {
  return {
    id,
    title,
    note: `${count(names.length)}, ${note}`,
    rows: names.map((text, index): Row => ({
      id: `${id}-${index + 1}`,
      text,
      tone: 'warn',
      note: id === 'unknown' ? 'executed, but not among the files' : id,
    })),
    columns: { text: 'Migration', note: 'State' },
    card: 'in order',
  };
}

export function presentMigrations(data: MigrationsData): Presentation {
  const { executed, executedCount, pending, unknown, dropped, durationMs } = data;
  return {
    lead: leadOf(data),
    figures: wasRead(data)
      ? [
          { label: 'Executed', value: executedCount },
          { label: 'Pending', value: pending.length },
          { label: 'Unknown', value: unknown.length },
          { label: 'Reading the table', value: durationMs, unit: 'ms' },
        ]
      : [],
    sections: [
      namesSection('pending', 'Pending', pending, 'in the folder, not in the table; they run in this order'),
      {
        ...namesSection(
          'unknown',
          'Unknown',
          unknown,
          'in the table, not in the folder: the database is ahead of this code',
        ),
        left: dropped,
      },
      {
        id: 'executed',
        title: 'Executed',
        note:
          executedCount > executed.length
            ? `the newest ${count(executed.length)} of ${count(executedCount)}`
            : `${count(executedCount)}, newest first`,
        unit: 'time',
        columns: { text: 'Migration', number: 'Ran at' },
        rows: executed.map(({ name, batch, at }, index) => ({
          id: `executed-${index + 1}`,
          text: name,
          number: at,
          fields: [{ label: 'Batch', value: batch, unit: 'count' }],
        })),
      },
    ],
  };
}

export function noMigrations({ state }: ProfileHead): EmptyState {
  return {
    what: 'The migration table was not read for this request.',
    why:
      state === 'running'
        ? 'The request is still running: the database may not have responded yet.'
        : 'There is no database, or it responded after this profile was finished.',
  };
}
