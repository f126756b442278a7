/** How the profiler itself is doing in this process: what became of each token, the queue, the store. */
import type { ExportCounters } from './export.ts';
import type { Ledger, LedgerCounts } from './record/ledger.ts';
import type { EndedProcess } from './record/process-end.ts';
import type { Store } from './store/store.ts';

export interface Health {
  process: string;
  at: number;
  storage: { name: string; failing: boolean; notice: string | null };
  application: LedgerCounts;
  /** Those of the profiler's own pages. */
  profiler: LedgerCounts;
  queue: { pending: number; pendingBytes: number; maxBytes: number; failedWrites: number };
  exported: ExportCounters | null;
  /** The process that failed last; null if none did, or the store fails. */
  lastEnd: EndedProcess | null;
}

export interface HealthOptions {
  process: string;
  store: Pick<Store, 'name' | 'state'>;
  ledger: Ledger;
  lastEnd: () => Promise<EndedProcess | null>;
  exported?: (() => ExportCounters) | undefined;
}

/** Never rejects: it is asked for when something fails. */
export async function readHealth(options: HealthOptions): Promise<Health> {
  const { process, store, ledger } = options;
  const { pending, pendingBytes, maxPendingBytes, failed, failing, notice } = store.state;
  return {
    process,
    at: Date.now(),
    storage: { name: store.name, failing, notice },
    application: ledger.counts('application'),
    profiler: ledger.counts('profiler'),
    queue: { pending, pendingBytes, maxBytes: maxPendingBytes, failedWrites: failed },
    exported: options.exported?.() ?? null,
    lastEnd: failing ? null : await options.lastEnd().catch(() => null),
  };
}
