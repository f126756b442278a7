/**
 * Appends what this process records to segments of its own, at most some tens of milliseconds behind. Nobody waits for it: while the disk
 * is full, slow or gone, entries wait in memory up to a limit, and the oldest are dropped.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { epochMs } from '../../profiler/record/clock.ts';
import type { StoreItem, StoreState } from '../../profiler/store/store.ts';
import { settledWithin } from '../../profiler/timeouts.ts';
import type { Disk, OwnFile } from './disk.ts';
import {
  checksum,
  countEntry,
  emptyTally,
  type Entry,
  entryLine,
  type Header,
  headerLine,
  kindOfRow,
  newSegmentName,
  ROWS,
  type SegmentKind,
  TEXTS,
} from './segment.ts';
import type { Segment, SegmentIndex } from './segment-index.ts';

interface Waiting {
  kind: SegmentKind;
  entry: Entry;
  /** Bytes, because strings that wait would be moved by the garbage collector. */
  text: Buffer | null;
  size: number;
  settled: StoreItem['settled'];
}

interface OpenSegment {
  segment: Segment;
  rows: OwnFile;
  texts: OwnFile;
  rowsSize: number;
  textsSize: number;
  openedAt: number;
}

/** What is being written: to write it again changes nothing. */
interface Batch {
  open: OpenSegment;
  rows: Buffer;
  texts: Buffer;
  items: readonly Waiting[];
}

export interface SegmentWriter {
  readonly state: Omit<StoreState, 'notice'>;
  add(item: StoreItem, kind?: SegmentKind, at?: number): void;
  /** Queues something beside a record that lies in a segment of this kind. */
  put(entry: Exclude<Entry, { type: 'record' | 'end' }>, kind: SegmentKind, text?: string): void;
  /** A moment later than all that this process has seen. */
  now(): number;
  flush(timeoutMs: number): Promise<boolean>;
  rotate(): Promise<void>;
  close(timeoutMs: number): Promise<void>;
  closeSync(): void;
}

const LINGER_MS = 75;
const RETRY_MS = 1000;
const HEARTBEAT_MS = 5000;
const SEGMENT_MS = 10 * 60_000;
const MOST_WAITING = 32 * 1024 * 1024;
const BATCH_BYTES = 4 * 1024 * 1024;
/** Segments of the profiler's own pages are small, because few of these are kept. */
const MOST_OWN_PAGES = 100;
/** About the size of an entry without its text. */
const ENTRY_BYTES = 600;
const SLOW_MS = 1000;

