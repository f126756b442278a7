/** Profiles that belong to another one: its error page, and the jobs that it added. */
import type { Profile } from '../../profiler/profile.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { PageServices } from './page-services.ts';

/** Most profiles name no child and added no job, which saves the query. */
export async function childrenOf(
  { profiles }: Pick<PageServices, 'profiles'>,
  { token, child, panels }: Profile,
): Promise<readonly ProfileIndex[]> {
  const hasJobs = (panels.jobs?.data ?? null) !== null;
  return child === null && !hasJobs ? [] : profiles.children(token);
}
