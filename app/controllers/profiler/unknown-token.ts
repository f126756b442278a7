/**
 * The page for a token that no profile has: `views/errors/unknown-token.ejs`, rendered by the error handler when an
 * error has the code UNKNOWN_TOKEN. What it shows is gathered where the error is made, and travels with it.
 */
import { createError, HindsightError } from '../../errors.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { PageServices } from './page-services.ts';

export interface UnknownTokenModel {
  title: string;
  /** As asked for: 6 hexadecimal digits. */
  token: string;
  /** What is kept and for how long. */
  retention: string;
  /** The newest requests, at most 5; empty where the list can't be read. */
  newest: readonly ProfileIndex[];
  foot: readonly string[];
}

const NEWEST = 5;
const models = Symbol('what the page of an unknown token shows');

/** Makes the error, with the page's model. */
export async function createUnknownTokenError(
  services: PageServices,
  token: string,
): Promise<HindsightError> {
  const error = createError('UNKNOWN_TOKEN', [token]);
  const newest = await services.profiles.find({ limit: NEWEST, offset: 0 }).catch(() => ({ rows: [] }));
  const model: UnknownTokenModel = {
    title: `No profile has the token ${token}`,
    token,
    retention: services.retention,
    newest: newest.rows,
    foot: services.foot,
  };
  // Not enumerable: the exception panel shows an error's own properties.
  return Object.defineProperty(error, models, { value: model, enumerable: false });
}

/** The model that travels with the error; null where it was made elsewhere. */
export function unknownTokenModelOf(error: unknown): UnknownTokenModel | null {
  if (!(error instanceof HindsightError) || !(models in error)) return null;
  return error[models] as UnknownTokenModel;
}
