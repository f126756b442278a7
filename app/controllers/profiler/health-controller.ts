/** What the profiler stored, lost and still has in this process, as page or JSON. */
import type { Health } from '../../profiler/health.ts';
import type { LedgerCounts } from '../../profiler/ledger.ts';
import { urls } from '../../urls.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { createRespond, HTML, JSON_TYPE } from './respond.ts';

/** Version of the JSON form. */
const HEALTH_VERSION = 1;

interface HealthRow {
  label: string;
  /** What is lost is a warning. */
  isLost: boolean;
  counts: readonly number[];
}

export interface HealthModel {
  title: string;
  health: Health;
  columns: readonly string[];
  /** The first row is the sum of the others. */
  rows: readonly HealthRow[];
  json: string;
  foot: readonly string[];
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
    row('Waiting for the storage', ({ waiting }) => waiting),
    row('Running', ({ running }) => running),
    ...reasons(({ dropped }) => dropped, 'Dropped'),
    ...reasons(({ leftOut }) => leftOut, 'Not stored'),
  ];
}

export function createHealthController(services: PageServices): Record<'health' | 'healthJson', PageAction> {
  const { health: read, renderPage, foot } = services;
  const respond = createRespond(services);

  const healthJson: PageAction = async (page) => {
    const body = JSON.stringify({ version: HEALTH_VERSION, ...(await read()) });
    respond(page, { type: JSON_TYPE, body, headers: { vary: 'accept' } });
  };

  return {
    async health(page) {
      const { accept = '' } = page.req.headers;
      if (accept.includes('application/json') && !accept.includes('text/html')) return healthJson(page);
      const health = await read();
      const model: HealthModel = {
        title: 'Health',
        health,
        columns: ['Application', 'Profiler’s own pages', 'Left by earlier processes'],
        rows: rowsOf([health.application, health.profiler, health.earlier]),
        json: urls.healthJson(),
        foot,
      };
      respond(page, { type: HTML, body: renderPage('profiler/health', model), headers: { vary: 'accept' } });
    },
    healthJson,
  };
}
