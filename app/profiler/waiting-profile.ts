/**
 * A profile in the writer's queue: its index row on the heap, its document as bytes in the arena. One whose detail was
 * shed has no bytes; what is left of it is made from its index row when it is written or looked at.
 *
 * A class, since thousands of them wait at once: their getters lie on one prototype.
 */
import { type Arena, bytesOf, type Slot, textOf } from './arena.ts';
import { type ProfileIndex, withoutDetail } from './profile.ts';
import type { QueuedProfile, SharedPart } from './storage.ts';

/** About what an index row and its place in the queue take on the heap, beside its long texts. */
const ROW_BYTES = 700;

export class Waiting implements QueuedProfile {
  readonly index: ProfileIndex;
  readonly shared: readonly SharedPart[];
  /** Grows with each one that comes. */
  readonly number: number;
  readonly indexBytes: number;
  hasDetail = true;
  /** Its bytes are being read. */
  writing = false;
  #slot: Slot | null;

  constructor(
    given: { index: ProfileIndex; document: string; shared: readonly SharedPart[]; number: number },
    arena: Arena,
  ) {
    this.index = given.index;
    this.shared = given.shared;
    this.number = given.number;
    this.indexBytes = ROW_BYTES + given.index.url.length + (given.index.error?.length ?? 0);
    this.#slot = arena.put(given.document);
    this.index.bytes = this.#slot.length;
  }

  get length(): number {
    return this.#slot?.length ?? ROW_BYTES;
  }

  get bytes(): Uint8Array {
    return this.#slot === null ? Buffer.from(this.document) : bytesOf(this.#slot);
  }

  get document(): string {
    return this.#slot === null ? JSON.stringify(withoutDetail(this.index)) : textOf(this.#slot);
  }

  shed(arena: Arena): void {
    this.hasDetail = false;
    this.release(arena);
  }

  /** From here on its bytes stay as they are, until `end`. */
  begin(arena: Arena): void {
    this.writing = true;
    if (this.#slot !== null) return;
    this.#slot = arena.put(this.document);
    this.index.bytes = this.#slot.length;
  }

  end(arena: Arena): void {
    this.writing = false;
    if (!this.hasDetail) this.release(arena);
  }

  release(arena: Arena): void {
    if (this.#slot !== null) arena.free(this.#slot);
    this.#slot = null;
  }
}
