/** `/_profiler/<token>/mail/m1`: the HTML of a mail as a page. It runs no script, and loads nothing. */
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, HTML } from './respond.ts';
import { createPageNotFound } from './routes/route-errors.ts';

/** Somebody else may have written the mail: `sandbox` gives it an origin of its own. */
const POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function createMailController(services: PageServices): { mail: PageAction } {
  const respond = createRespond(services);
  return {
    async mail(page) {
      const { profile } = await requireProfile(services, page);
      const html = dataOf(profile, 'mail')?.items[Number(page.params.number) - 1]?.html ?? null;
      if (html === null) throw createPageNotFound(page.req, services.redactText);
      respond(page, {
        type: HTML,
        body: html,
        headers: { 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' },
      });
    },
  };
}
