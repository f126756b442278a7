/** Joins controllers, templates and assets into the handler of the profiler's pages. */
import type { Dispatch, DispatchOptions } from '../controllers/profiler/dispatch.ts';
import { createProfilerControllers } from '../controllers/profiler/index.ts';
import type { PageServices } from '../controllers/profiler/page-services.ts';
import type { Guard } from '../middleware/guard.ts';
import { exportedBy } from './create-export.ts';
import { pageHeaders } from '../middleware/security-headers.ts';
import type { PageParts } from './page-parts.ts';
import { MOST_MEBIBYTES } from '../storage/files/file-store.ts';
import type { ProfilerSettings } from '../config/settings.ts';
import { type FindingRule, ruleTexts } from '../profiler/read/finding-rule.ts';
import { count } from '../view-helpers/numbers.ts';
import { createPages } from '../routes/profiler.ts';

type Given = Omit<
  PageServices,
  keyof PageParts | 'rules' | 'replay' | 'securityHeaders' | 'exportedBy' | 'retention'
>;

export interface PageHandlerOptions extends Given, Pick<DispatchOptions, 'originOf' | 'clientOf'> {
  rules: readonly FindingRule[];
  settings: ProfilerSettings;
  guard: Guard;
  storageName: () => string;
}

function describeRetention(
  { retentionHours, retentionCount, retentionMb }: ProfilerSettings,
  storageName: string,
): string {
  if (storageName === 'memory')
    return (
      `This process stores profiles in memory, for at most ${count(retentionHours, 'hour')}. If several processes serve the ` +
      'application, another one may have it. Set PROFILER_DIR to a folder that they share.'
    );
  const mebibytes = storageName === 'files' ? Math.min(retentionMb, MOST_MEBIBYTES) : retentionMb;
  return `Kept: ${count(retentionHours, 'hour')}, up to ${count(retentionCount, 'profile')} or ${count(mebibytes)} MiB.`;
}

export function createPageHandler(options: PageHandlerOptions, parts: PageParts): Dispatch {
  const { settings, guard } = options;
  const headers = pageHeaders();
  const services: PageServices = {
    ...options,
    ...parts,
    rules: ruleTexts(options.rules),
    replay: settings.replay,
    securityHeaders: () => headers,
    exportedBy: exportedBy(settings),
    retention: () => describeRetention(settings, options.storageName()),
  };
  return createPages({
    ...options,
    ...services,
    controllers: createProfilerControllers(services),
    guard: (req) => guard.check(req),
  });
}
