/**
 * The outcome of each token that this process gave out: tokens = stored + waiting + running + dropped + left out, by reason. A profile may be
 * stored several times (running, final, with late facts) and counts once.
 */

export type LedgerPart = 'application' | 'profiler';

export interface Fate {
  readonly part: LedgerPart;
  queued: number;
  bucket: Bucket;
}

type Bucket = 'running' | 'waiting' | 'stored' | `dropped: ${string}` | `left out: ${string}`;

export interface LedgerCounts {
  tokens: number;
  stored: number;
  waiting: number;
  /** The response has not finished, or its profile is not built yet. */
  running: number;
  dropped: Record<string, number>;
  leftOut: Record<string, number>;
}

export interface Ledger {
  open(part: LedgerPart): Fate;
  queued(fate: Fate): void;
  stored(fate: Fate): void;
  dropped(fate: Fate, reason: string): void;
  leftOut(fate: Fate, reason: string): void;
  counts(part: LedgerPart): LedgerCounts;
}

const DROPPED = 'dropped: ';
const LEFT_OUT = 'left out: ';

export function createLedger(): Ledger {
  const parts: Record<LedgerPart, Map<Bucket, number>> = {
    application: new Map(),
    profiler: new Map(),
  };
  const tokens: Record<LedgerPart, number> = { application: 0, profiler: 0 };

  function add(part: LedgerPart, bucket: Bucket, count: number): void {
    parts[part].set(bucket, (parts[part].get(bucket) ?? 0) + count);
  }

  function move(fate: Fate, to: Bucket): void {
    if (fate.bucket === to) return;
    add(fate.part, fate.bucket, -1);
    add(fate.part, to, 1);
    fate.bucket = to;
  }

  /** A version that is stored already outweighs one that is lost. */
  function lose(fate: Fate, to: Bucket): void {
    fate.queued--;
    if (fate.bucket !== 'stored' && fate.queued === 0) move(fate, to);
  }

  function byReason(part: LedgerPart, prefix: string): Record<string, number> {
    return Object.fromEntries(
      [...parts[part]].flatMap(([bucket, count]) =>
        bucket.startsWith(prefix) && count > 0 ? [[bucket.slice(prefix.length), count]] : [],
      ),
    );
  }

  return {
    open(part) {
      tokens[part]++;
      add(part, 'running', 1);
      return { part, queued: 0, bucket: 'running' };
    },
    queued(fate) {
      fate.queued++;
      if (fate.bucket !== 'stored') move(fate, 'waiting');
    },
    stored(fate) {
      fate.queued--;
      move(fate, 'stored');
    },
    dropped(fate, reason) {
      lose(fate, `${DROPPED}${reason}`);
    },
    leftOut(fate, reason) {
      if (fate.bucket === 'running') move(fate, `${LEFT_OUT}${reason}`);
    },
    counts(part) {
      const of = (bucket: Bucket): number => parts[part].get(bucket) ?? 0;
      return {
        tokens: tokens[part],
        stored: of('stored'),
        waiting: of('waiting'),
        running: of('running'),
        dropped: byReason(part, DROPPED),
        leftOut: byReason(part, LEFT_OUT),
      };
    },
  };
}
