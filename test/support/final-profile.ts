import { setTimeout as sleep } from 'node:timers/promises';
import type { Profiler } from '../../app/index.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { until } from './waiting.ts';

/** A request is stored 5 ms after its end: to look before concludes it twice. */
const STORED_AFTER_MS = 6;

/**
 * The profile of a response, which is read to its end, or of a token, once it is final. It is stored again with what was recorded
 * after the response: `holds` tells what else it is waited for.
 */
export async function finalProfile(
  { profiles }: Pick<Profiler, 'profiles'>,
  of: Response | string,
  holds: (profile: Profile) => boolean = () => true,
): Promise<Profile> {
  if (typeof of !== 'string' && !of.bodyUsed) await of.text();
  const token = typeof of === 'string' ? of : (of.headers.get('x-debug-token') ?? '');
  let final: Profile | undefined;
  await sleep(STORED_AFTER_MS);
  await until(async () => {
    const found = await profiles.read(token);
    if (found?.profile.state === 'final' && found.source !== 'running' && holds(found.profile))
      final = found.profile;
    return final !== undefined;
  }, `the profile ${token} is final`);
  return final!;
}
