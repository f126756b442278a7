/** The finding that a route became worse with the release that responded, from earlier requests to the route. */
import type { Finding } from '../../profiler/finding.ts';
import type { Profile } from '../../profiler/profile.ts';
import { newestFirst, type ReleaseChange, worseSince } from '../../profiler/release-changes.ts';
import type { ReleaseSummary } from '../../profiler/release-summary.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { PageServices } from './page-services.ts';

const { count, durationText, percentText } = numberHelpers;

/** `gained 14 queries (median 3 before, 17 now)`. */
export function changeText({ what, before, after }: ReleaseChange): string {
  switch (what) {
    case 'queries':
      return `gained ${count(after - before, 'query', 'queries')} (median ${count(before)} before, ${count(after)} now)`;
    case 'median':
    case 'p95':
      return `got slower by ${durationText(after - before)} (${what === 'p95' ? '95th percentile' : 'median'} ${durationText(after)}, before ${durationText(before)})`;
    case 'errors':
      return `fails more often (${percentText(after, 1)} of its requests, before ${percentText(before, 1)})`;
  }
}

function sentenceOf(
  changes: readonly ReleaseChange[],
  before: ReleaseSummary,
  after: ReleaseSummary,
): string {
  const seen = `${count(after.count, 'request')}, ${count(before.count)} before`;
  return `This route ${changes.map(changeText).join(' and ')} with release ${after.release}; it was ${before.release} (${seen})`;
}

/** null if it is not worse than the release before it, or that is unknown. */
function findingOf(releases: readonly ReleaseSummary[], release: string): Finding | null {
  const ordered = newestFirst(releases);
  const at = ordered.findIndex((one) => one.release === release);
  const [after, before] = at === -1 ? [] : [ordered[at], ordered[at + 1]];
  if (after === undefined || before === undefined) return null;
  const changes = worseSince(before, after);
  if (changes.length === 0) return null;
  return {
    label: 'regression',
    severity: 'warn',
    sentence: sentenceOf(changes, before, after),
    panel: 'overview',
    against: before.newest,
    rule: 'route-regression',
  };
}

/** The profile, with that finding as its last if there is one. Never rejects: it is extra. */
export async function withReleaseFinding(
  { profiles }: Pick<PageServices, 'profiles'>,
  profile: Profile,
): Promise<Profile> {
  const { kind, route, method, release } = profile;
  if (kind !== 'request' || route === null || release === null) return profile;
  const releases = await profiles.routeReleases({ route, method, release });
  const finding = findingOf(releases, release);
  return finding === null ? profile : { ...profile, findings: [...profile.findings, finding] };
}
