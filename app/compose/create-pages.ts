/** Joins controllers, templates and assets into the handler of the profiler's pages. */
import type { IncomingMessage } from 'node:http';
import type { Dispatch } from '../controllers/profiler/dispatch.ts';
import { createProfilerControllers } from '../controllers/profiler/index.ts';
import type { Live } from '../controllers/profiler/live.ts';
import { createGuard, type GuardOptions } from '../middleware/guard.ts';
import { pageHeaders } from './page-headers.ts';
import type { PageParts } from './page-parts.ts';
import { panelMarkdown } from './panel-markdown.ts';
import type { Retention } from '../profiler/housekeeper.ts';
import { type FindingRule, ruleTexts } from '../profiler/finding.ts';
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
  /** In the order of the menu. */
  panels: readonly Panel[];
  rules: readonly FindingRule[];
  retention: Retention;
  originOf: (req: IncomingMessage) => string | null;
  clientOf: (req: IncomingMessage) => string;
  frontEnds: ReadonlySet<string>;
  access: GuardOptions;
  redactText: (text: string) => string;
}

const HOUR = 3_600_000;
const MEBIBYTE = 1024 * 1024;

function describeRetention({ ageMs, count, bytes }: Retention): string {
  const hours = Math.round(ageMs / HOUR);
  return `Profiles are kept for ${hours} hours, at most ${count} of them and ${Math.round(bytes / MEBIBYTE)} MiB.`;
}

export function createPageHandler(
  options: PageHandlerOptions,
  { renderPage, assets, toolbarScript, foot }: PageParts,
): Dispatch {
  const { profiles, recording, forms, live, panels, rules, retention, access, redactText } = options;
  const { originOf, clientOf, frontEnds } = options;
  const headers = pageHeaders();
  const ownHeaders = (): typeof headers => headers;
  const controllers = createProfilerControllers({
    profiles,
    recording,
    forms,
    live,
    panels,
    rules: ruleTexts(rules),
    panelMarkdown,
    renderPage,
    assets,
    toolbarScript,
    ownHeaders,
    frontEnds,
    redactText,
    foot,
    retention: describeRetention(retention),
  });
  const guard = createGuard(access);
  return createPages({ controllers, originOf, clientOf, guard, ownHeaders, frontEnds, redactText });
}
