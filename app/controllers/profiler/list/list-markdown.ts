/** The list as Markdown: one row per request, with the token that opens it. */
import type { ProfileIndex } from '../../../profiler/store/profile-index.ts';
import type { FoundProfiles } from '../../../profiler/read/profiles.ts';
import { urls } from '../../../urls.ts';
import { blocks, code, type Column, heading, prose, table } from '../../../view-helpers/markdown.ts';
import { count, durationText, timestampText } from '../../../view-helpers/numbers.ts';
import { endingOf } from '../profile-model.ts';
import { type Filters, withFilters } from './filters.ts';
import { writeTypedFilters } from './typed-filters.ts';

const COLUMNS: readonly Column<ProfileIndex>[] = [
  { title: 'Token', value: ({ token }) => token },
  { title: 'Status', value: endingOf, plain: true },
  { title: 'Request', value: ({ method, url }) => `${method} ${url}` },
  { title: 'Route', value: ({ route }) => route },
  {
    title: 'Time',
    value: ({ durationMs }) => (durationMs === null ? null : durationText(durationMs)),
    plain: true,
  },
  { title: 'Queries', value: ({ queries }) => String(queries), plain: true },
  { title: 'Thrown', value: ({ error }) => error },
  { title: 'Findings', value: ({ marks }) => marks.map(({ label }) => label).join(', ') || null },
  { title: 'At', value: ({ startedAt }) => timestampText(startedAt), plain: true },
];

export function requestsTable(rows: readonly ProfileIndex[]): string {
  return table(COLUMNS, rows);
}

export function listMarkdown(
  { values, query, page }: Filters,
  { rows, total, totalIsExact, notice }: FoundProfiles,
): string {
  const typed = writeTypedFilters(values);
  const last = query.offset + rows.length;
  const hasMore = rows.length > 0 && (last < total || !totalIsExact);
  const range = `${query.offset + 1} to ${last} of ${totalIsExact ? '' : 'about '}${count(total)}`;
  return `${blocks([
    heading(1, 'Requests'),
    typed === '' ? '' : `Filters: ${code(typed)}`,
    notice === null ? '' : prose(notice),
    rows.length === 0 ? 'No stored request matches these filters.' : `${range}.`,
    requestsTable(rows),
    hasMore ? `Next: ${code(urls.searchMarkdown(withFilters(values, { page: String(page + 1) })))}` : '',
  ])}\n`;
}
