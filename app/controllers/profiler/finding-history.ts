/** How often other requests to its route had the findings of a profile. */
import type { Finding, FindingHistory } from '../../profiler/read/finding.ts';
import type { Profile } from '../../profiler/profile.ts';
import { MARKS_KEPT, type ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { PageServices } from './page-services.ts';

const LOOKED_AT = 50;
const FEWEST = 5;

function hasLabel({ marks }: ProfileIndex, label: string): boolean {
  return marks.some((mark) => mark.label === label);
}

function releaseOf(rows: readonly ProfileIndex[], other: string | null | undefined): string | null {
  const releases = new Set(rows.map(({ release }) => release));
  const [release = null] = releases;
  return releases.size === 1 && release !== other ? release : null;
}

export function historyOf(label: string, rows: readonly ProfileIndex[]): FindingHistory | null {
  // A row with all the marks that it may have can have the finding, too.
  const known = rows.filter((row) => row.marks.length < MARKS_KEPT || hasLabel(row, label));
  if (known.length < FEWEST) return null;
  const newest = known.findIndex((row) => hasLabel(row, label));
  const oldest = known.findLastIndex((row) => hasLabel(row, label));
  const after = newest === -1 ? [] : known.slice(0, newest);
  const before = newest === -1 ? [] : known.slice(oldest + 1);
  return {
    of: known.length,
    seen: known.filter((row) => hasLabel(row, label)).length,
    firstAt: known[oldest]?.startedAt ?? null,
    lastAt: known[newest]?.startedAt ?? null,
    before: { count: before.length, release: releaseOf(before, known[oldest]?.release) },
    after: { count: after.length, release: releaseOf(after, known[newest]?.release) },
  };
}

/** Requests of which only a summary is stored have no findings, and no watched event loop. */
function isChecked({ state, findings, blockedMs }: ProfileIndex, isWatched: boolean): boolean {
  return state === 'final' && findings !== null && (blockedMs !== null || !isWatched);
}

/** The profile, with the history of each finding on its route. Never rejects: it is extra. */
export async function withHistory(
  { profiles }: Pick<PageServices, 'profiles'>,
  profile: Profile,
): Promise<Profile> {
  const { kind, route, method, findings } = profile;
  if (kind !== 'request' || route === null || findings.length === 0) return profile;
  const { rows } = await profiles
    .find({ route, method, counted: false, limit: LOOKED_AT })
    .catch(() => ({ rows: [] as ProfileIndex[] }));
  const isWatched = rows.some(({ blockedMs }) => blockedMs !== null);
  const checked = rows.filter((row) => isChecked(row, isWatched));
  return {
    ...profile,
    findings: findings.map((finding): Finding => {
      const history = historyOf(finding.label, checked);
      return history === null ? finding : { ...finding, history };
    }),
  };
}
