/** Routes that became worse with a release, as Markdown: for a pull request. Also the history of one route. */
import type { ReleaseSummary } from '../../profiler/release-summary.ts';
import { blocks, code, heading, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { ReleaseComparison, WorseRoute } from './release-comparison.ts';

const { count, durationText, timestampText } = numberHelpers;

function verdictOf({ release, before, compared, routes }: ReleaseComparison): string {
  if (release === null) return 'No stored request has a release.';
  if (before === null)
    return `All stored requests are of release ${code(release)}; there is none to compare.`;
  const worse = routes.length === 0 ? 'No route' : `**${count(routes.length, 'route')}**`;
  return `${worse} of ${count(compared)} became worse with release ${code(release)}; before: ${code(before)}.`;
}

interface Line {
  at: WorseRoute;
  text: string;
  isFirst: boolean;
}

export function releasesMarkdown(comparison: ReleaseComparison): string {
  const lines = comparison.routes.flatMap((at) =>
    at.worse.map(({ text }, index): Line => ({ at, text, isFirst: index === 0 })),
  );
  return `${blocks([
    heading(2, 'Routes by release'),
    verdictOf(comparison),
    table<Line>(
      [
        { title: 'Route', value: ({ at, isFirst }) => (isFirst ? `${at.method} ${at.route}` : null) },
        { title: 'What changed', value: ({ text }) => text, plain: true },
        { title: 'Requests', value: ({ at }) => count(at.after.count), plain: true },
        { title: 'Before', value: ({ at }) => count(at.before.count), plain: true },
        { title: 'Newest request', value: ({ at }) => at.after.newest },
        { title: 'Newest before', value: ({ at }) => at.before.newest },
      ],
      lines,
    ),
  ])}\n`;
}

export function releasesTable(releases: readonly ReleaseSummary[]): string {
  const time = (ms: number | null): string | null => (ms === null ? null : durationText(ms));
  return table<ReleaseSummary>(
    [
      { title: 'Release', value: ({ release }) => release },
      { title: 'First seen', value: ({ firstAt }) => timestampText(firstAt), plain: true },
      { title: 'Requests', value: (row) => count(row.count), plain: true },
      { title: 'Errors', value: ({ errors }) => count(errors), plain: true },
      { title: 'Median', value: ({ p50Ms }) => time(p50Ms), plain: true },
      { title: '95 %', value: ({ p95Ms }) => time(p95Ms), plain: true },
      {
        title: 'Queries',
        value: ({ queries }) => (queries === null ? null : String(queries)),
        plain: true,
      },
      { title: 'Newest request', value: ({ newest }) => newest },
    ],
    releases,
  );
}
