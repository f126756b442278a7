/**
 * The record of one request: as it is stored (`ProfileDocument`: masked JSON without empty values) and as pages
 * see it (`Profile`: complete, with derived values and findings).
 */
import type { ProfileKind } from './record/context.ts';
import type { Finding } from './read/finding.ts';
import type { RecordedFacts } from './record/recorded-facts.ts';
import type { MaskedValue } from './masking/redact.ts';
import type { Tone } from './read/rows.ts';
import type { TraceContext } from './record/trace-context.ts';
import type { SummaryReason } from './record/recording-limit.ts';

/** The only panel that shows a request of which only a summary was recorded. */
export const SUMMARY_PANEL = 'overview';

/** A profile without panels and findings. */
export interface ProfileHead {
  token: string;
  kind: ProfileKind;
  /** `running`: the request has not ended, or its process ended first. */
  state: 'running' | 'final';
  /** Token of the request whose error page this is. */
  parent: string | null;
  /** Token of the error page rendered for this request. */
  child: string | null;
  method: string;
  /** Request target as sent, with its query; secrets masked. */
  url: string;
  /** `scheme://host[:port]`; null if the host was invalid. */
  origin: string | null;
  /** null until the headers are sent. */
  status: number | null;
  statusMessage: string;
  /** Pattern of the route that responded; null if none did. */
  route: string | null;
  clientAddress: string;
  requestId: string;
  /** The trace that it belongs to; absent: it got none, and passed none on. */
  trace?: TraceContext | undefined;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Milliseconds until the response finished; null while it runs. */
  durationMs: number | null;
  /** Milliseconds: the median of the latest requests of its route in its process, before this one; absent: there were too few. */
  usualMs?: number | undefined;
  /** `cut off`: its process ended while it ran. */
  outcome: 'running' | 'finished' | 'aborted' | 'cut off';
  /** What of this request ended its process, such as `an uncaught exception`; absent: nothing did. */
  endedProcess?: string | undefined;
  /** Why only a summary was recorded; null: recorded in full. */
  summary: SummaryReason | null;
  /** The process that responded: dyno name or host name, and pid. */
  process: string;
  /** Name of the release that responded: a commit, or what the platform calls it. null: unknown. */
  release: string | null;
  /** What was thrown, in one line; null if nothing was. */
  error: { name: string; message: string } | null;
}

/** What menu, list and toolbar show of a panel. */
export interface PanelSummary {
  /** Short text beside the panel's name, such as `314 ms` or `N+1 · 23`. */
  text: string;
  tone: Tone;
  /** Number of queries, log lines …: lists sort and filter by it. */
  count?: number;
}

/** A panel of a complete profile. `error`: message of the panel's failure; `data` is null then. */
export interface PanelRecord {
  data: unknown;
  summary: PanelSummary | null;
  error: string | null;
}

export interface Profile extends ProfileHead {
  panels: Record<string, PanelRecord>;
  findings: Finding[];
  /** Number of further findings that are not listed. */
  findingsLeft?: number | undefined;
  /** Facts not recorded because the request reached its recording limit, by kind. */
  dropped: Record<string, number>;
  masked: MaskedValue[];
}

/** A panel of a stored document. */
export interface KeptPanel {
  data?: unknown;
  /** Id of the value that it shares with other profiles. */
  shared?: string | undefined;
  error?: string;
}

type Optional =
  | 'parent'
  | 'child'
  | 'origin'
  | 'status'
  | 'statusMessage'
  | 'outcome'
  | 'route'
  | 'durationMs'
  | 'summary'
  | 'release'
  | 'error'
  | 'dropped'
  | 'masked';

/** As stored: an absent field is null or empty, an absent phrase the usual one of the status, an absent outcome `finished`. */
export type ProfileDocument = Omit<Profile, 'panels' | 'findings' | 'findingsLeft' | Optional> & {
  [Name in Optional]?: Profile[Name] | undefined;
} & RecordedFacts & {
    panels: Record<string, KeptPanel>;
  };
