/** Queries, calls, views, and what the process waited for, as spans. */
import type { Profile } from '../../profiler/profile.ts';
import { callsOf, databaseOf, type KeptCall, runtimeOf, viewsOf } from '../shared/kept-panels.ts';
import { type Draft, shorten, type SpanPart } from './spans.ts';

/** Waits shorter than this are part of what they wait for. */
const SHORTEST_WAIT = 1;

function lasting(durationMs: number | null, startMs: number, totalMs: number): number {
  return durationMs ?? Math.max(0, totalMs - startMs);
}

function queryDrafts(profile: Profile, totalMs: number): Draft[] {
  const { queries, statements } = databaseOf(profile);
  const drafts: Draft[] = [];
  for (const [index, query] of queries.entries()) {
    const { sql, label } = statements[query.statement] ?? { sql: '', label: '' };
    const anchor = query.group === null ? `q${index + 1}` : `g${query.group + 1}`;
    if (query.waitMs >= SHORTEST_WAIT) {
      // A wait that no statement followed is a row of its own, from when it began.
      const durationMs = sql === '' ? query.waitMs : Math.min(query.waitMs, query.startMs);
      drafts.push({
        kind: 'wait',
        label: 'waiting for a connection',
        startMs: sql === '' ? query.startMs : query.startMs - durationMs,
        durationMs,
        panel: 'database',
        anchor,
        reason: 'pool',
      });
      if (sql === '') continue;
    }
    drafts.push({
      kind: 'db',
      label,
      startMs: query.startMs,
      durationMs: lasting(query.durationMs, query.startMs, totalMs),
      panel: 'database',
      anchor,
    });
  }
  return drafts;
}

/** `POST rates.example/v2/quote`: without scheme and query. */
function callLabel(method: string, url: string): string {
  const short = url.replace(/^[a-z]+:\/\//i, '').replace(/[?#].*$/s, '');
  return `${shorten(method, 20)} ${shorten(short, 80)}`;
}

/** The new connection hatched, then the answer, where the call tells how long each took. */
function callParts({ startMs, durationMs, connection }: KeptCall): SpanPart[] | null {
  if (connection === null || connection === undefined || durationMs === null) return null;
  const { lookupMs, connectMs, tlsMs } = connection;
  const opening = Math.min(durationMs, (lookupMs ?? 0) + (connectMs ?? 0) + (tlsMs ?? 0));
  if (opening < SHORTEST_WAIT) return null;
  return [
    { kind: 'wait', startMs, durationMs: opening },
    { kind: 'out', startMs: startMs + opening, durationMs: durationMs - opening },
  ];
}

function callDrafts(profile: Profile, totalMs: number): Draft[] {
  return callsOf(profile).map((call, index): Draft => {
    const parts = callParts(call);
    return {
      kind: 'out',
      label: callLabel(call.method, call.url),
      startMs: call.startMs,
      durationMs: lasting(call.durationMs, call.startMs, totalMs),
      panel: 'http_client',
      anchor: `c${index + 1}`,
      ...(parts === null ? {} : { parts }),
    };
  });
}

function viewDrafts(profile: Profile, totalMs: number): Draft[] {
  const drafts: Draft[] = [];
  for (const [index, view] of viewsOf(profile).entries()) {
    const above = view.parent === null || view.parent === undefined ? undefined : drafts[view.parent];
    drafts.push({
      kind: 'view',
      label: shorten(view.name, 120),
      startMs: view.startMs,
      durationMs: lasting(view.durationMs, view.startMs, totalMs),
      panel: 'views',
      anchor: `v${index + 1}`,
      ...(above === undefined ? {} : { inside: above }),
    });
  }
  return drafts;
}

function processDrafts(profile: Profile): Draft[] {
  const { held = [], collections = [] } = runtimeOf(profile) ?? {};
  const common = { kind: 'wait', panel: 'runtime', global: true } as const;
  return [
    ...held.map(({ startMs, durationMs, by }, index): Draft => {
      const other = by !== undefined && by.profile !== profile.token;
      const label =
        by === undefined
          ? 'event loop held'
          : other
            ? `event loop held by ${shorten(by.what, 120)}`
            : `event loop held here, in ${shorten(by.where, 120)}`;
      const draft: Draft = { ...common, label, startMs, durationMs, anchor: `h${index + 1}`, reason: 'held' };
      return other ? { ...draft, token: by.profile } : draft;
    }),
    ...collections.map(({ startMs, durationMs, kind }, index): Draft => ({
      ...common,
      label: `garbage collection, ${shorten(kind, 40)}`,
      startMs,
      durationMs,
      anchor: `gc${index + 1}`,
      reason: 'collection',
    })),
  ];
}

export function workDrafts(profile: Profile, totalMs: number): Draft[] {
  return [
    ...queryDrafts(profile, totalMs),
    ...callDrafts(profile, totalMs),
    ...viewDrafts(profile, totalMs),
    ...processDrafts(profile),
  ];
}
