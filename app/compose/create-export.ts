/** Exports what is stored to OpenTelemetry, in a thread of its own. */
import { createExportWorker } from '../export/export-worker.ts';
import type { OtlpOptions } from '../export/otlp-exporter.ts';
import { startWorker } from '../paths.ts';
import type { ExportCounters } from '../profiler/export.ts';
import type { QueuedProfile } from '../profiler/storage.ts';

/** Milliseconds for what is not sent yet, when the profiler closes. */
const CLOSE_WITHIN_MS = 700;

export interface Export {
  onWritten(profiles: readonly QueuedProfile[]): void;
  counters(): ExportCounters;
  close(): Promise<void>;
}

/** undefined: nothing is exported. */
export function createExport(
  otlp: OtlpOptions | undefined,
  warn: (sentence: string) => void,
): Export | undefined {
  if (otlp === undefined) return undefined;
  const worker = createExportWorker(() => startWorker('export/otlp-thread', otlp), warn);
  return {
    onWritten(profiles) {
      worker.add(profiles.map(({ bytes }) => bytes));
    },
    counters: () => worker.counters(),
    close: () => worker.close(CLOSE_WITHIN_MS),
  };
}
