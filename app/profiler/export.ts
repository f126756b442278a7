/** How the export to OpenTelemetry of this process is doing: `given` is the sum of `sent`, `leftOut`, `dropped` and `pending`. */
export interface ExportCounters {
  /** Recorded profiles. One that was recorded again, with late facts, counts again. */
  given: number;
  sent: number;
  /** Not for export: error pages, the profiler's own pages, what still runs. */
  leftOut: number;
  /** By reason: `queue full`, `status 400` …, `unreadable`, `failed`, `shut down`. */
  dropped: Record<string, number>;
  pending: number;
  pendingBytes: number;
  maxBytes: number;
}
