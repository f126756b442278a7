/**
 * The Migrations panel of the service, which adds it as any application adds a panel of its own: the state of the owner's migrations
 * while the request ran. It is read beside the request and never in its way; the final profile waits for it within the recorder's limit.
 */
import type { Context } from '../profiler/record/context.ts';
import type { FindingRule } from '../profiler/read/finding-rule.ts';
import type { EmptyState, Panel } from '../profiler/panel.ts';
import type { PanelSummary, ProfileHead } from '../profiler/profile.ts';
import type { Presentation, Row, Section } from '../profiler/read/rows.ts';
import { count } from '../view-helpers/numbers.ts';
import type { MigrationFact, MigrationReader } from './database/migration-state.ts';

declare module '../profiler/record/facts.ts' {
  interface Facts {
    migrations: MigrationFact;
  }
}

export interface MigrationsData {
  state: MigrationFact['state'];
  schema: string;
  table: string;
  executedCount: number;
  executed: MigrationFact['executed'];
  pending: string[];
  unknown: string[];
  dropped: number;
  durationMs: number;
  message: string | null;
}

/** Estimated bytes of one executed migration in memory. */
const BYTES_PER_MIGRATION = 150;

/** Every profile stores it, so only the newest executed migrations are named; the rest are counted. */
const NEWEST_KEPT = 12;
const NAMES_KEPT = 100;

const NAMED = 3;
const LONGEST_NAME = 100;

export function appendMigrations(context: Context, reader: Pick<MigrationReader, 'read'>): void {
  context.expect(
    reader.read().then((fact) => {
      context.add('migrations', fact, fact.executed.length * BYTES_PER_MIGRATION);
    }),
  );
}

function wasRead({ state }: Pick<MigrationsData, 'state'>): boolean {
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
  if (!wasRead(data)) return [message ?? `The table ${name} can't be read.`];
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

function presentMigrations(data: MigrationsData): Presentation {
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

function noMigrations({ state }: ProfileHead): EmptyState {
  return {
    what: 'The migration table was not read for this request.',
    why:
      state === 'running'
        ? 'The request is still running: the database may not have responded yet.'
        : 'There is no database, or it responded after this profile was finished.',
  };
}

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

function namesOf(names: readonly string[]): string {
  const more = names.length - NAMED;
  const named = names.slice(0, NAMED).map((name) => name.slice(0, LONGEST_NAME));
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const pendingMigrations: FindingRule<{ migrations: MigrationsData }> = {
  name: 'pending-migrations',
  needs: ['migrations'],
  labels: ['pending migration'],
  why: 'The migrations table was read alongside the request and compared with the files in the migrations folder.',
  fix: 'Run them (`npx knex migrate:latest`) as a step of the release, before the code that needs them starts.',
  find({ migrations: { pending, table } }) {
    if (pending.length === 0) return [];
    const verb = pending.length === 1 ? '1 migration is' : `${pending.length} migrations are`;
    const sentence = `${verb} pending: ${namesOf(pending)}`;
    return [{ severity: 'warn', sentence, anchor: 'pending', place: table.slice(0, 100) }];
  },
};

const unknownMigrations: FindingRule<{ migrations: MigrationsData }> = {
  name: 'unknown-migrations',
  needs: ['migrations'],
  labels: ['unknown migration'],
  why: 'The migrations table lists migrations that have no file in the migrations folder.',
  fix: 'Start the release that has them. After switching branches, roll them back on the branch that has them, or start with a fresh database.',
  find({ migrations: { unknown, table } }) {
    if (unknown.length === 0) return [];
    const noun = unknown.length === 1 ? '1 migration' : `${unknown.length} migrations`;
    const sentence = `The database has ${noun} that this code does not have: ${namesOf(unknown)}`;
    return [{ severity: 'info', sentence, anchor: 'unknown', place: table.slice(0, 100) }];
  },
};

export const migrationRules: readonly FindingRule[] = [pendingMigrations, unknownMigrations];
