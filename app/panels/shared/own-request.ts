/** A profile as rules and comparisons see the other requests. */
import type { EarlierRequest } from '../../profiler/read/finding-rule.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { Kept } from './panel-data.ts';

export function ownRequest(profile: Profile): EarlierRequest<Partial<Kept>> {
  const { panels, findings: _findings, ...head } = profile;
  const kept = Object.entries(panels).flatMap(([name, { data }]) =>
    data === null ? [] : [[name, data] as const],
  );
  return { head, kept: Object.fromEntries(kept) };
}
