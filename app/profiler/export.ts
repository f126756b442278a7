/** How the export to OpenTelemetry of this process is doing. Counted are stored documents: `given` is the sum of `sent`, `leftOut`, `dropped` and `pending`. */
export interface ExportCounters {
  /** A profile that was stored again counts again. */
  given: number;
  /** Accepted by the collector. */
  sent: number;
  /** Not for export: error pages, the profiler's own pages, what still runs. */
  leftOut: number;
  /** By reason: `queue full`, `not accepted`, `status 400` …, `unreadable` (or larger than 4 MiB), `shut down`. */
  dropped: Record<string, number>;
  /** Spans and log records that the collector refused of requests that it accepted. */
  rejected: number;
  /** Attempts that are repeated: the collector was out of reach, or asked to wait. */
  retries: number;
  /** Waiting or being sent. */
  pending: number;
  pendingBytes: number;
  maxBytes: number;
}

export const NOTHING_EXPORTED: ExportCounters = {
  given: 0,
  sent: 0,
  leftOut: 0,
  dropped: {},
  rejected: 0,
  retries: 0,
  pending: 0,
  pendingBytes: 0,
  maxBytes: 0,
};
