/** The services of the controllers, as one object, and the type of their actions. Nothing here knows Express or a database. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LocateFrontEnd } from '../../profiler/browser-report.ts';
import type { CpuSampler } from '../../profiler/cpu-samples.ts';
import type { ValueReader } from '../../profiler/values.ts';
import type { ExportedBy } from '../../export/otlp-model.ts';
import type { RuleTexts } from '../../profiler/finding-rule.ts';
import type { FormSigner } from '../../profiler/form-signature.ts';
import type { Health } from '../../profiler/health.ts';
import type { EndedProcess } from '../../profiler/process-end.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { RecordedPlans } from '../../profiler/query-plan.ts';
import type { Profiles } from '../../profiler/profiles.ts';
import type { SourceExcerpt } from '../../profiler/thrown.ts';
import type { Recording } from '../../profiler/recording.ts';
import type { RouteInFull } from '../../profiler/route-in-full.ts';
import type { Assets } from './assets.ts';
import type { Live } from './live.ts';

export interface ShownSource {
  excerpt: SourceExcerpt;
  /** Milliseconds since 1970; null if unknown. */
  changedAt: number | null;
}

export interface PageServices {
  profiles: Profiles;
  recording: Recording;
  routeInFull: RouteInFull;
  forms: FormSigner;
  live: Live;
  panels: readonly Panel[];
  /** Which recorded requests an agent may send again, default: those that are safe; `off`: the pages send none, either. */
  replay?: 'off' | 'safe' | 'all';
  /** The application does not run here: nothing can be sent to it. */
  isStored?: boolean;
  explain?: RecordedPlans;
  cpu?: CpuSampler;
  values?: ValueReader;
  rules?: RuleTexts;
  renderPage: (view: string, model: object) => string;
  assets: Assets;
  securityHeaders: () => readonly (readonly [name: string, value: string])[];
  frontEnds: ReadonlySet<string>;
  /** Source around a place of the application, masked, and when the file was changed; null: it may not or can't be read. Default: none. */
  sourceAt?: (place: string) => ShownSource | null;
  locateFrontEnd?: LocateFrontEnd;
  redactText: (text: string) => string;
  /** Prints an error that whoever asked gets no word of; default: nothing does. */
  log?: (error: unknown) => void;
  foot: readonly string[];
  /** The process of this application that ended last without storing everything; null if none did. */
  lastEnd: () => Promise<EndedProcess | null>;
  health: () => Promise<Health>;
  exportedBy: ExportedBy;
  /** What is stored and for how long, one sentence; shown if a token is not found. */
  retention: () => string;
}

export interface PageRequest {
  req: IncomingMessage;
  res: ServerResponse;
  params: Readonly<Record<string, string>>;
  /** With secrets masked. */
  query: URLSearchParams;
  /** `scheme://host[:port]` as the client sees it; null if the host is invalid. */
  origin: () => string | null;
  client: () => string;
}

export type PageAction = (page: PageRequest) => void | Promise<void>;
