/**
 * A profile in the writer's queue: its index row on the heap, its document as bytes in an arena. One whose detail was shed
 * (`Outline`) is no object at all while it waits, but a text in an arena: thousands of them pile up, and V8 lets the heap
 * grow to four times what lives.
 *
 * A class, since many wait at once: their getters lie on one prototype.
 */
import type { Arena, Slot } from './arena.ts';
import { type ProfileIndex, withoutDetail } from './profile.ts';
import type { QueuedProfile, SharedPart } from './storage.ts';

/** About what an index row and its place in the queue take on the heap, beside its long texts. */
const ROW_BYTES = 700;
const NO_PARTS: readonly SharedPart[] = [];

/** What a row that waits as text holds, in this order: all of it. */
const FIELDS = Object.keys({
  token: 0,
  kind: 0,
  state: 0,
  parent: 0,
  child: 0,
  method: 0,
  url: 0,
  origin: 0,
  status: 0,
  route: 0,
  clientAddress: 0,
  startedAt: 0,
  durationMs: 0,
  process: 0,
  error: 0,
  queries: 0,
  findings: 0,
  mark: 0,
  marks: 0,
  bytes: 0,
  location: 0,
  referrer: 0,
  dest: 0,
} satisfies Record<keyof ProfileIndex, 0>) as (keyof ProfileIndex)[];

/** An index row as text, half as long as its JSON. */
export function packRow(index: ProfileIndex): string {
  return JSON.stringify(FIELDS.map((field) => index[field]));
}

export function unpackRow(text: string): ProfileIndex {
  const values = JSON.parse(text) as unknown[];
  return Object.fromEntries(FIELDS.map((field, at) => [field, values[at]])) as unknown as ProfileIndex;
}

/** The first of its values, without reading the rest. */
export function tokenOfRow(text: string): string {
  return text.slice(2, text.indexOf('"', 2));
}

/** What a row tells as the profile that it is stored as. */
export class Outline implements QueuedProfile {
  readonly index: ProfileIndex;
  readonly shared = NO_PARTS;
  readonly hasDetail = false;

  constructor(row: string) {
    this.index = unpackRow(row);
  }

  get document(): string {
    return JSON.stringify(withoutDetail(this.index));
  }

  get bytes(): Uint8Array {
    return Buffer.from(this.document);
  }
}

export class Waiting implements QueuedProfile {
  readonly index: ProfileIndex;
  readonly shared: readonly SharedPart[];
  /** Its place in the line. */
  place = -1;
  /** Its bytes are being read. */
  writing = false;
  /** Its panels and findings are in its document. */
  readonly hasDetail: boolean;
  readonly #documents: Arena;
  readonly #slot: Slot;

  /** Its document goes into the arena; its length becomes the `bytes` of its index. */
  constructor(
    given: { index: ProfileIndex; document: string; shared: readonly SharedPart[]; hasDetail: boolean },
    documents: Arena,
  ) {
    this.index = given.index;
    this.shared = given.shared;
    this.hasDetail = given.hasDetail;
    this.#documents = documents;
    this.#slot = documents.put(given.document);
    this.index.bytes = documents.lengthOf(this.#slot);
  }

  /** A page of the profiler itself. */
  get isOwn(): boolean {
    return this.index.kind === 'profiler';
  }

  /** About what it takes on the heap. */
  get heapBytes(): number {
    return ROW_BYTES + this.index.url.length + (this.index.error?.length ?? 0);
  }

  get bytes(): Uint8Array {
    return this.#documents.bytesOf(this.#slot);
  }

  get document(): string {
    return this.#documents.textOf(this.#slot);
  }

  /** Its document can't be read any more. */
  release(): void {
    this.#documents.free(this.#slot);
  }
}
