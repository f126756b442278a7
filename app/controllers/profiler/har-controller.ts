/** `/_profiler/<token>.har`: the request and its outgoing calls as a file for browsers and HTTP tools. */
import { packageVersion } from '../../paths.ts';
import { profileHar } from '../../render/har.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, JSON_TYPE } from './respond.ts';

export function createHarController(services: PageServices): { har: PageAction } {
  const respond = createRespond(services);
  return {
    async har(page) {
      const { profile } = await requireProfile(services, page);
      const har = profileHar(profile, { name: 'express-hindsight', version: packageVersion() });
      const headers = { 'content-disposition': `attachment; filename="${profile.token}.har"` };
      respond(page, { type: JSON_TYPE, body: JSON.stringify(har), headers });
    },
  };
}
