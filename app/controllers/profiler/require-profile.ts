/** Profiles that a request names; throws if there is none. */
import { createError } from '../../errors.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { TOKEN_PATTERN, tokenIn } from '../../urls.ts';
import type { PageRequest, PageServices } from './page-services.ts';
import { createUnknownTokenError } from './unknown-token.ts';

async function readProfile(services: PageServices, token: string): Promise<FoundProfile> {
  const found = await services.profiles.read(token);
  if (found === null) throw await createUnknownTokenError(services, token);
  return found;
}

/** The profile named in the path. */
export function requireProfile(services: PageServices, page: PageRequest): Promise<FoundProfile> {
  return readProfile(services, page.params.token ?? '');
}

export function formToken(form: URLSearchParams): string {
  const token = form.get('token') ?? '';
  if (!TOKEN_PATTERN.test(token)) throw createError('BAD_REQUEST', ['The form names no token.']);
  return token;
}

/** The profile named in a form. */
export async function requireFormProfile(
  services: PageServices,
  form: URLSearchParams,
): Promise<FoundProfile> {
  return readProfile(services, formToken(form));
}

/** The profile that an agent names by its token or its address. */
export async function requireNamedProfile(services: PageServices, given: unknown): Promise<FoundProfile> {
  const token = typeof given === 'string' ? tokenIn(given) : null;
  if (token === null) throw createError('BAD_FILTER', ['token', 'is missing or not six hexadecimal digits']);
  return readProfile(services, token);
}
