/** The steps of an outgoing call that all clients share: how it begins, is answered, and ends. */
import diagnostics from 'node:diagnostics_channel';
import type { Context } from '../../profiler/record/context.ts';
import type { Repeating } from '../../profiler/record/fact-list.ts';
import { truncateText } from '../../profiler/record/plain.ts';
import { rawHeader } from '../../profiler/record/raw-headers.ts';
import { failureText, stackText } from '../../profiler/record/thrown-value.ts';
import { type ConnectionParts, createConnectionTimes } from '../databases/connection-times.ts';
import type { ConnectionHolder } from '../databases/query-fact.ts';
import { type CallRecorder, createCallRecorder, type RecordedCall } from '../observe-calls.ts';
import type { Called } from '../stacks/caller.ts';
import { type ObserverParts, subscribeTo } from '../subscribe.ts';
import { type CallBody, createCallBodies } from './call-bodies.ts';

export interface CallFact extends Called {
  method: string;
  url: string;
  /** `fetch` (undici), `http` (node:http, node:https) or `http2` (node:http2, and so gRPC). */
  client: 'fetch' | 'http' | 'http2';
  status: number | null;
  startMs: number;
  durationMs: number | null;
  headersMs: number | null;
  connection: ConnectionParts | null;
  /** Until the request was sent, after connecting or waiting for a connection; null if it is not reported. */
  sentMs?: number | null;
  heldBy?: readonly ConnectionHolder[];
  reused?: boolean;
  requestHeaders: string[];
  responseHeaders: string[];
  requestBody?: CallBody;
  responseBody?: CallBody;
  error: string | null;
  link: string | null;
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    call: CallFact;
  }
}

const REPEATED: Repeating<CallFact> = {
  key: ({ caller, method, url }) =>
    `${caller ?? ''}\n${method} ${/^[a-z]+:\/\/[^/?#]*/i.exec(url)?.[0] ?? ''}`,
  failed: ({ status, error }) => (status === null ? error !== null : status >= 500),
};

export interface HttpClientParts extends ObserverParts {
  bodyBytes?: number;
}

export interface HttpCalls extends ObserverParts {
  /** Of each body that is recorded; 0: none is. */
  bodyBytes: number;
  bodies: ReturnType<typeof createCallBodies>;
  times: ReturnType<typeof createConnectionTimes>;
  calls: CallRecorder<'call'>;
  undo: (() => void)[];
  begin(key: object, call: Begun, caller?: Called): RecordedCall<'call'> | undefined;
  answered(call: RecordedCall<'call'>, status: number | null, headers: readonly unknown[]): void;
  /** The connection has another owner after the headers of the response. */
  handedOver(key: object, status: number | null, headers: readonly unknown[]): void;
  endFailed(key: object, error: unknown, outcome?: (fact: CallFact) => void): void;
  on(name: string, work: (message: never) => void): void;
  /** Messages about a request that is recorded. */
  later(name: string, work: (call: RecordedCall<'call'>, message: never) => void): void;
}

type Begun = Pick<CallFact, 'client' | 'method' | 'url' | 'requestHeaders'>;

const MOST_HEADERS = 100;
const HEADER_LENGTH = 2000;

export function text(value: unknown): string {
  return typeof value === 'string'
    ? value
    : Buffer.isBuffer(value)
      ? value.toString('latin1')
      : String(value);
}

/** A proxy is sent the whole address of its target, or for a tunnel host and port alone (RFC 9112, section 3.2). */
export function addressOf(origin: string, target: string): string {
  if (/^https?:\/\//i.test(target)) return truncateText(target, 8192);
  return truncateText(`${origin}${target.startsWith('/') ? '' : '/'}${target}`, 8192);
}

export function truncateHeaders(pairs: readonly unknown[]): string[] {
  return pairs.slice(0, 2 * MOST_HEADERS).map((part) => truncateText(text(part), HEADER_LENGTH));
}

/** As only the exporters of Sentry, New Relic, OpenTelemetry and Datadog write them. */
const OF_EXPORTER =
  /^(?:user-agent\n(?:sentry\.javascript\.|NewRelic-NodeAgent\/|(?:.* )?OTel-OTLP-Exporter-JavaScript\/)|datadog-meta-lang\n)/i;

/** What a tool in this process sends of it is no call of the application. */
function isOfExporter(headers: readonly string[]): boolean {
  return headers.some((name, at) => at % 2 === 0 && OF_EXPORTER.test(`${name}\n${headers[at + 1] ?? ''}`));
}

const OF_TIMER = /\blistOnTimeout\b/;

/** Of an abort: the timeout that was its reason, or that it came from a timer, `setTimeout(() => controller.abort(), 1000)`. */
function abortText(error: unknown): string | null {
  const text = failureText(error);
  if (!/^(?:AbortError|CanceledError)\b/.test(text)) return null;
  const { cause } = error as { cause?: unknown };
  const reason = cause === undefined ? '' : failureText(cause);
  if (reason.startsWith('TimeoutError')) return reason;
  return OF_TIMER.test(stackText(error) + stackText(cause)) ? `${text}, by a timer` : null;
}

function calledByRedirect(context: Context, url: string): Called | null {
  const before = context.last('call');
  if (before === undefined || before.status === null || before.status < 300 || before.status > 399)
    return null;
  const location = rawHeader(before.responseHeaders, 'location') ?? '';
  return URL.canParse(location, before.url) && new URL(location, before.url).href === url
    ? { caller: before.caller, path: before.path }
    : null;
}

export function createHttpCalls({ tracker, findCaller, bodyBytes = 0 }: HttpClientParts): HttpCalls {
  const calls = createCallRecorder({
    tracker,
    findCaller,
    fact: 'call',
    library: 'undici',
    repeating: REPEATED,
  });
  const undo: (() => void)[] = [];

  function begin(key: object, call: Begun, caller?: Called): RecordedCall<'call'> | undefined {
    if (isOfExporter(call.requestHeaders)) return undefined;
    calls.begin(key, (find, context) => {
      const by = caller ?? find();
      return {
        ...call,
        status: null,
        headersMs: null,
        connection: null,
        responseHeaders: [],
        error: null,
        link: null,
        ...(by.caller === null ? (calledByRedirect(context, call.url) ?? by) : by),
      };
    });
    return calls.running(key);
  }

  function answered(
    { context, fact }: RecordedCall<'call'>,
    status: number | null,
    headers: readonly unknown[],
  ): void {
    fact.status = status;
    fact.headersMs = context.elapsedMs() - fact.startMs;
    fact.responseHeaders = truncateHeaders(headers);
    fact.link = rawHeader(fact.responseHeaders, 'x-debug-token-link');
  }

  return {
    tracker,
    findCaller,
    bodyBytes,
    bodies: createCallBodies(bodyBytes),
    times: createConnectionTimes(),
    calls,
    undo,
    begin,
    answered,

    handedOver(key, status, headers) {
      const entry = calls.running(key);
      if (entry === undefined) return;
      answered(entry, status, headers);
      calls.end(key);
    },

    endFailed(key, error, outcome) {
      calls.end(key, error, (fact) => {
        fact.error = abortText(error) ?? fact.error;
        outcome?.(fact);
      });
    },

    on(name, work) {
      undo.push(subscribeTo(diagnostics.channel(name), work));
    },

    later(name, work) {
      undo.push(
        subscribeTo(diagnostics.channel(name), (message: { request: object }) => {
          const call = calls.running(message.request);
          if (call !== undefined) work(call, message as never);
        }),
      );
    },
  };
}
