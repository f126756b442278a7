/** What the overview reads of other panels: the parts that it shows, perhaps stored by another release. */
import type { Profile } from '../../profiler/profile.ts';

export interface Pair {
  name: string;
  value: unknown;
}

export interface RecordedResponse {
  headers: readonly { name: string; value: string }[];
  authors?: { sent: readonly (readonly { by: string; place: string | null }[])[] } | null;
  contentType: string | null;
  bytes: number;
  text: string | null;
  truncated?: boolean;
  headersAtMs?: number | null;
  isErrorPage?: boolean;
}

export interface RecordedRequest {
  query?: readonly Pair[];
  routeParams?: readonly Pair[];
  headers?: readonly { name: string; value: string }[];
  body?: {
    bytes: number;
    contentType: string | null;
    fields: readonly Pair[] | null;
    parsed?: unknown;
    files: readonly { field: string; name: string; bytes: number }[];
    text?: string | null;
    truncated?: boolean;
    unread?: boolean;
  } | null;
  sessionAndUser?: { session?: unknown; user?: unknown } | null;
  response?: RecordedResponse | null;
}

export interface RecordedLine {
  level: string;
  message: string;
  atMs: number;
  caller?: string | null;
  after?: boolean;
}

function dataOf({ panels }: Profile, name: string): unknown {
  return panels[name]?.data ?? null;
}

export function requestOf(profile: Profile): RecordedRequest | null {
  return dataOf(profile, 'request') as RecordedRequest | null;
}

export function linesOf(profile: Profile): readonly RecordedLine[] {
  return (dataOf(profile, 'logs') as { lines?: readonly RecordedLine[] } | null)?.lines ?? [];
}

/** `src/payments/money.ts:12` of the first error; null if nothing was thrown in the application's own code. */
export function thrownAt(profile: Profile): string | null {
  const data = dataOf(profile, 'exception') as {
    errors?: readonly { place: { frame: { file: string | null; line: number | null } } | null }[];
  } | null;
  const frame = data?.errors?.[0]?.place?.frame;
  return frame?.file === undefined || frame.file === null ? null : `${frame.file}:${frame.line ?? 1}`;
}

/** How long the event loop was blocked; null if it was not watched. */
export function blockedMsOf(profile: Profile): number | null {
  return (
    (dataOf(profile, 'runtime') as { totals?: { blockedMs?: number } } | null)?.totals?.blockedMs ?? null
  );
}

export function queriesOf({ panels }: Profile): number {
  return panels.database?.summary?.count ?? 0;
}
