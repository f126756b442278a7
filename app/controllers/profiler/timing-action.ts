/**
 * `POST /_profiler/-/timing`: what the browser measured of a page, put beside its profile; sent again, it replaces what was there.
 * A page of the application sends it, so it has no signed form: what it needs is our own origin (or that of a front end that was
 * set up) and the token, and what it can do is to add some numbers to that profile.
 */
import { createError } from '../../errors.ts';
import { readTiming } from './browser-timing.ts';
import { readText } from './form-body.ts';
import { isOwnPage } from './own-page.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { createRespond } from './respond.ts';

const LARGEST = 8 * 1024;
const NO_CONTENT = 204;
/** `sendBeacon` of a text has the first. */
const TYPES = new Set(['text/plain', 'application/json']);

export function createTimingAction(services: PageServices): { timing: PageAction } {
  const { profiles, frontEnds } = services;
  const respond = createRespond(services);
  return {
    async timing(page) {
      const { req } = page;
      const { origin } = req.headers;
      if (!isOwnPage(req, page.origin()) && !(origin !== undefined && frontEnds.has(origin)))
        throw createError('CROSS_SITE', []);
      const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
      if (!TYPES.has(type)) throw createError('BAD_REQUEST', ['The body is neither text/plain nor JSON.']);
      const { token, timing } = readTiming(await readText(req, LARGEST));
      if (!(await profiles.amend(token, 'timing', timing))) throw createError('UNKNOWN_TOKEN', [token]);
      respond(page, { status: NO_CONTENT, type: 'text/plain', body: '' });
    },
  };
}
