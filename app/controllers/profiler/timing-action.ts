/**
 * `POST /_profiler/-/timing` stores browser timings beside a profile, replacing earlier ones. Pages of the application send it,
 * so it needs no signed form: the same origin (or a configured front end) and the token suffice to add a few numbers.
 */
import { createError } from '../../errors.ts';
import { readTiming } from './browser-timing.ts';
import { readText } from './form-body.ts';
import { isSameOrigin } from './same-origin.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { createRespond } from './respond.ts';

const LARGEST = 8 * 1024;
const NO_CONTENT = 204;
/** `sendBeacon` with a string sends text/plain. */
const TYPES = new Set(['text/plain', 'application/json']);

export function createTimingAction(services: PageServices): { timing: PageAction } {
  const { profiles, frontEnds } = services;
  const respond = createRespond(services);
  return {
    async timing(page) {
      const { req } = page;
      const { origin } = req.headers;
      if (!isSameOrigin(req, page.origin()) && !(origin !== undefined && frontEnds.has(origin)))
        throw createError('CROSS_SITE', []);
      const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
      if (!TYPES.has(type)) throw createError('BAD_REQUEST', ['The body must be text/plain or JSON.']);
      const { token, timing } = readTiming(await readText(req, LARGEST));
      if (!(await profiles.amend(token, 'timing', timing))) throw createError('UNKNOWN_TOKEN', [token]);
      respond(page, { status: NO_CONTENT, type: 'text/plain', body: '' });
    },
  };
}
