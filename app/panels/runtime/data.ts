interface Interval {
  startMs: number;
  durationMs: number;
}

/** A time when the event loop was blocked; `by`: the request that blocked it, if known. */
export interface BlockedTime extends Interval {
  /** CPU time of the process meanwhile; absent in profiles of earlier releases. */
  cpuMs?: number;
  by?: { profile: string; what: string; where: string; place?: string | null };
}

export interface RuntimeData {
  durationMs: number;
  cpuUserMs: number;
  cpuSystemMs: number;
  /** 0 to 1. */
  loopUtilization: number;
  /** When the event loop was blocked. */
  blocks: BlockedTime[];
  collections: (Interval & { kind: string })[];
  memory: { rss: number; heapUsed: number; heapTotal: number; external: number; sampledMs: number };
  /** Requests that overlapped with this one, including itself. */
  concurrent: number;
  totals: { blockedMs: number; collectionMs: number };
}

/** What each profile stores: without empty lists; sums are derived. */
export interface KeptRuntime extends Omit<RuntimeData, 'blocks' | 'collections' | 'totals'> {
  blocks: BlockedTime[] | undefined;
  collections: RuntimeData['collections'] | undefined;
}
