/** A profile as a file for other tools: `/_profiler/<token>.har` for browsers, `/_profiler/<token>.otlp.json` for OpenTelemetry. */
import { profileOtlp } from '../../export/otlp-profile.ts';
import { packageVersion } from '../../paths.ts';
import type { Profile } from '../../profiler/profile.ts';
import { profileHar } from '../../render/har.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, JSON_TYPE } from './respond.ts';

export function createExportController(services: PageServices): Record<'har' | 'otlp', PageAction> {
  const respond = createRespond(services);

  /** `ending` of the file's name. */
  function download(ending: string, contentOf: (profile: Profile) => object): PageAction {
    return async (page) => {
      const { profile } = await requireProfile(services, page);
      const headers = { 'content-disposition': `attachment; filename="${profile.token}.${ending}"` };
      respond(page, { type: JSON_TYPE, body: JSON.stringify(contentOf(profile)), headers });
    };
  }

  return {
    har: download('har', (profile) =>
      profileHar(profile, { name: 'express-hindsight', version: packageVersion() }),
    ),
    otlp: download('otlp.json', (profile) => profileOtlp(profile, services.exportedBy)),
  };
}
