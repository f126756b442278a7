/** The profiles that this process stored, lost and still buffers, as page, JSON or Markdown. */
import type { Health } from '../../profiler/health.ts';
import type { LedgerCounts } from '../../profiler/record/ledger.ts';
import { urls } from '../../urls.ts';
import { blocks, code, type Column, heading, prose, table } from '../../view-helpers/markdown.ts';
import { createAnswers, type Forms, jsonForm } from './respond.ts';
import type { PageServices } from './page-services.ts';

const COLUMNS = ['Application', 'Profiler’s own pages'] as const;

interface HealthRow {
  label: string;
  isLost: boolean;
  counts: readonly number[];
}

function rowsOf(parts: readonly LedgerCounts[]): HealthRow[] {
  const row = (label: string, of: (counts: LedgerCounts) => number, isLost = false): HealthRow => ({
    label,
    isLost,
    counts: parts.map(of),
  });
  const reasons = (of: (counts: LedgerCounts) => Record<string, number>, prefix: string): HealthRow[] =>
    [...new Set(parts.flatMap((counts) => Object.keys(of(counts))))].map((reason) =>
      row(`${prefix}: ${reason}`, (counts) => of(counts)[reason] ?? 0, prefix === 'Dropped'),
    );
  return [
    row('Tokens', ({ tokens }) => tokens),
    row('Stored', ({ stored }) => stored),
    row('Waiting to be stored', ({ waiting }) => waiting),
    row('Running', ({ running }) => running),
    ...reasons(({ dropped }) => dropped, 'Dropped'),
    ...reasons(({ leftOut }) => leftOut, 'Not stored'),
  ];
}

function countsOf({ application, profiler }: Health): HealthRow[] {
  return rowsOf([application, profiler]);
}

function exportSentence({ exported }: Health): string[] {
  if (exported === null) return [];
  const { given, sent, leftOut, dropped, pending } = exported;
  const lost = Object.entries(dropped).map(([reason, count]) => `, ${count} dropped (${prose(reason)})`);
  return [
    `Export to OpenTelemetry: ${given} profiles; ${sent} sent, ${leftOut} error pages and own pages not sent, ${pending} waiting${lost.join('')}.`,
  ];
}

function healthMarkdown(health: Health): string {
  const { process, storage } = health;
  const columns = COLUMNS.map((title, index): Column<HealthRow> => ({
    title,
    value: ({ counts }) => String(counts[index] ?? 0),
    plain: true,
  }));
  return `${blocks([
    heading(1, 'Health'),
    `Process ${code(process)}; profiles in ${prose(storage.name)}${storage.failing ? ', failing' : ''}.`,
    ...(storage.notice === null ? [] : [prose(storage.notice)]),
    table([{ title: 'Tokens', value: ({ label }) => label, plain: true }, ...columns], countsOf(health)),
    ...exportSentence(health),
  ])}\n`;
}

export function createHealthController(services: PageServices): { health: Forms } {
  const { html, inForms } = createAnswers(services);
  return {
    health: inForms(services.health, {
      page: (page, health) =>
        html(page, 'profiler/health', {
          title: 'Health',
          health,
          columns: COLUMNS,
          /** The first row is the sum of the others. */
          rows: countsOf(health),
          json: urls.healthJson(),
        }),
      json: (health) => jsonForm('health', health),
      markdown: healthMarkdown,
    }),
  };
}
