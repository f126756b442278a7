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
  /** In menu order. */
  panels: readonly Panel[];
  /** Which recorded requests an agent may send again, default: those that are safe; `off`: the pages send none, either. */
  replay?: 'off' | 'safe' | 'all';
  /** The application does not run here: nothing can be sent to it. */
  isStored?: boolean;
  /** Plans statements of this process; default: none can be. */
  explain?: RecordedPlans;
  /** Samples requests that are asked for; default: none can be. */
  cpu?: CpuSampler;
  /** Reads the values where a request fails; default: nothing can. */
  values?: ValueReader;
  /** Texts of the finding rules; default: findings are not explained. */
  rules?: RuleTexts;
  renderPage: (view: string, model: object) => string;
  assets: Assets;
  /** Security headers of the profiler's own responses: policy, nosniff, frames, referrer. */
  securityHeaders: () => readonly (readonly [name: string, value: string])[];
  /** Origins of separate front ends that may read what the toolbar needs. */
  frontEnds: ReadonlySet<string>;
  /** Source around a place of the application, masked, and when the file was changed; null: it may not or can't be read. Default: none. */
  sourceAt?: (place: string) => ShownSource | null;
  /** Where a script of a page is on disk; default: nowhere. */
  locateFrontEnd?: LocateFrontEnd;
  redactText: (text: string) => string;
  /** Prints an error that whoever asked gets no word of; default: nothing does. */
  log?: (error: unknown) => void;
  /** Lines of the footer: version, Node.js, process, storage. */
  foot: readonly string[];
  /** The process of this application that ended last without storing everything; null if none did. */
  lastEnd: () => Promise<EndedProcess | null>;
  /** Never rejects. */
  health: () => Promise<Health>;
  /** The service that profiles are exported for. */
  exportedBy: ExportedBy;
  /** What is stored and for how long, one sentence; shown if a token is not found. */
  retention: () => string;
}

/** A request whose path matched a page. */
export interface PageRequest {
  req: IncomingMessage;
  res: ServerResponse;
  /** Parts of the path by name: `token`, `file`. */
  params: Readonly<Record<string, string>>;
  /** With secrets masked. */
  query: URLSearchParams;
  /** `scheme://host[:port]` as the client sees it; null if the host is invalid. */
  origin: () => string | null;
  /** Client address, as recorded. */
  client: () => string;
}

/** Sends a response, or throws an error of the catalogue for the error handler. */
export type PageAction = (page: PageRequest) => void | Promise<void>;
