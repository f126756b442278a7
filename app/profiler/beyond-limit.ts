/** Facts of one kind past the recording limit: they are counted and timed instead of stored, so that totals are correct. */

export interface Counted {
  count: number;
  /** Sum over all of them. */
  durationMs: number;
  failed: number;
  /** Rows that statements returned or changed. */
  rows: number;
}

/** When at least one of them ran, since the request started. */
export interface Stretch {
  startMs: number;
  durationMs: number;
}

/** Different keys that are counted apart; the rest is counted together, under ''. */
const MOST_KEYS = 200;
const MOST_STRETCHES = 200;
/** Stretches closer than this are one; doubled as often as there are too many. */
const TOUCHING_MS = 0.05;

export class BeyondLimit {
  count = 0;
  /** By statement, or by level of a log line. */
  readonly byKey = new Map<string, Counted>();
  readonly #stretches: Stretch[] = [];
  #running = 0;
  #sinceMs = 0;
  #touchingMs = TOUCHING_MS;

  /** One began; `end` must follow. */
  start(atMs: number): void {
    if (this.#running++ === 0) this.#sinceMs = atMs;
  }

  end(atMs: number, key: string, { durationMs, failed = 0, rows = 0 }: Partial<Counted>): void {
    this.note(key, { durationMs: durationMs ?? 0, failed, rows });
    if (--this.#running === 0) this.#add(this.#sinceMs, atMs);
  }

  /** One without a duration. */
  note(key: string, { durationMs = 0, failed = 0, rows = 0 }: Partial<Counted> = {}): void {
    const name = this.byKey.has(key) || this.byKey.size < MOST_KEYS ? key : '';
    const known = this.byKey.get(name) ?? { count: 0, durationMs: 0, failed: 0, rows: 0 };
    known.count++;
    known.durationMs += durationMs;
    known.failed += failed;
    known.rows += rows;
    this.byKey.set(name, known);
  }

  /** In the order of their start; `nowMs` ends the one that is still running. */
  stretches(nowMs: number): Stretch[] {
    const running = this.#running > 0 ? [{ startMs: this.#sinceMs, durationMs: nowMs - this.#sinceMs }] : [];
    return [...this.#stretches, ...running];
  }

  #add(startMs: number, endMs: number): void {
    const last = this.#stretches.at(-1);
    if (last !== undefined && startMs - last.startMs - last.durationMs <= this.#touchingMs)
      last.durationMs = endMs - last.startMs;
    else this.#stretches.push({ startMs, durationMs: endMs - startMs });
    if (this.#stretches.length <= MOST_STRETCHES) return;
    this.#touchingMs *= 2;
    for (const { startMs: from, durationMs } of this.#stretches.splice(0)) this.#add(from, from + durationMs);
  }
}
