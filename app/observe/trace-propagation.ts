/**
 * Adds the trace of the request to its outgoing calls (`traceparent`, `tracestate`), for the hosts that the settings name, and only where the
 * application has not added one itself. Subscribes to nothing unless there are such hosts.
 */
import { channel } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { ContextTracker } from '../profiler/record/context.ts';
import { rawHeader } from '../profiler/record/raw-headers.ts';
import { beginTrace, spanIdOf } from '../profiler/record/trace-context.ts';
import { undiciHeaders } from './http-client/undici-calls.ts';
import { closing, subscribeTo } from './subscribe.ts';

export interface TracePropagationOptions {
  tracker: ContextTracker;
  /** Lower-case names; `.example.com` for a domain with its subdomains, `*` for all. */
  hosts: readonly string[];
}

interface UndiciRequest {
  origin?: unknown;
  headers?: unknown;
  addHeader?: (name: string, value: string) => void;
}

function isAmong(hosts: readonly string[], host: string): boolean {
  const name = host.toLowerCase();
  return hosts.some(
    (known) => known === '*' || known === name || (known.startsWith('.') && `.${name}`.endsWith(known)),
  );
}

export function observeTracePropagation({ tracker, hosts }: TracePropagationOptions): { close(): void } {
  function headersFor(host: string): [name: string, value: string][] {
    const context = tracker.observed();
    if (context === undefined || !isAmong(hosts, host)) return [];
    const { traceId, sampled, state } = beginTrace(context);
    const traceparent: [string, string] = [
      'traceparent',
      `00-${traceId}-${spanIdOf(context)}-${sampled ? '01' : '00'}`,
    ];
    return state === undefined ? [traceparent] : [traceparent, ['tracestate', state]];
  }

  function toUndici({ request }: { request: UndiciRequest }): void {
    const { origin, headers } = request;
    const address = String(origin);
    if (request.addHeader === undefined || !URL.canParse(address)) return;
    if (rawHeader(undiciHeaders(headers), 'traceparent') !== null) return;
    for (const [name, value] of headersFor(new URL(address).hostname)) request.addHeader(name, value);
  }

  /** Node 22.12 and later: before, a call is announced when its headers are sent. */
  function toHttp({ request }: { request: ClientRequest }): void {
    if (request.headersSent || request.hasHeader('traceparent')) return;
    for (const [name, value] of headersFor(request.host)) request.setHeader(name, value);
  }

  if (hosts.length === 0) return closing([]);
  return closing([
    subscribeTo(channel('undici:request:create'), toUndici),
    subscribeTo(channel('http.client.request.created'), toHttp),
  ]);
}
