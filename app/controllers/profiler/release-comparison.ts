/** Two releases -> the routes that became worse. */
import { isRelease, storedRelease } from '../../profiler/release.ts';
import { type ReleaseChange, worseSince } from '../../profiler/release-changes.ts';
import type { ReleaseRoute, ReleaseSummary } from '../../profiler/release-summary.ts';
import { badFilter, readOne } from './filters.ts';
import { changeText } from './release-finding.ts';

export interface WorseRoute extends ReleaseRoute {
  before: ReleaseSummary;
  after: ReleaseSummary;
  /** `text`: a clause whose subject is the route. */
  worse: (ReleaseChange & { text: string })[];
}

export interface ReleaseComparison {
  /** The later release; null if no stored request has one. */
  release: string | null;
  /** null if no stored request has an earlier one. */
  before: string | null;
  /** Number of routes that both have. */
  compared: number;
  /** Those that became worse, the one with most requests first. */
  routes: WorseRoute[];
}

/** Names by the time at which they were first seen, the newest first. */
function namesOf(summaries: readonly ReleaseSummary[]): string[] {
  const first = new Map<string, number>();
  for (const { release, firstAt } of summaries)
    first.set(release, Math.min(firstAt, first.get(release) ?? Infinity));
  return Array.from(first)
    .sort(([, a], [, b]) => b - a)
    .map(([release]) => release);
}

function readRelease(query: URLSearchParams, name: string, known: readonly string[]): string | null {
  const given = readOne(query, name)?.trim() ?? '';
  if (given === '') return null;
  const found = known.find((release) => isRelease(release, storedRelease(given)));
  if (found === undefined) throw badFilter(name, `is "${given}"; no stored request has this release`);
  return found;
}

function routeKey({ method, route }: ReleaseRoute): string {
  return `${method} ${route}`;
}

function ofRelease(
  summaries: readonly ReleaseSummary[],
  release: string | null,
): Map<string, ReleaseSummary> {
  return new Map(
    summaries.filter((one) => one.release === release).map((one) => [routeKey(one), one] as const),
  );
}

/** `query`: `since`, the earlier release, default the one before; `release`, the later one, default the newest. */
export function compareReleases(
  summaries: readonly ReleaseSummary[],
  query: URLSearchParams,
): ReleaseComparison {
  const names = namesOf(summaries);
  const release = readRelease(query, 'release', names) ?? names[0] ?? null;
  const previous = names.slice(release === null ? 0 : names.indexOf(release) + 1)[0] ?? null;
  const before = readRelease(query, 'since', names) ?? previous;
  const earlier = ofRelease(summaries, before);
  const routes: WorseRoute[] = [];
  let compared = 0;
  for (const [key, after] of ofRelease(summaries, release)) {
    const old = earlier.get(key);
    if (old === undefined) continue;
    compared++;
    const worse = worseSince(old, after).map((change) => ({ ...change, text: changeText(change) }));
    const { route, method } = after;
    if (worse.length > 0) routes.push({ route, method, before: old, after, worse });
  }
  routes.sort((a, b) => b.after.count - a.after.count);
  return { release, before, compared, routes };
}
