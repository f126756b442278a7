/**
 * The record of one request: as it is stored (`ProfileDocument`: masked JSON with a version number, what is empty left out)
 * and as pages see it (`Profile`: everything there, what can be worked out worked out).
 */
import type { ProfileKind } from './context.ts';
import type { Finding, Severity } from './finding.ts';
import type { PanelRecord } from './panel.ts';
import type { MaskedValue } from './redact.ts';
import type { KeptOutline } from './sampling.ts';
import type { Trail } from './trail.ts';

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

export interface Profile extends ProfileHead {
  panels: Record<string, PanelRecord>;
  findings: Finding[];
  /** How many were found and are not kept. */
  findingsLeft?: number | undefined;
  /** Facts left out because the budget of the request was spent, by kind. */
  cut: Record<string, number>;
  masked: MaskedValue[];
}

/** A finding as lists show it. */
export interface FindingMark {
  label: string;
  severity: Severity;
}

/** The columns beside the document: what lists show, filter and sort by. */
export interface ProfileIndex extends Trail {
  token: string;
  kind: ProfileKind;
  state: 'running' | 'final';
  parent: string | null;
  child: string | null;
  method: string;
  url: string;
  origin: string | null;
  status: number | null;
  route: string | null;
  clientAddress: string;
  startedAt: number;
  durationMs: number | null;
  process: string;
  /** Message of what was thrown; null where nothing was. */
  error: string | null;
  queries: number;
  /** Number of findings, and the badge of the worst one. */
  findings: number;
  mark: string | null;
  /** The badges of the worst findings, each once. */
  marks: readonly FindingMark[];
  /** Length of the document in bytes. */
  bytes: number;
}

/** Longest text kept in an index column; the document holds the whole. */
const INDEX_TEXT_LIMIT = 2000;

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

/** Badges that a row of a list has room for. */
const MOST_MARKS = 3;

function marksOf(findings: readonly Finding[]): FindingMark[] {
  const marks: FindingMark[] = [];
  for (const { label, severity } of findings) {
    if (marks.length === MOST_MARKS) break;
    if (!marks.some((mark) => mark.label === label)) marks.push({ label: label.slice(0, 60), severity });
  }
  return marks;
}

/** What the columns of a profile tell beside its document. */
export interface IndexFacts {
  queries: number;
  trail: Trail | null;
}

export function indexOf(profile: ProfileDocument, { queries, trail }: IndexFacts): ProfileIndex {
  const { error, findings = [], origin, route } = profile;
  return {
    token: profile.token,
    kind: profile.kind,
    state: profile.state,
    parent: profile.parent ?? null,
    child: profile.child ?? null,
    method: profile.method.slice(0, 64),
    url: profile.url.slice(0, INDEX_TEXT_LIMIT),
    origin: origin?.slice(0, INDEX_TEXT_LIMIT) ?? null,
    status: profile.status ?? null,
    route: route?.slice(0, INDEX_TEXT_LIMIT) ?? null,
    clientAddress: profile.clientAddress.slice(0, 64),
    startedAt: profile.startedAt,
    durationMs: profile.durationMs ?? null,
    process: profile.process.slice(0, 200),
    error:
      error === undefined || error === null
        ? null
        : `${error.name}: ${error.message}`.slice(0, INDEX_TEXT_LIMIT),
    queries,
    findings: findings.length,
    mark: findings[0]?.label ?? null,
    marks: marksOf(findings),
    location: trail?.location ?? null,
    referrer: trail?.referrer ?? null,
    dest: trail?.dest ?? null,
    bytes: 0,
  };
}
