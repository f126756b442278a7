/** The data of other panels that the overview reads. */
import type { Profile } from '../../profiler/profile.ts';
import { frameLine } from '../../profiler/record/thrown.ts';
import { dataOf } from '../shared/panel-data.ts';

export function thrownAt(profile: Profile): string | null {
  const frame = dataOf(profile, 'exception')?.errors[0]?.place?.frame;
  return frameLine(frame);
}

export function blockedMsOf(profile: Profile): number | null {
  return dataOf(profile, 'runtime')?.totals.blockedMs ?? null;
}

export function queriesOf({ panels }: Profile): number {
  return panels.database?.summary?.count ?? 0;
}
