/** The thread that exports profiles for a storage that has no thread of its own. Loaded only as a worker. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { ExportCounters } from '../profiler/export.ts';
import { createOtlpExporter, type OtlpOptions } from './otlp-exporter.ts';

/** Documents in one buffer, which costs less to pass on than one each, and where they end in it. */
interface Documents {
  data: Uint8Array;
  ends: readonly number[];
}

export type ToExportThread = Documents | { closeWithinMs: number };

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
    else
      exporter.add(
        message.ends.map((end, index) => message.data.subarray(message.ends[index - 1] ?? 0, end)),
      );
  });
}

if (parentPort !== null) serveExports(parentPort, workerData as OtlpOptions);
