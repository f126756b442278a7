/** The error for an unknown token. It carries the model of its page (views/errors/unknown-token.ejs) to the error handler. */
import { createError, type HindsightError, isHindsightError } from '../../errors.ts';
import type { EndedProcess } from '../../profiler/process-end.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { PageServices } from './page-services.ts';

export interface UnknownTokenModel {
  title: string;
  /** 6 hexadecimal digits. */
  token: string;
  /** What is stored and for how long. */
  retention: string;
  /** The process that failed last; null if none did. */
  ended: EndedProcess | null;
  /** The 5 newest requests; empty if the list can't be read. */
  newest: readonly ProfileIndex[];
  foot: readonly string[];
}

const NEWEST = 5;
const models = Symbol('model of the unknown token page');

export async function createUnknownTokenError(
  services: PageServices,
  token: string,
): Promise<HindsightError> {
  const error = createError('UNKNOWN_TOKEN', [token]);
  const ended = await services.lastEnd().catch(() => null);
  const newest = await services.profiles
    .find({ isAsset: false, limit: NEWEST, offset: 0 })
    .catch(() => ({ rows: [] }));
  const model: UnknownTokenModel = {
    title: `No profile with token ${token}`,
    token,
    retention: services.retention(),
    ended,
    newest: newest.rows,
    foot: services.foot,
  };
  // Not enumerable: the exception panel shows an error's own properties.
  return Object.defineProperty(error, models, { value: model, enumerable: false });
}

/** The model that the error carries; null for any other error. */
export function unknownTokenModelOf(error: unknown): UnknownTokenModel | null {
  if (!isHindsightError(error) || !(models in error)) return null;
  return error[models] as UnknownTokenModel;
}
