/** Exports what is stored to OpenTelemetry: in the thread of the storage if that does so, else in one of its own. */
import { createExportWorker } from '../export/export-worker.ts';
import type { OtlpOptions } from '../export/otlp-exporter.ts';
import { startWorker } from '../paths.ts';
import type { ExportCounters } from '../profiler/export.ts';
import type { ProfileStorage, QueuedProfile } from '../profiler/storage.ts';

/** Milliseconds for what is not sent yet, when the profiler closes. */
const CLOSE_WITHIN_MS = 700;

export interface Export {
  onWritten(profiles: readonly QueuedProfile[]): void;
  counters(): ExportCounters;
  close(): Promise<void>;
}

/** undefined: nothing is exported. */
export function createExport(
  storage: ProfileStorage,
  otlp: OtlpOptions | undefined,
  warn: (sentence: string) => void,
): Export | undefined {
  if (otlp === undefined) return undefined;
  const worker = createExportWorker(() => startWorker('export/otlp-thread', otlp), warn);
  const byStorage = (): ExportCounters | null => storage.exported?.() ?? null;
  return {
    onWritten(profiles) {
      if (byStorage() === null) worker.add(profiles.map(({ bytes }) => bytes));
    },
    counters: () => byStorage() ?? worker.counters(),
    close: () => worker.close(CLOSE_WITHIN_MS),
  };
}
