/** The services of the controllers, as one object, and the type of their actions. Nothing here knows Express or a database. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LocateFrontEnd } from '../../profiler/read/browser-report.ts';
import type { Steps } from '../../profiler/turns.ts';
import type { CpuSampler } from '../../profiler/record/cpu-samples.ts';
import type { ValueReader } from '../../profiler/record/values.ts';
import type { ExportedBy } from '../../export/otlp-model.ts';
import type { RuleTexts } from '../../profiler/read/finding-rule.ts';
import type { FormSigner } from '../../profiler/form-signature.ts';
import type { Health } from '../../profiler/health.ts';
import type { EndedProcess } from '../../profiler/record/process-end.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { RecordedPlans } from '../../profiler/read/query-plan.ts';
import type { Profiles } from '../../profiler/read/profiles.ts';
import type { SourceExcerpt } from '../../profiler/record/thrown.ts';
import type { Recording } from '../../profiler/record/recording.ts';
import type { RouteInFull } from '../../profiler/record/route-in-full.ts';
import type { RenderPage } from '../../render/render-page.ts';
import type { Assets } from './assets.ts';
import type { Live } from './list/live.ts';

export interface ShownSource {
  excerpt: SourceExcerpt;
  changedAt: number | null;
}

export interface PageServices {
  profiles: Profiles;
  recording: Recording;
  routeInFull: RouteInFull;
  forms: FormSigner;
  live: Live;
  panels: readonly Panel[];
  replay: 'off' | 'safe' | 'all';
  isStored: boolean;
  explain?: RecordedPlans;
  cpu?: CpuSampler;
  values?: ValueReader;
  rules: RuleTexts;
  renderPage: RenderPage;
  assets: Assets;
  securityHeaders: () => readonly (readonly [name: string, value: string])[];
  frontEnds: ReadonlySet<string>;
  sourceAt: (place: string) => ShownSource | null;
  definitions: {
    /** Reads which files define which methods, to be called before. */
    refresh: () => Steps<void>;
    /** Places of the names that so many lines from a place use, of the last one to `until`. */
    at: (place: string, count: number, until?: string) => Steps<readonly string[]>;
    /** Lines that call what hands out an entry of a cache in the process, by its read and those that led there. */
    sharing: (places: readonly string[]) => Steps<readonly string[]>;
    /** Lines of SQL that create a table, or reference it. */
    tables: (name: string) => readonly string[];
  };
  locateFrontEnd: LocateFrontEnd;
  redactText: (text: string) => string;
  log: (error: unknown) => void;
  foot: readonly string[];
  /** The process of this application that ended last without storing everything; null if none did. */
  lastEnd: () => Promise<EndedProcess | null>;
  health: () => Promise<Health>;
  exportedBy: ExportedBy;
  retention: () => string;
}

export interface PageRequest {
  req: IncomingMessage;
  res: ServerResponse;
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  origin: () => string | null;
  client: () => string;
}

export type PageAction = (page: PageRequest) => void | Promise<void>;
