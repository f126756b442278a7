/** Routes by the time they take, or one of them with its requests, as Markdown. */
import type { RouteSummaries, RouteSummary } from '../../../profiler/store/route-summary.ts';
import { blocks, type Column, heading, prose, table } from '../../../view-helpers/markdown.ts';
import { count, durationText } from '../../../view-helpers/numbers.ts';
import { requestsTable } from '../list/list-markdown.ts';
import type { RouteRequests } from './route-model.ts';
import { type ReadRoutes, titleOf } from './routes-model.ts';

const time = (ms: number | null): string | null => (ms === null ? null : durationText(ms));

const COLUMNS: readonly Column<RouteSummary>[] = [
  { title: 'Route', value: (summary) => `${summary.method} ${titleOf(summary)}`.trim() },
  { title: 'Requests', value: (row) => String(row.count), plain: true },
  { title: 'Errors', value: ({ errors }) => String(errors), plain: true },
  { title: 'Total', value: ({ totalMs }) => time(totalMs), plain: true },
  { title: 'Median', value: ({ p50Ms }) => time(p50Ms), plain: true },
  { title: '95 %', value: ({ p95Ms }) => time(p95Ms), plain: true },
  { title: 'Queries', value: ({ queries }) => String(queries), plain: true },
  {
    title: 'Findings',
    value: ({ marks }) => marks.map((mark) => `${mark.mark} × ${mark.count}`).join(', ') || null,
  },
  { title: 'Slowest', value: ({ slowest }) => slowest },
];

export function routesTable({ routes, more, looked }: RouteSummaries, most = routes.length): string {
  if (routes.length === 0) return 'No request was recorded in that time.';
  const left = more + Math.max(0, routes.length - most);
  return blocks([
    `${count(looked, 'request')}${left === 0 ? '' : `; ${count(left, 'more route')} not listed`}.`,
    table(COLUMNS, routes.slice(0, most)),
  ]);
}

export function routesMarkdown({ filters, summaries, notice }: ReadRoutes, requests?: RouteRequests): string {
  const { group, period } = filters;
  const title = group === null ? 'Routes' : `${group.method} ${titleOf(group)}`.trim();
  const { slowest = [], newest = [] } = requests ?? {};
  return `${blocks([
    heading(1, title),
    `Period: ${period.title.toLowerCase()}.`,
    notice === null ? '' : prose(notice),
    routesTable(summaries),
    slowest.length === 0 ? '' : blocks([heading(2, 'Slowest requests'), requestsTable(slowest)]),
    newest.length === 0 ? '' : blocks([heading(2, 'Newest requests'), requestsTable(newest)]),
  ])}\n`;
}
