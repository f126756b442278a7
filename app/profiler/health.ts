/** How the profiler itself is doing in this process: what became of each token, the queue, the storage. */
import type { ExportCounters } from './export.ts';
import type { EndedProcess } from './left-boxes.ts';
import type { Ledger, LedgerCounts } from './ledger.ts';
import type { ProfileStorage } from './storage.ts';
import type { Writer, WriterCounters } from './writer.ts';

export interface Health {
  process: string;
  /** Milliseconds since 1970. */
  at: number;
  /** Name of the storage, and whether it fails or has not replied for a while. */
  storage: { name: string; failing: boolean };
  /** Tokens of responses, error pages and jobs of the application. */
  application: LedgerCounts;
  /** Those of the profiler's own pages. */
  profiler: LedgerCounts;
  /** Profiles that an earlier process left in its black box. */
  earlier: LedgerCounts;
  queue: Pick<WriterCounters, 'pending' | 'pendingBytes' | 'maxBytes' | 'failedWrites'>;
  /** Of profiles to OpenTelemetry; null: nothing is exported. */
  exported: ExportCounters | null;
  /** The process that ended last without storing everything; null if none did, or the storage fails. */
  lastEnd: EndedProcess | null;
}

export interface HealthOptions {
  process: string;
  storage: ProfileStorage;
  ledger: Ledger;
  writer: Writer;
  lastEnd: () => Promise<EndedProcess | null>;
  exported?: (() => ExportCounters) | undefined;
}

/** Never rejects: it is asked for when something fails. */
export async function readHealth(options: HealthOptions): Promise<Health> {
  const { process, storage, ledger, writer } = options;
  const failing = writer.stalled();
  const lastEnd = failing ? null : await options.lastEnd().catch(() => null);
  const { pending, pendingBytes, maxBytes, failedWrites } = writer.counters();
  return {
    process,
    at: Date.now(),
    storage: { name: storage.name, failing },
    application: ledger.counts('application'),
    profiler: ledger.counts('profiler'),
    earlier: ledger.counts('earlier'),
    queue: { pending, pendingBytes, maxBytes, failedWrites },
    exported: options.exported?.() ?? null,
    lastEnd,
  };
}
