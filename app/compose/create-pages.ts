/** Joins controllers, templates and assets into the handler of the profiler's pages. */
import type { IncomingMessage } from 'node:http';
import type { Dispatch } from '../controllers/profiler/dispatch.ts';
import { createProfilerControllers } from '../controllers/profiler/index.ts';
import type { PageServices } from '../controllers/profiler/page-services.ts';
import type { Live } from '../controllers/profiler/live.ts';
import type { Guard } from '../middleware/guard.ts';
import { exportedBy } from './exported-by.ts';
import { pageHeaders } from './page-headers.ts';
import type { PageParts } from './page-parts.ts';
import type { ProfilerSettings } from '../config/settings.ts';
import { type FindingRule, ruleTexts } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import type { CpuSampler } from '../profiler/cpu-samples.ts';
import type { FormSigner } from '../profiler/form-signature.ts';
import type { Panel } from '../profiler/panel.ts';
import type { Profiles } from '../profiler/profiles.ts';
import type { Recording } from '../profiler/recording.ts';
import { createPages } from '../routes/profiler.ts';

export interface PageHandlerOptions {
  profiles: Profiles;
  recording: Recording;
  forms: FormSigner;
  live: Live;
  cpu: CpuSampler;
  /** In the order of the menu. */
  panels: readonly Panel[];
  rules: readonly FindingRule[];
  settings: ProfilerSettings;
  originOf: (req: IncomingMessage) => string | null;
  clientOf: (req: IncomingMessage) => string;
  frontEnds: ReadonlySet<string>;
  guard: Guard;
  redactText: (text: string) => string;
  sourceAt: NonNullable<PageServices['sourceAt']>;
  /** Prints an error. */
  log: (error: unknown) => void;
  lastEnd: PageServices['lastEnd'];
  health: PageServices['health'];
  /** Name of the storage, once it is available. */
  storageName: () => string;
}

function describeRetention(
  { retentionHours, retentionCount, retentionMb }: ProfilerSettings,
  storageName: string,
): string {
  const { count } = numberHelpers;
  if (storageName === 'memory')
    return (
      `This process stores profiles in its own memory, for at most ${count(retentionHours, 'hour')}. If several processes serve the ` +
      'application, another one may have it: store profiles in PostgreSQL to share them.'
    );
  return `Kept: ${count(retentionHours, 'hour')}, up to ${count(retentionCount, 'profile')} or ${count(retentionMb)} MiB.`;
}

export function createPageHandler(
  options: PageHandlerOptions,
  { renderPage, assets, toolbarScript, foot }: PageParts,
): Dispatch {
  const { profiles, recording, forms, live, panels, rules, settings, guard, redactText } = options;
  const { originOf, clientOf, frontEnds } = options;
  const headers = pageHeaders();
  const securityHeaders = (): typeof headers => headers;
  const controllers = createProfilerControllers({
    profiles,
    recording,
    forms,
    live,
    cpu: options.cpu,
    panels,
    rules: ruleTexts(rules),
    replay: settings.replay,
    renderPage,
    assets,
    toolbarScript,
    securityHeaders,
    frontEnds,
    redactText,
    sourceAt: options.sourceAt,
    log: options.log,
    foot,
    lastEnd: options.lastEnd,
    health: options.health,
    exportedBy: exportedBy(settings),
    retention: () => describeRetention(settings, options.storageName()),
  });
  return createPages({
    controllers,
    originOf,
    clientOf,
    guard: (req) => guard.check(req),
    securityHeaders,
    frontEnds,
    redactText,
  });
}
