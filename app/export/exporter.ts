/** Sends profiles to an OpenTelemetry collector, as JSON over HTTP: a limited queue, and one batch at a time. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { dropOldest } from '../profiler/drop-oldest.ts';
import type { ExportCounters } from '../profiler/export.ts';
import { documentIn, type StoredText } from '../profiler/record/summary.ts';
import type { ExportedBy } from './otlp-model.ts';
import type { Telemetry } from './otlp-profile.ts';
import type { ExportedProfile } from './otlp-work.ts';

export interface ExporterOptions {
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  isCompressed: boolean;
  by: ExportedBy;
  /** Makes a profile of a recorded text. Called some milliseconds at a time, never on the path of a request. */
  profileOf: (text: string) => ExportedProfile;
  /** Runs `work` outside of any request, so that the exporter's calls are not recorded as the application's. */
  unobserved: <T>(work: () => T) => T;
  warn: (sentence: string) => void;
}

interface Batch {
  traces: string[];
  logs: string[];
  count: number;
  leftOut: number;
}

interface Failure {
  reason: string;
  isFinal: boolean;
  againMs: number;
}

const QUEUE_COUNT = 10_000;
const QUEUE_BYTES = 16 * 1024 * 1024;
const BATCH_COUNT = 256;
const BATCH_BYTES = 1024 * 1024;
const LINGER_MS = 1000;
const TURN_MS = 2;
/** The default of OTEL_EXPORTER_OTLP_TIMEOUT. */
const TIMEOUT_MS = 10_000;
/** Milliseconds until a batch that was not accepted is sent again; twice as many after each attempt, and what `Retry-After` says. */
const AGAIN_MS = 1000;
const LONGEST_AGAIN_MS = 60_000;
/** Ids of sent spans and log records; late facts arrive within ten seconds. */
const MOST_REMEMBERED = 50_000;

/** Of OTLP/HTTP; a request with another status must not be repeated. */
const RETRYABLE = new Set([429, 502, 503, 504]);

const compress = promisify(gzip);

/** Neither what still runs, because a span is sent once, when it has ended; nor the profiler's own pages. */
function isExported({ kind, state, outcome }: ExportedProfile): boolean {
  if (kind === 'profiler' || kind === 'error_page') return false;
  return state === 'final' || outcome === 'cut off';
}

function againMsOf(value: string | null): number {
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? 0 : ms;
}

