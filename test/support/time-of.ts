import { timelineOf } from '../../app/panels/shared/timeline-data.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import type { SpanKind } from '../../app/profiler/read/span.ts';

/** Milliseconds of a request that are counted as this. */
export function timeOf(profile: Profile, kind: SpanKind): number {
  return timelineOf(profile)?.shares.find((share) => share.kind === kind)?.ms ?? 0;
}
