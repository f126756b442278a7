/**
 * Sends stored profiles to an OpenTelemetry collector, by OTLP/HTTP: a queue limited in bytes, one request at a time, repeated after
 * growing pauses. Runs in a thread, never in the one that serves requests.
 */
import type { ExportCounters } from '../profiler/export.ts';
import { createBatches } from './otlp-batch.ts';
import { JSON_ENCODING } from './otlp-encoding.ts';
import { createPost } from './otlp-post.ts';
import { createProtobufEncoding } from './otlp-protobuf.ts';
import { isAccepted, isRetryable, rejectedIn, retryAfterMs } from './otlp-reply.ts';
import type { ExportedBy } from './otlp-model.ts';

/** Can be sent to a thread. */
export interface OtlpOptions {
  tracesUrl: string;
  logsUrl: string;
  headers: Readonly<Record<string, string>>;
  protocol: 'http/protobuf' | 'http/json';
  isCompressed: boolean;
  timeoutMs: number;
  by: ExportedBy;
  /** Limit of the queue; default: QUEUE_BYTES. */
  maxBytes?: number;
  /** Milliseconds to wait for more before a batch is sent; default: LINGER_MS. */
  lingerMs?: number;
  /** Milliseconds for which a batch is repeated; default: RETRY_FOR_MS. */
  retryForMs?: number;
}

export interface OtlpExporter {
  /** Queues stored documents. */
  add(documents: readonly Uint8Array[]): void;
  /** Sends the queue within `withinMs`; the rest is counted as dropped. */
  close(withinMs: number): Promise<void>;
}

export interface OtlpListener {
  /** Receives a sentence about failing deliveries, at most once a minute. */
  say: (sentence: string) => void;
  /** Called when the counters have changed. */
  report: (counters: ExportCounters) => void;
}

const QUEUE_BYTES = 16 * 1024 * 1024;
const LINGER_MS = 1000;
const RETRY_FOR_MS = 5 * 60_000;
const BATCH_COUNT = 256;
const BATCH_BYTES = 1024 * 1024;
const FIRST_PAUSE_MS = 500;
/** Even if the collector asks for less. */
const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
const SAY_EVERY_MS = 60_000;

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || ((error as NodeJS.ErrnoException).code ?? error.name) : String(error); // prettier-ignore
}

export function createOtlpExporter(options: OtlpOptions, { say, report }: OtlpListener): OtlpExporter {
  const { maxBytes = QUEUE_BYTES, lingerMs = LINGER_MS, retryForMs = RETRY_FOR_MS, protocol } = options;
  const isJson = protocol === 'http/json';
  const post = createPost({
    ...options,
    contentType: isJson ? 'application/json' : 'application/x-protobuf',
  });
  const batchOf = createBatches(options.by, isJson ? JSON_ENCODING : createProtobufEncoding());
  const counters: ExportCounters = { given: 0, sent: 0, leftOut: 0, dropped: {}, rejected: 0, retries: 0, pending: 0, pendingBytes: 0, maxBytes }; // prettier-ignore
  let queue: Uint8Array[] = [];
  let active: Promise<void> | null = null;
  let saidAt = -Infinity;
  /** Ends pauses: the queue is sent without waiting for more. */
  const closing = new AbortController();
  /** Ends requests. */
  const over = new AbortController();

  function drop(count: number, reason: string): void {
    if (count > 0) counters.dropped[reason] = (counters.dropped[reason] ?? 0) + count;
  }

  function complain(reason: string): void {
    if (closing.signal.aborted || performance.now() - saidAt < SAY_EVERY_MS) return;
    saidAt = performance.now();
    say(`Profiles can't be exported to ${new URL(options.tracesUrl).host} at the moment (${reason}).`);
  }

  /** Until `closing`. */
  function pause(ms: number): Promise<void> {
    if (closing.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        closing.signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      closing.signal.addEventListener('abort', end);
    });
  }

  function take(): Uint8Array[] {
    let bytes = 0;
    let count = 0;
    for (const { length } of queue) {
      if (count > 0 && (count === BATCH_COUNT || bytes + length > BATCH_BYTES)) break;
      count++;
      bytes += length;
    }
    counters.pendingBytes -= bytes;
    return queue.splice(0, count);
  }

  /** null if it was accepted, else why not. */
  async function deliver(url: string, body: Buffer): Promise<string | null> {
    const begun = performance.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      let reason: string;
      let askedMs: number | null = null;
      try {
        const reply = await post.send(url, body, over.signal);
        if (isAccepted(reply)) {
          counters.rejected += rejectedIn(reply, isJson);
          return null;
        }
        reason = `status ${reply.status}`;
        if (!isRetryable(reply)) return reason;
        askedMs = retryAfterMs(reply);
      } catch (error) {
        reason = reasonOf(error);
      }
      complain(reason);
      const waitMs = Math.max(askedMs ?? pauseMs * (0.5 + Math.random()), SHORTEST_PAUSE_MS);
      if (closing.signal.aborted) return 'shut down';
      if (performance.now() + waitMs - begun > retryForMs) return 'not accepted';
      counters.retries++;
      report({ ...counters });
      await pause(waitMs);
    }
  }

  async function sendBatch(): Promise<void> {
    const taken = take();
    const { count, unreadable, traces, logs } = batchOf(taken);
    const failures = [
      traces === null ? null : await deliver(options.tracesUrl, traces),
      logs === null ? null : await deliver(options.logsUrl, logs),
    ];
    const failure = failures.find((reason) => reason !== null);
    // Together, so that each document is in one count at any time.
    counters.pending -= taken.length;
    counters.leftOut += taken.length - count - unreadable;
    drop(unreadable, 'unreadable');
    if (failure === undefined) counters.sent += count;
    else {
      drop(count, failure);
      complain(failure);
    }
    report({ ...counters });
  }

  async function run(): Promise<void> {
    while (queue.length > 0 && !over.signal.aborted) {
      if (counters.pendingBytes < BATCH_BYTES && queue.length < BATCH_COUNT) await pause(lingerMs);
      await sendBatch();
    }
  }

  function start(): void {
    if (active !== null || queue.length === 0 || over.signal.aborted) return;
    active = run().finally(() => {
      active = null;
      start();
    });
  }

  return {
    add(documents) {
      for (const document of documents) {
        queue.push(document);
        counters.pendingBytes += document.length;
        counters.pending++;
        counters.given++;
      }
      let excess = 0;
      while (counters.pendingBytes > maxBytes) {
        counters.pendingBytes -= queue[excess]?.length ?? 0;
        counters.pending--;
        excess++;
      }
      queue.splice(0, excess);
      drop(excess, 'queue full');
      report({ ...counters });
      start();
    },
    async close(withinMs) {
      closing.abort();
      const timer = setTimeout(() => over.abort(), withinMs);
      await active;
      clearTimeout(timer);
      drop(queue.length, 'shut down');
      queue = [];
      counters.pending = counters.pendingBytes = 0;
      post.close();
      report({ ...counters });
    },
  };
}