/** `fetch` hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  const { message: reason, code } = (cause ?? {}) as NodeJS.ErrnoException;
  return reason || code || message;
}

export function createExporter(options: ExporterOptions) {
  const { endpoint, isCompressed, by, profileOf, unobserved, warn } = options;
  const headers = {
    ...options.headers,
    'content-type': 'application/json',
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
  };
  const counters = { given: 0, sent: 0, leftOut: 0, pending: 0, pendingBytes: 0 };
  const dropped: Record<string, number> = {};
  const queue: string[] = [];
  const remembered = new Set<string>();
  let running: Promise<void> | null = null;
  const closing = new AbortController();
  let isOver = false;
  let request: AbortController | null = null;

  function drop(count: number, reason: string): void {
    if (count > 0) dropped[reason] = (dropped[reason] ?? 0) + count;
  }

  /** Neither a pause nor what waits for its end keeps the process alive. */
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
  }

  function isNew(id: string): boolean {
    if (remembered.has(id)) return false;
    remembered.add(id);
    dropOldest(remembered, MOST_REMEMBERED);
    return true;
  }

  function newsOf({ spans, logRecords }: Telemetry): Telemetry {
    return {
      spans: spans.filter(({ spanId }) => isNew(spanId)),
      logRecords: logRecords.filter(({ spanId }, index) => isNew(`${spanId} ${index}`)),
    };
  }

  function take(): string[] {
    let count = 0;
    let bytes = 0;
    for (const text of queue) {
      const length = Buffer.byteLength(text);
      if (count > 0 && (count === BATCH_COUNT || bytes + length > BATCH_BYTES)) break;
      count++;
      bytes += length;
    }
    counters.pendingBytes -= bytes;
    return queue.splice(0, count);
  }

  /** Each profile becomes a text at once: objects of a whole batch would be collected late. */
  async function convert(texts: readonly string[]): Promise<Batch> {
    // Loaded with the first batch.
    const { profileOtlp, telemetryOf } = await import('./otlp-profile.ts');
    const batch: Batch = { traces: [], logs: [], count: 0, leftOut: 0 };
    let begun = performance.now();
    for (const text of texts) {
      if (performance.now() - begun > TURN_MS) {
        await nextTurn();
        begun = performance.now();
      }
      try {
        const profile = profileOf(text);
        if (!isExported(profile)) {
          batch.leftOut++;
          continue;
        }
        const news = newsOf(telemetryOf(profile));
        const { resourceSpans, resourceLogs } = profileOtlp(profile, by, news);
        if (news.spans.length > 0) batch.traces.push(JSON.stringify(resourceSpans[0]));
        if (news.logRecords.length > 0) batch.logs.push(JSON.stringify(resourceLogs[0]));
        batch.count++;
      } catch {
        // In no count of the batch: it is counted as unreadable.
      }
    }
    return batch;
  }

  /** One attempt; null: it was accepted. */
  async function post(url: string, body: string | Buffer): Promise<Failure | null> {
    request = new AbortController();
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
      await response.body?.cancel();
      if (response.ok) return null;
      const { status, headers: answered } = response;
      const againMs = againMsOf(answered.get('retry-after'));
      return { reason: `status ${status}`, isFinal: !RETRYABLE.has(status), againMs };
    } catch (error) {
      return { reason: reasonOf(error), isFinal: false, againMs: 0 };
    }
  }

  /** null: it was accepted, or there was nothing to send; else why not. */
  async function deliver(path: string, name: string, parts: readonly string[]): Promise<string | null> {
    if (parts.length === 0) return null;
    const text = `{"${name}":[${parts.join(',')}]}`;
    const body = isCompressed ? await compress(text) : text;
    for (let pauseMs = AGAIN_MS; !isOver; pauseMs *= 2) {
      const failure = await post(endpoint + path, body);
      if (failure === null) return null;
      const { reason, isFinal, againMs } = failure;
      if (closing.signal.aborted) return isFinal ? reason : 'shut down';
      warn(`Profiles can't be exported to ${new URL(endpoint).host}${path} at the moment (${reason}).`);
      if (isFinal) return reason;
      await pause(Math.min(Math.max(pauseMs, againMs), LONGEST_AGAIN_MS));
    }
    return 'shut down';
  }

  async function send(texts: readonly string[]): Promise<void> {
    const { traces, logs, count, leftOut } = await convert(texts);
    const failure = [
      await deliver('/v1/traces', 'resourceSpans', traces),
      await deliver('/v1/logs', 'resourceLogs', logs),
    ].find((reason) => reason !== null);
    counters.leftOut += leftOut;
    drop(texts.length - count - leftOut, 'unreadable');
    if (failure === undefined) counters.sent += count;
    else drop(count, failure);
  }

  async function run(): Promise<void> {
    while (queue.length > 0 && !isOver) {
      const isFull = queue.length >= BATCH_COUNT || counters.pendingBytes >= BATCH_BYTES;
      await (isFull ? nextTurn() : pause(LINGER_MS));
      const texts = take();
      try {
        await send(texts);
      } catch (error) {
        // Files of this package may be replaced while the application runs.
        warn(`Profiles can't be exported at the moment (${reasonOf(error)}).`);
        drop(texts.length, 'failed');
      }
      counters.pending -= texts.length;
    }
    running = null;
  }

  return {
    /** Queues a recorded profile. One that was recorded again is sent only as far as it is new. */
    add(record: StoredText): void {
      const text = record.text === '' ? JSON.stringify(documentIn(record)) : record.text;
      counters.given++;
      if (closing.signal.aborted) {
        drop(1, 'shut down');
        return;
      }
      queue.push(text);
      counters.pending++;
      counters.pendingBytes += Buffer.byteLength(text);
      while (queue.length > QUEUE_COUNT || counters.pendingBytes > QUEUE_BYTES) {
        counters.pending--;
        counters.pendingBytes -= Buffer.byteLength(queue.shift() ?? '');
        drop(1, 'queue full');
      }
      if (queue.length > 0) running ??= unobserved(run);
    },
    counters: (): ExportCounters => ({ ...counters, dropped: { ...dropped }, maxBytes: QUEUE_BYTES }),
    /** Sends the queue within `withinMs`; the rest is counted as dropped. */
    async close(withinMs: number): Promise<void> {
      closing.abort();
      const timer = setTimeout(() => {
        isOver = true;
        request?.abort();
      }, withinMs);
      await running;
      clearTimeout(timer);
      drop(queue.splice(0).length, 'shut down');
      counters.pending = 0;
      counters.pendingBytes = 0;
    },
  };
}

export type Exporter = ReturnType<typeof createExporter>;
