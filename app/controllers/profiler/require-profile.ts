/** Profiles that a request names; throws if there is none. */
import { createError, type HindsightError, isHindsightError } from '../../errors.ts';
import type { FoundProfile } from '../../profiler/read/profiles.ts';
import { TOKEN_PATTERN, tokenIn } from '../../urls.ts';
import type { PageRequest, PageServices } from './page-services.ts';

const NEWEST = 5;
const MODEL = Symbol('model of the unknown token page');

/** The error carries the model of its page (views/errors/unknown-token.ejs) to the error handler. */
export async function createUnknownTokenError(
  services: PageServices,
  token: string,
): Promise<HindsightError> {
  const error = createError('UNKNOWN_TOKEN', [token]);
  const ended = await services.lastEnd().catch(() => null);
  const newest = await services.profiles.find({ isAsset: false, limit: NEWEST }).catch(() => ({ rows: [] }));
  const model = {
    title: `No profile with token ${token}`,
    token,
    retention: services.retention(),
    ended,
    newest: newest.rows,
    foot: services.foot,
  };
  // Not enumerable: the exception panel shows an error's own properties.
  return Object.defineProperty(error, MODEL, { value: model, enumerable: false });
}

export function unknownTokenModelOf(error: unknown): object | null {
  return isHindsightError(error) && MODEL in error ? (error[MODEL] as object) : null;
}

async function readProfile(services: PageServices, token: string): Promise<FoundProfile> {
  const found = await services.profiles.read(token);
  if (found === null) throw await createUnknownTokenError(services, token);
  return found;
}

export function requireProfile(services: PageServices, page: PageRequest): Promise<FoundProfile> {
  return readProfile(services, page.params.token ?? '');
}

export function formToken(form: URLSearchParams): string {
  const token = form.get('token') ?? '';
  if (!TOKEN_PATTERN.test(token)) throw createError('BAD_REQUEST', ['The form names no token.']);
  return token;
}

export async function requireFormProfile(
  services: PageServices,
  form: URLSearchParams,
): Promise<FoundProfile> {
  return readProfile(services, formToken(form));
}

export async function requireNamedProfile(services: PageServices, given: unknown): Promise<FoundProfile> {
  const token = typeof given === 'string' ? tokenIn(given) : null;
  if (token === null) throw createError('BAD_FILTER', ['token', 'is missing or not six hexadecimal digits']);
  return readProfile(services, token);
}