export function createSegmentWriter(options: {
  disk: Disk;
  index: SegmentIndex;
  header: () => Omit<Header, 'format' | 'columns' | 'startedAt'>;
  /** The process may be stopped after each response: everything is written at once. */
  isFrozenBetween: boolean;
  onHeartbeat: () => Promise<void>;
  onFull: () => void;
  warn: (sentence: string) => void;
}): SegmentWriter {
  const { disk, index, header, isFrozenBetween, onHeartbeat, onFull, warn } = options;
  const open = new Map<SegmentKind, OpenSegment>();
  let waiting: Waiting[] = [];
  let byToken = new Map<string, Waiting>();
  let pendingBytes = 0;
  /** What is being written, and of it what the disk may have. */
  let working = new Map<SegmentKind, Waiting[]>();
  let inFlight = new Map<SegmentKind, Batch>();
  let active: Promise<void> | null = null;
  let activeSince = 0;
  let timer: NodeJS.Timeout | null = null;
  let heartbeat: NodeJS.Timeout | null = null;
  let lastAt = 0;
  let namedAt = 0;
  let pushed = 0;
  let finished = 0;
  let failed = 0;
  let failing = false;
  let saidFull = false;
  let closed = false;
  /** Stands for the segment of what was not written yet. */
  const unwritten = (kind: SegmentKind): Segment => ({
    name: '', kind, own: true, header: null, read: 0, closed: false, changedAt: epochMs(), tally: emptyTally(),
  }); // prettier-ignore
  const nowhere: Record<SegmentKind, Segment> = {
    full: unwritten('full'),
    summary: unwritten('summary'),
    own: unwritten('own'),
    exception: unwritten('exception'),
  };

  function now(): number {
    lastAt = Math.max(epochMs(), lastAt, index.clearedAt + 1);
    return lastAt;
  }

  function newSegment(kind: SegmentKind): { segment: Segment; line: string } {
    namedAt = Math.max(now(), namedAt + 1);
    const segment: Segment = { ...unwritten(kind), name: newSegmentName(kind, namedAt) };
    return { segment, line: headerLine({ ...header(), startedAt: epochMs() }) };
  }

  function opened(segment: Segment, rows: OwnFile, texts: OwnFile, rowsSize: number): OpenSegment {
    const made = { segment, rows, texts, rowsSize, textsSize: 0, openedAt: performance.now() };
    open.set(segment.kind, made);
    heartbeat ??= setInterval(() => void beat(), HEARTBEAT_MS).unref();
    return made;
  }

  async function openSegment(kind: SegmentKind): Promise<OpenSegment> {
    const { segment, line } = newSegment(kind);
    const texts = await disk.create(segment.name + TEXTS);
    const rows = await disk.create(segment.name + ROWS);
    await rows.write(Buffer.from(line), 0);
    return opened(segment, rows, texts, Buffer.byteLength(line));
  }

  function openSegmentSync(kind: SegmentKind): OpenSegment {
    const { segment, line } = newSegment(kind);
    const texts = disk.createSync(segment.name + TEXTS);
    const rows = disk.createSync(segment.name + ROWS);
    rows.writeSync(Buffer.from(line), 0);
    return opened(segment, rows, texts, Buffer.byteLength(line));
  }

  function isOver({ segment: { kind, tally }, textsSize, rowsSize, openedAt }: OpenSegment): boolean {
    return (
      textsSize + rowsSize > disk.segmentBytes ||
      performance.now() - openedAt > SEGMENT_MS ||
      (kind === 'own' && tally.records >= MOST_OWN_PAGES)
    );
  }

  async function closeSegment(one: OpenSegment, isLost = false): Promise<void> {
    open.delete(one.segment.kind);
    one.segment.closed = true;
    try {
      if (!isLost) await one.rows.write(Buffer.from(entryLine({ type: 'end' })), one.rowsSize);
    } catch {
      // Other processes see that it is not touched any more.
    }
    await Promise.allSettled([one.rows.close(), one.texts.close()]);
  }

  async function forgetSegment(one: OpenSegment): Promise<void> {
    await closeSegment(one, true);
    index.forget(new Set([one.segment.name]));
  }

  function batchOf(one: OpenSegment, items: readonly Waiting[]): Batch {
    const texts: Buffer[] = [];
    const lines: Buffer[] = [];
    let from = one.textsSize;
    for (const { entry, text } of items) {
      if (text !== null && text.length > 0 && 'sum' in entry) {
        entry.from = from;
        entry.size = text.length;
        entry.sum = checksum(text);
        from += entry.size;
        texts.push(text);
      }
      lines.push(Buffer.from(entryLine(entry)));
    }
    return { open: one, rows: Buffer.concat(lines), texts: Buffer.concat(texts), items };
  }

  function written({ open: one, rows, texts, items }: Batch): void {
    one.rowsSize += rows.length;
    one.textsSize += texts.length;
    finished += items.length;
    for (const { entry, settled } of items) {
      countEntry(one.segment.tally, one.segment.kind, entry);
      index.written(one.segment, entry);
      settled?.(null);
    }
  }

  function take(): Map<SegmentKind, Waiting[]> {
    let bytes = 0;
    const beyond = waiting.findIndex(({ size }) => {
      bytes += size;
      return bytes > BATCH_BYTES;
    });
    const taken = waiting.slice(0, beyond === -1 ? waiting.length : Math.max(1, beyond));
    waiting = waiting.slice(taken.length);
    bytes = taken.reduce((sum, { size }) => sum + size, 0);
    pendingBytes -= bytes;
    const byKind = new Map<SegmentKind, Waiting[]>();
    for (const item of taken) {
      if (item.entry.type === 'record') byToken.delete(item.entry.row.token);
      const others = byKind.get(item.kind);
      if (others === undefined) byKind.set(item.kind, [item]);
      else others.push(item);
    }
    // Leaves the tables behind that V8 would link to all later ones (open-list.ts).
    byToken = new Map(byToken);
    inFlight = new Map();
    return byKind;
  }

  function putBack(items: readonly Waiting[]): void {
    waiting = [...items, ...waiting];
    for (const item of items) {
      pendingBytes += item.size;
      if (item.entry.type === 'record' && !byToken.has(item.entry.row.token))
        byToken.set(item.entry.row.token, item);
    }
    makeRoom();
  }

  async function segmentFor(kind: SegmentKind): Promise<OpenSegment> {
    const known = open.get(kind);
    if (known === undefined) return openSegment(kind);
    if (!isOver(known)) return known;
    await closeSegment(known);
    onFull();
    return openSegment(kind);
  }

  async function write(kind: SegmentKind, items: readonly Waiting[]): Promise<void> {
    const batch = batchOf(await segmentFor(kind), items);
    const { open: one } = batch;
    inFlight.set(kind, batch);
    let isThere: boolean;
    try {
      await one.texts.write(batch.texts, one.textsSize);
      [isThere] = await Promise.all([one.rows.isThere(), one.rows.write(batch.rows, one.rowsSize)]);
    } catch (error) {
      inFlight.delete(kind);
      // What the segment holds beyond its last whole entry is unknown: the next attempt opens a new one.
      await closeSegment(one, true);
      throw error;
    }
    // Otherwise it was written while the process ended.
    if (!inFlight.delete(kind)) return;
    working.delete(kind);
    if (isThere) {
      written(batch);
    } else {
      putBack(items);
      await forgetSegment(one);
    }
  }

  /** All kinds at once: while the event loop is busy, each step of the disk is noticed late. */
  async function writeSome(): Promise<void> {
    working = take();
    const outcomes = await Promise.allSettled([...working].map(([kind, items]) => write(kind, items)));
    const failure = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    putBack([...working.values()].flat());
    working = new Map();
    if (failure === undefined) failing = saidFull = false;
    else complain(failure.reason);
  }

  function complain(error: unknown): void {
    failed++;
    if (!failing)
      warn(`Profiles can't be written at the moment (${messageOf(error)}); the newest are kept in memory.`);
    failing = true;
  }

  function start(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (active !== null || waiting.length === 0) return;
    activeSince = performance.now();
    active = writeSome().finally(() => {
      active = null;
      schedule();
    });
  }

  function schedule(): void {
    if (timer !== null || active !== null || waiting.length === 0) return;
    timer = setTimeout(start, failing ? RETRY_MS : LINGER_MS).unref();
  }

  function makeRoom(): void {
    if (pendingBytes <= MOST_WAITING) return;
    let count = 0;
    for (const { entry, size, settled } of waiting.slice(0, -1)) {
      if (pendingBytes <= MOST_WAITING) break;
      count++;
      pendingBytes -= size;
      if (entry.type === 'record') {
        byToken.delete(entry.row.token);
        index.drop(entry.row.token, entry.at);
      }
      settled?.('disk full or gone');
    }
    finished += count;
    waiting = waiting.slice(count);
    if (!saidFull) warn('The oldest profiles that wait to be written are dropped.');
    saidFull = true;
  }

  function push(item: Waiting): void {
    waiting.push(item);
    pushed++;
    pendingBytes += item.size;
    makeRoom();
    if (isFrozenBetween && active === null) writeNow();
    else schedule();
  }

  /** Runs while nothing is written. */
  async function alone(work: () => Promise<void>): Promise<void> {
    while (active !== null) await active;
    active = work().finally(() => {
      active = null;
      schedule();
    });
    await active;
  }

  async function touchAll(): Promise<void> {
    for (const one of [...open.values()]) {
      if (!(await one.rows.isThere())) await forgetSegment(one);
      else if (isOver(one)) await closeSegment(one);
      else await one.rows.touch();
    }
  }

  async function beat(): Promise<void> {
    try {
      await alone(touchAll);
      await onHeartbeat();
    } catch {
      // Whatever is wrong with the disk, the next write says so.
    }
    if (open.size > 0 || heartbeat === null) return;
    clearInterval(heartbeat);
    heartbeat = null;
  }

  /** Also what is being written, because its outcome is unknown. Throws if the disk does. */
  function writeAllSync(): void {
    for (const [kind, batch] of inFlight) writeSync(kind, batch);
    do {
      for (const [kind, items] of working)
        writeSync(kind, batchOf(open.get(kind) ?? openSegmentSync(kind), items));
      working = take();
    } while (working.size > 0);
  }

  function writeSync(kind: SegmentKind, batch: Batch): void {
    batch.open.texts.writeSync(batch.texts, batch.open.textsSize);
    batch.open.rows.writeSync(batch.rows, batch.open.rowsSize);
    inFlight.delete(kind);
    working.delete(kind);
    written(batch);
  }

  /** Everything at once, because the process may be stopped. */
  function writeNow(): void {
    try {
      writeAllSync();
      failing = saidFull = false;
    } catch (error) {
      putBack([...working.values()].flat());
      working = new Map();
      complain(error);
      schedule();
    }
  }

  async function flush(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    const last = pushed;
    while (finished < last) {
      const left = deadline - performance.now();
      if (left <= 0) return false;
      if (!failing) start();
      await settledWithin(active ?? sleep(20), left);
    }
    return true;
  }

  return {
    get state() {
      const isSlow = active !== null && performance.now() - activeSince > SLOW_MS;
      const inWork = [...working.values()].reduce((sum, items) => sum + items.length, 0);
      return {
        pending: waiting.length + inWork,
        pendingBytes,
        maxPendingBytes: MOST_WAITING,
        failed,
        failing: failing || isSlow,
      };
    },
    now,
    add({ row, text, settled }, kind = kindOfRow(row), at = now()) {
      const bytes = Buffer.from(text);
      row.bytes = bytes.length;
      const entry: Entry = { type: 'record', at, row, from: 0, size: 0, sum: 0 };
      if (closed) {
        settled?.('shut down');
        return;
      }
      const item: Waiting = { kind, entry, text: bytes, size: row.bytes + ENTRY_BYTES, settled };
      index.add(nowhere[kind], entry, text);
      const before = byToken.get(row.token);
      byToken.set(row.token, item);
      if (before === undefined) {
        push(item);
        return;
      }
      const first = before.settled;
      const both = (dropped: string | null): void => {
        first?.(dropped);
        settled?.(dropped);
      };
      item.settled = both;
      pendingBytes += item.size - before.size;
      waiting[waiting.indexOf(before)] = item;
    },
    put(entry, kind, text) {
      if (closed) return;
      index.add(nowhere[kind], entry, text);
      const bytes = text === undefined ? null : Buffer.from(text);
      push({ kind, entry, text: bytes, size: (bytes?.length ?? 0) + ENTRY_BYTES, settled: undefined });
    },
    flush,
    rotate: () =>
      alone(async () => {
        for (const one of [...open.values()]) await closeSegment(one);
      }),
    async close(timeoutMs) {
      if (closed) return;
      await flush(timeoutMs);
      closed = true;
      if (timer !== null) clearTimeout(timer);
      if (heartbeat !== null) clearInterval(heartbeat);
      for (const { settled } of waiting) settled?.('shut down');
      waiting = [];
      for (const one of [...open.values()]) await closeSegment(one);
    },
    closeSync() {
      if (closed) return;
      try {
        writeAllSync();
        for (const { rows, rowsSize } of open.values())
          rows.writeSync(Buffer.from(entryLine({ type: 'end' })), rowsSize);
      } catch {
        // Nothing more can be done: the process ends.
      }
    },
  };
}
