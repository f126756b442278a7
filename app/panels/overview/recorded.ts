/** The data of other panels that the overview reads. */
import type { Profile } from '../../profiler/profile.ts';
import { dataOf } from '../shared/panel-data.ts';

export function thrownAt(profile: Profile): string | null {
  const frame = dataOf(profile, 'exception')?.errors[0]?.place?.frame;
  return frame === undefined || frame.file === null
    ? null
    : `${frame.file}${frame.line === null ? '' : `:${frame.line}`}`;
}

export function blockedMsOf(profile: Profile): number | null {
  return dataOf(profile, 'runtime')?.totals.blockedMs ?? null;
}

export function queriesOf({ panels }: Profile): number {
  return panels.database?.summary?.count ?? 0;
}
