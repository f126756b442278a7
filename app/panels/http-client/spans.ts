import { pathOf } from '../../profiler/request-target.ts';
import { lasting, SHORTEST_WAIT_MS, shorten, type SpanDraft, type SpanPart } from '../../profiler/span.ts';
import { hasFailed } from '../shared/failed-call.ts';
import type { CallEntry } from './data.ts';

/** `POST rates.example/v2/quote`: without scheme and query. */
function callLabel(method: string, url: string): string {
  const short = pathOf(url.replace(/^[a-z]+:\/\//i, ''));
  return `${shorten(method, 20)} ${shorten(short, 80)}`;
}

/** Opening a connection is waiting; then the response, where the call tells how long each took. */
function callParts({ startMs, durationMs, connection }: CallEntry): SpanPart[] | null {
  if (connection === null || durationMs === null) return null;
  const { lookupMs, connectMs, tlsMs } = connection;
  const opening = Math.min(durationMs, (lookupMs ?? 0) + (connectMs ?? 0) + (tlsMs ?? 0));
  if (opening < SHORTEST_WAIT_MS) return null;
  return [
    { kind: 'socket', startMs, durationMs: opening },
    { kind: 'out', startMs: startMs + opening, durationMs: durationMs - opening },
  ];
}

/** `404`, `failed`; null: it succeeded. */
function failureOf(call: CallEntry): string | null {
  if (call.status !== null && call.status >= 400) return String(call.status);
  return hasFailed(call) ? 'failed' : null;
}

export function callSpans(calls: readonly CallEntry[], endMs: number): SpanDraft[] {
  return calls.map((call, index): SpanDraft => {
    const parts = callParts(call);
    const failed = failureOf(call);
    return {
      kind: 'out',
      label: callLabel(call.method, call.url),
      startMs: call.startMs,
      durationMs: lasting(call.startMs, call.durationMs, endMs),
      panel: 'http_client',
      anchor: `c${index + 1}`,
      ...(parts === null ? {} : { parts }),
      ...(failed === null ? {} : { failed }),
    };
  });
}
