/**
 * The facts of one kind in one request, limited by bytes and by worth. The first ones are kept, and the last ones. Between them are
 * kept what failed, was slow or warns, and the first few of each statement or line; the rest is counted.
 */
import { type BeyondFacts, BeyondLimit } from './beyond-limit.ts';

/** How facts of a kind repeat. Without it, those past the limit are counted, whatever they are. */
export interface Repeating<F> {
  /** Equal for facts that repeat: a statement or line, with its place. */
  key(fact: F): string;
  /** Default: it has an `error`. */
  failed?(fact: F): boolean;
  /** It is kept like what failed or was slow. */
  matters?(fact: F): boolean;
}

export interface Room {
  readonly bytes: number;
  used: number;
}

/** Shares of the room: for the first facts of a kind, for those that a kind has in any case, and for those that matter. */
const FIRST_SHARE = 1 / 2;
const SURE_SHARE = 1 / 16;
const WORTH_SHARE = 1 / 4;
const LAST = 100;
const LAST_BYTES = 64 * 1024;
const SLOW_MS = 100;
const SAMPLES = 3;
const MOST_WORTHY = 100;
/** Keys whose facts are counted apart; those of all others together. */
const MOST_KEYS = 1000;

interface Entry<F> {
  fact: F;
  bytes: number;
  at: number;
}

interface Timed {
  startMs?: number;
  durationMs?: number | null;
  rows?: number | null;
  error?: unknown;
}

function hasFailed(fact: Timed): boolean {
  return fact.error !== null && fact.error !== undefined;
}

export class FactList<F = unknown> {
  readonly #room: Room;
  readonly #first: F[] = [];
  #firstBytes = 0;
  #repeating: Repeating<F> | null = null;
  #later: Later<F> | null = null;

  constructor(room: Room) {
    this.#room = room;
  }

  /** True if it is one of the first facts; false if its place among those that are kept may change, or it is only counted. */
  add(fact: F, bytes: number, repeating: Repeating<F> | undefined): boolean {
    if (this.#later === null && this.#fits(bytes)) {
      this.#first.push(fact);
      this.#firstBytes += bytes;
      this.#room.used += bytes;
      return true;
    }
    this.#repeating ??= repeating ?? null;
    this.#later ??= new Later(this.#first, this.#repeating, this.#room.bytes * WORTH_SHARE);
    this.#later.add(fact, bytes, this.#first.length);
    return false;
  }

  get isFull(): boolean {
    return this.#later !== null || !this.#fits(1);
  }

  count(): void {
    this.#later ??= new Later(this.#first, this.#repeating, this.#room.bytes * WORTH_SHARE);
    this.#later.beyond.count++;
  }

  all(): readonly F[] {
    const later = this.#later?.kept() ?? [];
    return later.length === 0 ? this.#first : [...this.#first, ...later];
  }

  /** What is only counted; undefined if all facts are kept. `nowMs`: the end of those that still run. */
  beyond(nowMs: () => number): BeyondFacts | undefined {
    return this.#later?.counted(nowMs());
  }

  #fits(bytes: number): boolean {
    const { bytes: most, used } = this.#room;
    const own = this.#firstBytes + bytes;
    return own <= most * SURE_SHARE || (own <= most * FIRST_SHARE && used + bytes <= most);
  }
}

class Later<F> {
  readonly beyond = new BeyondLimit();
  readonly #repeating: Repeating<F> | null;
  readonly #worthy: Entry<F>[] = [];
  #worthyBytes: number;
  #last: Entry<F>[] = [];
  #lastBytes = 0;
  /** Not among the last any more, and still running: what becomes of them is known at their end. */
  #running: Entry<F>[] = [];
  /** With more of them, those that have ended meanwhile are settled. */
  #mostRunning = LAST;
  readonly #kept = new Map<string, { samples: number; worthy: number }>();
  #number = 0;

  constructor(first: readonly F[], repeating: Repeating<F> | null, worthyBytes: number) {
    this.#repeating = repeating;
    this.#worthyBytes = worthyBytes;
    if (repeating !== null) for (const fact of first) this.#keptOf(repeating.key(fact)).samples++;
  }

  add(fact: F, bytes: number, first: number): void {
    if (this.#repeating === null) {
      this.beyond.count++;
      return;
    }
    this.#last.push({ fact, bytes, at: first + this.#number++ });
    this.#lastBytes += bytes;
    while (this.#last.length > LAST || (this.#lastBytes > LAST_BYTES && this.#last.length > 1)) {
      const [oldest] = this.#last.splice(0, 1);
      if (oldest === undefined) return;
      this.#lastBytes -= oldest.bytes;
      this.#settle(oldest);
    }
    if (this.#running.length > this.#mostRunning) this.#settleEnded();
  }

  kept(): readonly F[] {
    this.#settleEnded();
    return [...this.#worthy.sort((a, b) => a.at - b.at), ...this.#last].map(({ fact }) => fact);
  }

  counted(nowMs: number): BeyondFacts | undefined {
    this.#settleEnded();
    const { count, byKey } = this.beyond;
    if (count === 0) return undefined;
    const running = this.#running.map(({ fact }) => {
      const { startMs = nowMs } = fact as Timed;
      return { startMs, durationMs: nowMs - startMs };
    });
    return { count, byKey, stretches: this.beyond.stretches(running) };
  }

  #keptOf(key: string): { samples: number; worthy: number } {
    const name = this.#kept.size < MOST_KEYS || this.#kept.has(key) ? key : '';
    let kept = this.#kept.get(name);
    if (kept === undefined) this.#kept.set(name, (kept = { samples: 0, worthy: 0 }));
    return kept;
  }

  #settleEnded(): void {
    const running = this.#running;
    if (running.length === 0) return;
    this.#running = [];
    for (const entry of running) {
      this.beyond.count--;
      this.#settle(entry);
    }
    this.#mostRunning = Math.max(LAST, this.#running.length * 2);
  }

  /** It is not among the last any more: kept, or counted. */
  #settle(entry: Entry<F>): void {
    const { fact, bytes } = entry;
    const { startMs, durationMs, rows } = fact as Timed;
    if (durationMs === null) {
      this.beyond.count++;
      this.#running.push(entry);
      return;
    }
    const key = this.#repeating?.key(fact) ?? '';
    const failed = this.#repeating?.failed?.(fact) ?? hasFailed(fact as Timed);
    const matters = failed || (durationMs ?? 0) >= SLOW_MS || this.#repeating?.matters?.(fact) === true;
    const kept = this.#keptOf(key);
    const isWorthy = matters ? kept.worthy < MOST_WORTHY : kept.samples < SAMPLES;
    if (isWorthy && bytes <= this.#worthyBytes) {
      kept[matters ? 'worthy' : 'samples']++;
      this.#worthyBytes -= bytes;
      this.#worthy.push(entry);
      return;
    }
    this.beyond.count++;
    this.beyond.add(key, { durationMs: durationMs ?? 0, failed: failed ? 1 : 0, rows: rows ?? 0 });
    if (startMs !== undefined && durationMs !== undefined) this.beyond.ran({ startMs, durationMs });
  }
}
