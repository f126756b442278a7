/** The view model of the releases' page: the routes that became worse with one, and all that are stored. */
import type { ReleaseSummary } from '../../profiler/release-summary.ts';
import { urls } from '../../urls.ts';
import type { ReleaseComparison, WorseRoute } from './release-comparison.ts';

interface StoredRelease {
  release: string;
  firstAt: number;
  count: number;
  errors: number;
  requests: string;
  /** What became worse with it; null for the oldest. */
  changes: string | null;
}

function rowOf({ method, route, before, after, worse }: WorseRoute) {
  return {
    method,
    route,
    before,
    after,
    changes: worse.map(({ text }) => text),
    page: urls.routes({ route, method, since: 'all' }),
    /** The newest request of each release. */
    compare: urls.compare({ a: before.newest, b: after.newest }),
  };
}

function storedReleases(summaries: readonly ReleaseSummary[]): StoredRelease[] {
  const byName = new Map<string, StoredRelease>();
  for (const { release, firstAt, count, errors } of summaries) {
    const known = byName.get(release);
    byName.set(release, {
      release,
      firstAt: Math.min(firstAt, known?.firstAt ?? Infinity),
      count: count + (known?.count ?? 0),
      errors: errors + (known?.errors ?? 0),
      requests: urls.search({ release }),
      changes: urls.releases({ release }),
    });
  }
  const newestFirst = [...byName.values()].sort((a, b) => b.firstAt - a.firstAt);
  return newestFirst.map((one, index) =>
    index === newestFirst.length - 1 ? { ...one, changes: null } : one,
  );
}

export function createReleasesModel(options: {
  comparison: ReleaseComparison;
  summaries: readonly ReleaseSummary[];
  notice: string | null;
  foot: readonly string[];
}) {
  const { comparison, summaries, notice, foot } = options;
  const query = { since: comparison.before ?? undefined, release: comparison.release ?? undefined };
  return {
    title: 'Releases',
    comparison,
    rows: comparison.routes.map(rowOf),
    /** The newest first. */
    releases: storedReleases(summaries),
    /** A sentence if the storage failed. */
    notice,
    json: urls.releasesJson(query),
    markdown: urls.releasesMarkdown(query),
    foot,
  };
}
