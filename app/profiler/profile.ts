/**
 * The record of one request: as it is stored (`ProfileDocument`: masked JSON with a version number, what is empty left out)
 * and as pages see it (`Profile`: everything there, what can be worked out worked out).
 */
import type { ProfileKind } from './context.ts';
import type { Finding } from './finding.ts';
import type { MaskedValue } from './redact.ts';
import type { Tone } from './rows.ts';
import type { KeptOutline } from './sampling.ts';

/** 2: what can be derived is left out. 1: everything stood in the document. */
export const PROFILE_VERSION = 2;

/** A profile without its panels and what they found. */
export interface ProfileHead {
  version: number;
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
  /** `scheme://host[:port]`; null where the host was invalid. */
  origin: string | null;
  /** null while no headers went out. */
  status: number | null;
  statusMessage: string;
  /** Pattern of the route that answered; null where none did. */
  route: string | null;
  clientAddress: string;
  requestId: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Milliseconds to the end of the answer; null while it runs. */
  durationMs: number | null;
  outcome: 'running' | 'finished' | 'aborted';
  /** Sampled out, and its outline kept for this reason; null: recorded in full. */
  outline: KeptOutline;
  /** Which process answered: dyno name or host name, and pid. */
  process: string;
  /** What was thrown, in one line; null where nothing was. */
  error: { name: string; message: string } | null;
}

/** What the menu, the list and the toolbar show of a panel. */
export interface PanelSummary {
  /** Short text beside the panel's name, such as `314 ms` or `N+1 · 23`. */
  text: string;
  tone: Tone;
  /** The number that lists sort and filter by: queries, log lines … */
  count?: number;
}

/** What a profile that was read holds of a panel. `error`: the panel failed, the message says how; `data` is null then. */
export interface PanelRecord {
  data: unknown;
  summary: PanelSummary | null;
  error: string | null;
}

export interface Profile extends ProfileHead {
  panels: Record<string, PanelRecord>;
  findings: Finding[];
  /** How many were found and are not kept. */
  findingsLeft?: number | undefined;
  /** Facts left out because the budget of the request was spent, by kind. */
  cut: Record<string, number>;
  masked: MaskedValue[];
}

/** What is stored of a panel. */
export interface KeptPanel {
  data?: unknown;
  /** Id of what it shares with other profiles. */
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
  | 'outline'
  | 'error'
  | 'findings'
  | 'cut'
  | 'masked';

/** As stored: an absent field is null or empty, an absent phrase that of its status, an absent outcome `finished`. */
export type ProfileDocument = Omit<Profile, 'panels' | Optional> & {
  [Name in Optional]?: Profile[Name] | undefined;
} & { panels: Record<string, KeptPanel> };
