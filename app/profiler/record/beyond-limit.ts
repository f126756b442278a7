/** Facts of one kind past the recording limit: they are counted and timed by what repeats, so that totals are correct. */

export interface Counted {
  count: number;
  durationMs: number;
  slowestMs: number;
  failed: number;
  rows: number;
}

export interface Stretch {
  startMs: number;
  durationMs: number;
}

/** From its first start to its last end; `ranMs` is the sum of what ran in it, without the gaps between. */
interface Merged extends Stretch {
  ranMs: number;
}

export interface BeyondFacts {
  readonly count: number;
  readonly byKey: ReadonlyMap<string, Counted>;
  readonly stretches: readonly Stretch[];
}

const MOST_KEYS = 200;
const MOST_KEY_CHARACTERS = 64 * 1024;
const MOST_STRETCHES = 200;
/** Stretches closer than this are one; doubled as often as there are too many. */
const TOUCHING_MS = 0.05;

function merged(stretches: readonly Merged[], touchingMs: number): Merged[] {
  const all: Merged[] = [];
  for (const { startMs, durationMs, ranMs } of stretches.toSorted((a, b) => a.startMs - b.startMs)) {
    const last = all.at(-1);
    if (last === undefined || startMs - last.startMs - last.durationMs > touchingMs)
      all.push({ startMs, durationMs, ranMs });
    else {
      last.durationMs = Math.max(last.durationMs, startMs + durationMs - last.startMs);
      last.ranMs += ranMs;
    }
  }
  return all;
}

export class BeyondLimit {
  count = 0;
  readonly byKey = new Map<string, Counted>();
  #characters = 0;
  #stretches: Merged[] = [];
  #touchingMs = TOUCHING_MS;

  add(key: string, { durationMs, failed, rows }: Pick<Counted, 'durationMs' | 'failed' | 'rows'>): void {
    const name = this.byKey.has(key) || this.#hasRoomFor(key) ? key : '';
    let known = this.byKey.get(name);
    if (known === undefined) {
      known = { count: 0, durationMs: 0, slowestMs: 0, failed: 0, rows: 0 };
      this.byKey.set(name, known);
      this.#characters += name.length;
    }
    known.count++;
    known.durationMs += durationMs;
    known.slowestMs = Math.max(known.slowestMs, durationMs);
    known.failed += failed;
    known.rows += rows;
  }

  ran(stretch: Stretch): void {
    this.#stretches.push({ ...stretch, ranMs: stretch.durationMs });
    if (this.#stretches.length <= MOST_STRETCHES * 2) return;
    this.#stretches = merged(this.#stretches, this.#touchingMs);
    while (this.#stretches.length > MOST_STRETCHES)
      this.#stretches = merged(this.#stretches, (this.#touchingMs *= 2));
  }

  /** What ran at the same time counts once, and gaps do not count. */
  stretches(running: readonly Stretch[]): Stretch[] {
    const now = running.map((stretch) => ({ ...stretch, ranMs: stretch.durationMs }));
    return merged([...this.#stretches, ...now], this.#touchingMs).map(({ startMs, durationMs, ranMs }) => ({
      startMs,
      durationMs: Math.min(durationMs, ranMs),
    }));
  }

  #hasRoomFor(key: string): boolean {
    return this.byKey.size < MOST_KEYS && this.#characters + key.length <= MOST_KEY_CHARACTERS;
  }
}
