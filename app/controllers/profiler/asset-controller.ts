/** Styles and scripts: cached for a year under the hash of their content; and the exception panel's stylesheet by its fixed name. */
import type { PageAction, PageServices } from './page-services.ts';
import { createRespond } from './respond.ts';
import { requireProfile } from './require-profile.ts';
import { createPageNotFound } from './route-errors.ts';

const FOR_A_YEAR = 'public, max-age=31536000, immutable';

export function createAssetController(services: PageServices): {
  asset: PageAction;
  exceptionCss: PageAction;
} {
  const respond = createRespond(services);
  return {
    asset(page) {
      const asset = services.assets.get(page.params.file ?? '');
      if (asset === undefined) throw createPageNotFound(page.req, services.redactText);
      respond(page, { ...asset, cacheControl: FOR_A_YEAR });
    },
    async exceptionCss(page) {
      await requireProfile(services, page);
      respond(page, services.assets.plain('hindsight.css'));
    },
  };
}
