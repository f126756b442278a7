/**
 * A profile as a file for other tools: `/_profiler/<token>.har` for browsers, `.otlp.json` for OpenTelemetry, `.cpuprofile` for Chrome DevTools
 * and VS Code.
 */
import { profileOtlp } from '../../export/otlp-profile.ts';
import { createError } from '../../errors.ts';
import { packageVersion } from '../../paths.ts';
import type { Profile } from '../../profiler/profile.ts';
import { cpuProfileFile } from '../../render/cpuprofile.ts';
import { profileHar } from '../../render/har.ts';
import { attachment } from './file-name.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, JSON_TYPE } from './respond.ts';

export function createExportController(
  services: PageServices,
): Record<'har' | 'otlp' | 'cpuProfile', PageAction> {
  const respond = createRespond(services);

  /** `ending` of the file's name. */
  function download(ending: string, contentOf: (profile: Profile) => object): PageAction {
    return async (page) => {
      const { profile } = await requireProfile(services, page);
      const headers = attachment(profile, ending);
      respond(page, { type: JSON_TYPE, body: JSON.stringify(contentOf(profile)), headers });
    };
  }

  return {
    cpuProfile: download('cpuprofile', (profile) => {
      const file = cpuProfileFile(profile);
      if (file === null) throw createError('UNKNOWN_PANEL', ['cpu', profile.token]);
      return file;
    }),
    har: download('har', (profile) =>
      profileHar(profile, { name: 'express-hindsight', version: packageVersion() }),
    ),
    otlp: download('otlp.json', (profile) => profileOtlp(profile, services.exportedBy)),
  };
}
