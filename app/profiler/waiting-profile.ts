/**
 * A profile in the writer's queue: its index row on the heap, its document as bytes in an arena. One whose detail was
 * shed has its index row as bytes too, since many such pile up, and what is long on the heap makes V8 let the heap grow to
 * four times that; its document is made from the row when it is written or looked at.
 *
 * A class, since thousands of them wait at once: their getters lie on one prototype.
 */
import { type Arena, bytesOf, type Slot, textOf } from './arena.ts';
import { type ProfileIndex, withoutDetail } from './profile.ts';
import type { QueuedProfile, SharedPart } from './storage.ts';
import type { InLine } from './waiting-line.ts';

export interface WaitingArenas {
  documents: Arena;
  /** Index rows of those whose detail was shed. */
  rows: Arena;
}

/** About what an index row and its place in the queue take on the heap, beside its long texts. */
const ROW_BYTES = 700;
/** The place in the queue alone. */
const PLACE_BYTES = 250;
const NO_PARTS: readonly SharedPart[] = [];

export class Waiting implements QueuedProfile, InLine {
  readonly token: string;
  /** A page of the profiler itself. */
  readonly isOwn: boolean;
  place = 0;
  shared: readonly SharedPart[];
  hasDetail = true;
  /** Its bytes are being read. */
  writing = false;
  /** About what it takes on the heap. */
  heapBytes: number;
  /** null where it lies in `#slot`. */
  #index: ProfileIndex | null;
  /** Its document or, where there is no `#index`, its index row. */
  #slot: Slot | null;

  constructor(
    given: { index: ProfileIndex; document: string; shared: readonly SharedPart[] },
    { documents }: WaitingArenas,
  ) {
    const { index } = given;
    this.token = index.token;
    this.isOwn = index.kind === 'profiler';
    this.shared = given.shared;
    this.heapBytes = ROW_BYTES + index.url.length + (index.error?.length ?? 0);
    this.#index = index;
    this.#slot = documents.put(given.document);
    index.bytes = this.#slot.length;
  }

  get index(): ProfileIndex {
    if (this.#index !== null) return this.#index;
    if (this.#slot === null) throw new Error('A profile that was let go has no index row.');
    return JSON.parse(textOf(this.#slot)) as ProfileIndex;
  }

  /** Of the document that is going to be written, about. */
  get length(): number {
    return this.#slot?.length ?? 0;
  }

  get bytes(): Uint8Array {
    return this.#index === null || this.#slot === null ? Buffer.from(this.document) : bytesOf(this.#slot);
  }

  get document(): string {
    return this.#index === null || this.#slot === null
      ? JSON.stringify(withoutDetail(this.index))
      : textOf(this.#slot);
  }

  shed(arenas: WaitingArenas): void {
    this.hasDetail = false;
    this.shared = NO_PARTS;
    this.#pack(arenas);
  }

  #pack(arenas: WaitingArenas): void {
    const { index } = this;
    if (this.#slot !== null) arenas.documents.free(this.#slot);
    this.#slot = arenas.rows.put(JSON.stringify(index));
    this.#index = null;
    this.heapBytes = PLACE_BYTES;
  }

  /** From here on its bytes stay as they are, until `end`. */
  begin(arenas: WaitingArenas): void {
    this.writing = true;
    if (this.#index !== null) return;
    const { index, document } = this;
    this.release(arenas);
    this.#slot = arenas.documents.put(document);
    this.#index = index;
    index.bytes = this.#slot.length;
  }

  /** It was not stored. */
  end(arenas: WaitingArenas): void {
    this.writing = false;
    if (!this.hasDetail) this.#pack(arenas);
  }

  release({ documents, rows }: WaitingArenas): void {
    if (this.#slot !== null) (this.#index === null ? rows : documents).free(this.#slot);
    this.#slot = null;
  }
}
