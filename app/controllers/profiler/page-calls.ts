/**
 * The calls of a page as the toolbar lists them: which they are is worked out as for the list (visits.ts), from index rows
 * alone. No document is read: one search, bounded by a number of rows, finds all of them.
 */
import type { Profile } from '../../profiler/profile.ts';
import { indexOf, type ProfileIndex } from '../../profiler/profile-index.ts';
import type { Profiles } from '../../profiler/profiles.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { urls } from '../../urls.ts';
import { fetchesOf } from './visits.ts';

export type Tone = 'plain' | 'warn' | 'bad';

export interface PageCall {
  token: string;
  method: string;
  url: string;
  /** null while no headers went out. */
  status: number | null;
  type: 'fetch' | 'xhr' | 'eventsource' | 'websocket' | 'beacon' | 'document' | 'other';
  /** Milliseconds since 1970, by the clock of the server. */
  startedAt: number;
  /** null while it runs. */
  durationMs: number | null;
  tone: Tone;
  /** In words; null where nothing is to be said. */
  why: string | null;
  href: string;
  state: ProfileIndex['state'];
}

export interface PageCalls {
  /** Oldest first. */
  calls: PageCall[];
  /** Older ones that are left out. */
  moreCalls: number;
}

/** For a bar, which knows by their tokens which calls its page made. */
export interface AskedCalls extends PageCalls {
  /** Such as another page of the client may have made just as well, by all that the service knows; oldest first. */
  others: PageCall[];
}

/** The newest requests of the client that are looked at; a page that polls has no end of them. */
const MOST_ROWS = 200;
const MOST_CALLS = 100;
/** Milliseconds from which on a call is slow. */
const SLOW_MS = 1000;
/** Milliseconds for which a call that began before `since` may have gone on. */
const LONGEST_MS = 600_000;
/** Milliseconds that a call takes at most to be seen by another process, and more. */
const SEEN_WITHIN = 2000;

const TYPES: Readonly<Record<string, PageCall['type']>> = {
  empty: 'fetch',
  xhr: 'xhr',
  eventsource: 'eventsource',
  websocket: 'websocket',
  beacon: 'beacon',
  iframe: 'document',
  frame: 'document',
};

function isRefused({ status, state }: ProfileIndex): boolean {
  return status === null ? state === 'final' : status >= 400;
}

/** Images, styles and scripts of a page, and preflights, are no calls unless something is wrong with them. */
function isCall(row: ProfileIndex): boolean {
  return isRefused(row) || (Object.hasOwn(TYPES, row.dest ?? '') && row.method !== 'OPTIONS');
}

function typeOf({ dest, method }: ProfileIndex): PageCall['type'] {
  return method === 'OPTIONS' ? 'other' : (TYPES[dest ?? ''] ?? 'other');
}

function judge(row: ProfileIndex): { tone: Tone; why: string | null } {
  const { status, state, durationMs, error, marks } = row;
  const worst = marks.find(({ severity }) => severity !== 'info');
  if (status === null && state === 'final') return { tone: 'bad', why: 'no answer went out' };
  if (status !== null && status >= 500) return { tone: 'bad', why: error ?? `answered ${status}` };
  if (status !== null && status >= 400) return { tone: 'warn', why: error ?? `answered ${status}` };
  if (worst?.severity === 'bad') return { tone: 'bad', why: worst.label };
  if (durationMs !== null && durationMs >= SLOW_MS && typeOf(row) !== 'eventsource')
    return { tone: 'warn', why: `slow: ${numberHelpers.durationText(durationMs)}` };
  return worst === undefined ? { tone: 'plain', why: null } : { tone: 'warn', why: worst.label };
}

const LONGEST_WHY = 200;

function callOf(row: ProfileIndex): PageCall {
  const { token, method, url, status, startedAt, durationMs, state } = row;
  const { tone, why } = judge(row);
  return {
    token,
    method,
    url,
    status,
    type: typeOf(row),
    startedAt,
    durationMs,
    tone,
    why: why === null || why.length <= LONGEST_WHY ? why : `${why.slice(0, LONGEST_WHY - 1)}…`,
    href: urls.profile(token),
    state,
  };
}

/** Those that ran at some moment since then. */
function ranSince(row: ProfileIndex, since: number): boolean {
  return row.state === 'running' || row.startedAt + (row.durationMs ?? 0) >= since - SEEN_WITHIN;
}

function listed(rows: readonly ProfileIndex[], since: number): PageCalls {
  const calls = rows.filter((row) => isCall(row) && ranSince(row, since));
  return {
    calls: calls.slice(-MOST_CALLS).map(callOf),
    moreCalls: Math.max(0, calls.length - MOST_CALLS),
  };
}

/** What has to be known of a page to find its calls. */
export function pageRowOf(profile: Profile): ProfileIndex {
  const trail = { location: null, referrer: null, dest: 'document' };
  return indexOf({ document: { ...profile, panels: {} }, queries: 0, trail });
}

/** What a page opened since took for its own, though it names the same address, or none: two tabs are told apart by nothing. */
function mayBeOf(page: ProfileIndex, { startedAt, dest, referrer }: ProfileIndex): boolean {
  const isFetched = dest !== null && dest !== 'document';
  return isFetched && startedAt >= page.startedAt && (referrer === null || referrer === page.url);
}

/** `since`: only those that ran at some moment since then, in milliseconds since 1970. */
export async function findPageCalls(
  profiles: Pick<Profiles, 'find'>,
  page: ProfileIndex,
  since: number | null,
): Promise<AskedCalls> {
  const { kind, clientAddress, startedAt } = page;
  if (kind !== 'request') return { calls: [], moreCalls: 0, others: [] };
  const { rows } = await profiles.find({
    clientAddress,
    from: Math.max(startedAt, (since ?? startedAt) - LONGEST_MS),
    limit: MOST_ROWS,
    offset: 0,
    counted: false,
  });
  const own = fetchesOf(page, rows);
  const taken = new Set(own.map(({ token }) => token));
  const others = rows.filter((row) => !taken.has(row.token) && mayBeOf(page, row)).reverse();
  const from = since ?? startedAt;
  return { ...listed(own, from), others: listed(others, from).calls };
}

/** Calls that the pages of another origin made, of one client. */
export async function findCallsFrom(
  profiles: Pick<Profiles, 'find'>,
  { origin, clientAddress, since }: { origin: string; clientAddress: string; since: number },
): Promise<PageCalls> {
  const from = since - LONGEST_MS;
  const { rows } = await profiles.find({ clientAddress, from, limit: MOST_ROWS, offset: 0, counted: false });
  return listed(rows.filter(({ referrer, dest }) => dest !== null && referrer === origin).reverse(), since);
}
