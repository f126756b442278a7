/** Options of the storage's thread. A file of its own, because the package's types reach it and a host need not have those of `pg`. */
import type { OtlpOptions } from '../export/otlp-exporter.ts';

export interface OperationOptions {
  schema: string;
  /** Width of a partition in milliseconds. */
  partitionMs: number;
  /** Milliseconds a search may take. */
  findTimeoutMs: number;
  /** Where to export what is written. */
  otlp?: OtlpOptions | undefined;
}
