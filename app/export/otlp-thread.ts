/** The thread that exports profiles for a storage that has no thread of its own. Loaded only as a worker. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { ExportCounters } from '../profiler/export.ts';
import { createOtlpExporter, type OtlpOptions } from './otlp-exporter.ts';

export type ToExportThread = readonly Uint8Array[] | { closeWithinMs: number };

export type FromExportThread = { notice: string; counters?: undefined } | { counters: ExportCounters };

export function serveExports(port: MessagePort, options: OtlpOptions): void {
  const reply = (message: FromExportThread): void => {
    port.postMessage(message);
  };
  const exporter = createOtlpExporter(options, {
    say: (notice) => reply({ notice }),
    report: (counters) => reply({ counters }),
  });
  port.on('message', (message: ToExportThread) => {
    if ('closeWithinMs' in message)
      void exporter.close(message.closeWithinMs).then(() => {
        port.close();
      });
    else exporter.add(message);
  });
}

if (parentPort !== null) serveExports(parentPort, workerData as OtlpOptions);
