/** Styles and scripts, cached for a year under their content hash; some have a fixed name, too. */
import type { PageAction, PageServices } from './page-services.ts';
import { createRespond } from './respond.ts';
import { requireProfile } from './require-profile.ts';
import { createPageNotFound } from './routes/route-errors.ts';

const FOR_A_YEAR = 'public, max-age=31536000, immutable';
/** Pages of other origins load the toolbar as a script, without an Origin header; it holds no data. */
const FOR_FRONT_ENDS = { 'cross-origin-resource-policy': 'cross-origin' };

export function createAssetController(services: PageServices): {
  asset: PageAction;
  exceptionCss: PageAction;
  toolbarScript: PageAction;
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
    toolbarScript(page) {
      const { assets, frontEnds } = services;
      const isNamed = page.query.get('v') === assets.hash('toolbar.js');
      respond(page, {
        ...assets.plain('toolbar.js'),
        cacheControl: isNamed ? FOR_A_YEAR : 'no-cache',
        ...(frontEnds.size === 0 ? {} : { headers: FOR_FRONT_ENDS }),
      });
    },
  };
}
