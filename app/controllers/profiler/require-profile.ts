/** The profile named in the path; throws if there is none. */
import type { FoundProfile } from '../../profiler/profiles.ts';
import type { PageRequest, PageServices } from './page-services.ts';
import { createUnknownTokenError } from './unknown-token.ts';

export async function requireProfile(services: PageServices, page: PageRequest): Promise<FoundProfile> {
  const token = page.params.token ?? '';
  const found = await services.profiles.read(token);
  if (found === null) throw await createUnknownTokenError(services, token);
  return found;
}
