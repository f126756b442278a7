/** The calls of a page for the toolbar, found by one bounded search over index rows, with the rules of visits.ts. */
import type { Profile } from '../../profiler/profile.ts';
import { indexOf, type ProfileIndex } from '../../profiler/store/profile-index.ts';
import type { Profiles } from '../../profiler/read/profiles.ts';
import { shorten } from '../../profiler/read/span.ts';
import { durationText } from '../../view-helpers/numbers.ts';
import { urls } from '../../urls.ts';
import { fetchesOf } from './list/visits.ts';

export type Tone = 'plain' | 'warn' | 'bad';

export interface PageCall {
  token: string;
  method: string;
  url: string;
  status: number | null;
  type: 'fetch' | 'xhr' | 'eventsource' | 'beacon' | 'document' | 'other';
  startedAt: number;
  durationMs: number | null;
  tone: Tone;
  why: string | null;
  href: string;
  state: ProfileIndex['state'];
}

export interface PageCalls {
  calls: PageCall[];
  moreCalls: number;
}

const MOST_ROWS = 200;
const MOST_CALLS = 100;
const SLOW_MS = 1000;

const TYPES: Readonly<Record<string, PageCall['type']>> = {
  empty: 'fetch',
  xhr: 'xhr',
  eventsource: 'eventsource',
  beacon: 'beacon',
  iframe: 'document',
  frame: 'document',
};

function isRefused({ status, state }: ProfileIndex): boolean {
  return status === null ? state === 'final' : status >= 400;
}

/** Images, styles, scripts and preflights only count as calls if they failed. */
function isCall(row: ProfileIndex): boolean {
  return isRefused(row) || (Object.hasOwn(TYPES, row.dest ?? '') && row.method !== 'OPTIONS');
}

function typeOf({ dest, method }: ProfileIndex): PageCall['type'] {
  return method === 'OPTIONS' ? 'other' : (TYPES[dest ?? ''] ?? 'other');
}

function judge(row: ProfileIndex): { tone: Tone; why: string | null } {
  const { status, state, durationMs, error, marks } = row;
  const worst = marks.find(({ severity }) => severity !== 'info');
  if (status === null && state === 'final') return { tone: 'bad', why: 'no response was sent' };
  if (status !== null && status >= 500) return { tone: 'bad', why: error ?? `responded ${status}` };
  if (status !== null && status >= 400) return { tone: 'warn', why: error ?? `responded ${status}` };
  if (worst?.severity === 'bad') return { tone: 'bad', why: worst.label };
  if (durationMs !== null && durationMs >= SLOW_MS && typeOf(row) !== 'eventsource')
    return { tone: 'warn', why: `slow: ${durationText(durationMs)}` };
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
    why: why === null ? null : shorten(why, LONGEST_WHY),
    href: urls.profile(token),
    state,
  };
}

function listed(rows: readonly ProfileIndex[]): PageCalls {
  const calls = rows.filter(isCall);
  return {
    calls: calls.slice(-MOST_CALLS).map(callOf),
    moreCalls: Math.max(0, calls.length - MOST_CALLS),
  };
}

export function pageRowOf(profile: Profile): ProfileIndex {
  const navigationHints = { location: null, referrer: null, dest: 'document' };
  return indexOf({ document: { ...profile, panels: {} }, findings: [], queries: 0, navigationHints });
}

/** Calls attributed to a later page with the same address or no referrer: the service can't tell two tabs apart. */
function mayBelongTo(page: ProfileIndex, { startedAt, dest, referrer }: ProfileIndex): boolean {
  const isFetched = dest !== null && dest !== 'document';
  return isFetched && startedAt >= page.startedAt && (referrer === null || referrer === page.url);
}

export async function findPageCalls(
  profiles: Pick<Profiles, 'find'>,
  page: ProfileIndex,
): Promise<PageCalls & { others: PageCall[] }> {
  const { kind, clientAddress, startedAt } = page;
  if (kind !== 'request') return { calls: [], moreCalls: 0, others: [] };
  const { rows } = await profiles.find({ clientAddress, from: startedAt, limit: MOST_ROWS, counted: false });
  const calls = fetchesOf(page, rows);
  const tokens = new Set(calls.map(({ token }) => token));
  const others = rows.filter((row) => !tokens.has(row.token) && mayBelongTo(page, row)).reverse();
  return { ...listed(calls), others: listed(others).calls };
}

export async function findCallsFrom(
  profiles: Pick<Profiles, 'find'>,
  { origin, clientAddress, since }: { origin: string; clientAddress: string; since: number },
): Promise<PageCalls> {
  const { rows } = await profiles.find({ clientAddress, from: since, limit: MOST_ROWS, counted: false });
  return listed(rows.filter(({ referrer, dest }) => dest !== null && referrer === origin).reverse());
}
