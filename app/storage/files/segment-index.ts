/**
 * What lies in the folder, by token: rows in memory, texts on the disk. Until somebody reads, it has only the newest records of this process.
 * The first list or search reads the rows of all segments; from then on only what other processes have added is read.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareNewest } from '../../profiler/store/query-rows.ts';
import type { Row } from '../../profiler/store/store.ts';
import { ageOf, type Disk } from './disk.ts';
import {
  emptyTally,
  type Entry,
  entryIn,
  type Header,
  headerIn,
  ROWS,
  segmentKindOf,
  type SegmentKind,
  type Tally,
  type TextPlace,
} from './segment.ts';

export interface Segment {
  readonly name: string;
  readonly kind: SegmentKind;
  readonly own: boolean;
  header: Header | null;
  read: number;
  closed: boolean;
  changedAt: number;
  readonly tally: Tally;
}

export type Text = { segment: Segment; place: TextPlace } | string;

export interface Found {
  readonly token: string;
  row: Row;
  at: number;
  segment: Segment;
  text: Text;
  labelledAt: number;
  facts: Map<string, { at: number; text: Text }> | null;
}

export interface SegmentIndex {
  /** Everything in the folder is known, but for the last moment. */
  readonly isWhole: boolean;
  get(token: string): Found | undefined;
  all(): readonly Found[];
  add(segment: Segment, entry: Entry, text?: string): void;
  written(segment: Segment, entry: Entry): void;
  isPinned(token: string): boolean;
  pin(token: string, yes: boolean): void;
  drop(token: string, at: number): void;
  refresh(): Promise<void>;
  forget(names: ReadonlySet<string>): void;
  clear(until: number): void;
  readonly clearedAt: number;
  release(): void;
  segments(): Iterable<Segment>;
}

const MOST_OWN = 100;
/** Milliseconds after which what other processes have written is read again. */
const FRESH_MS = 150;
/** A segment that was not touched for so long is of a process that has ended. */
export const ALIVE_MS = 15_000;
/** Each process closes its segments before. */
const SURELY_CLOSED_MS = 15 * 60_000;
const TURN_MS = 8;

/** Holds the moment of the last clearing. */
export const CLEARED = 'cleared';
export const PIN = 'pin-';

export function pinsAmong(files: readonly string[]): Set<string> {
  return new Set(files.flatMap((file) => (file.startsWith(PIN) ? [file.slice(PIN.length)] : [])));
}

export function isAlive({ changedAt, closed }: Segment): boolean {
  return !closed && ageOf(changedAt) < ALIVE_MS;
}

/** Both newest first. A list that is read while others record is not sorted again for each record. */
function merged(fresh: readonly Found[], sorted: readonly Found[]): Found[] {
  const all: Found[] = [];
  let at = 0;
  for (const one of fresh) {
    for (
      let next = sorted[at];
      next !== undefined && compareNewest(next.row, one.row) < 0;
      next = sorted[++at]
    )
      all.push(next);
    all.push(one);
  }
  return all.concat(sorted.slice(at));
}

export function createSegmentIndex(options: {
  disk: Disk;
  shows: (guard: string | null) => boolean;
  warn: (sentence: string) => void;
}): SegmentIndex {
  const { disk, shows, warn } = options;
  const segments = new Map<string, Segment>();
  let byToken = new Map<string, Found>();
  let early = new Map<string, { segment: Segment; entry: Entry }[]>();
  /** Newest first; null: to be sorted again. */
  let sorted: Found[] | null = null;
  /** Added since then. */
  let fresh: Found[] = [];
  let isWhole = false;
  let refreshing: Promise<void> | null = null;
  let refreshedAt = -Infinity;
  let clearedAt = 0;
  let pins: ReadonlySet<string> = new Set();
  let damaged = 0;
  /** Records beyond which old ones are looked for: more than before where many still wait to be written. */
  let most = MOST_OWN;

  function sayDamaged(): void {
    if (damaged++ === 0) warn('Some stored profiles are damaged or of another version; they are skipped.');
  }

  function applyBeside(found: Found, segment: Segment, entry: Entry, text?: string): void {
    if (entry.type === 'label' && entry.at >= Math.max(found.at, found.labelledAt)) {
      found.labelledAt = entry.at;
      Object.assign(found.row, entry.labels);
    } else if (entry.type === 'fact') {
      found.facts ??= new Map();
      if (entry.at >= (found.facts.get(entry.name)?.at ?? 0))
        found.facts.set(entry.name, { at: entry.at, text: text ?? { segment, place: entry } });
    }
  }

  function isOlder(entry: Entry & { type: 'record' }, found: Found): boolean {
    const isSame = entry.row.startedAt === found.row.startedAt && entry.row.process === found.row.process;
    if (!isSame) return entry.row.startedAt < found.row.startedAt;
    const [before, now] = [found.row.state === 'running', entry.row.state === 'running'];
    return before === now ? entry.at < found.at : now;
  }

  function applyRecord(segment: Segment, entry: Entry & { type: 'record' }, given?: string): void {
    const { row, at } = entry;
    const text: Text = given ?? { segment, place: entry };
    const found = byToken.get(row.token);
    if (found === undefined) {
      const added: Found = {
        token: row.token, row, at, segment, text, labelledAt: 0, facts: null,
      }; // prettier-ignore
      byToken.set(row.token, added);
      if (sorted !== null) fresh.push(added);
      const beside = early.get(row.token);
      if (beside === undefined) return;
      early.delete(row.token);
      for (const other of beside) applyBeside(added, other.segment, other.entry);
      return;
    }
    if (isOlder(entry, found)) return;
    if (found.row.startedAt !== row.startedAt) sorted = null;
    // Labels that were made after this version are its labels.
    const { findings, mark, marks } = found.row;
    found.row = found.labelledAt <= at ? row : Object.assign(row, { findings, mark, marks });
    Object.assign(found, { at, segment, text });
  }

  function apply(segment: Segment, entry: Entry, text?: string): void {
    if (entry.type === 'end') segment.closed = true;
    else if (entry.type === 'record') applyRecord(segment, entry, text);
    else {
      const found = byToken.get(entry.token);
      if (found !== undefined) applyBeside(found, segment, entry, text);
      else if (early.has(entry.token)) early.get(entry.token)?.push({ segment, entry });
      else early.set(entry.token, [{ segment, entry }]);
    }
  }

  function dropOld(): void {
    if (isWhole || byToken.size <= most * 2) return;
    for (const [token, { text }] of byToken) {
      if (byToken.size <= MOST_OWN) break;
      if (typeof text !== 'string') byToken.delete(token);
    }
    // Leaves the tables behind that V8 would link to all later ones (open-list.ts).
    byToken = new Map(byToken);
    most = Math.max(MOST_OWN, byToken.size);
    early.clear();
    sorted = null;
  }

  async function readMore(segment: Segment, size: number): Promise<void> {
    const bytes = await disk.read(segment.name + ROWS, segment.read, size - segment.read);
    const end = bytes.lastIndexOf(10) + 1;
    segment.read += end;
    let turn = performance.now();
    for (const line of bytes.toString('utf8', 0, end).split('\n')) {
      if (line === '') continue;
      if (segment.header === null) {
        segment.header = headerIn(line);
        if (segment.header === null) {
          segment.closed = true;
          sayDamaged();
          return;
        }
        if (!shows(segment.header.guard)) {
          segment.closed = true;
          return;
        }
        continue;
      }
      const entry = entryIn(line, segment.header);
      if (entry === null) sayDamaged();
      else apply(segment, entry);
      if (performance.now() - turn < TURN_MS) continue;
      await nextTurn();
      turn = performance.now();
    }
  }

  async function look(segment: Segment): Promise<void> {
    const state = await disk.state(segment.name + ROWS);
    if (state === null) return;
    segment.changedAt = state.changedAt;
    if (state.size > segment.read) await readMore(segment, state.size);
    if (!segment.own && ageOf(state.changedAt) > SURELY_CLOSED_MS) segment.closed = true;
  }

  function forget(names: ReadonlySet<string>): void {
    if (names.size === 0) return;
    for (const name of names) segments.delete(name);
    for (const { token, segment } of byToken.values()) if (names.has(segment.name)) byToken.delete(token);
    sorted = null;
  }

  async function readFolder(): Promise<void> {
    const names = await disk.names();
    const present = new Set<string>();
    for (const file of names) {
      if (!file.endsWith(ROWS)) continue;
      const name = file.slice(0, -ROWS.length);
      const kind = segmentKindOf(name);
      if (kind === null) continue;
      present.add(name);
      if (!segments.has(name))
        segments.set(name, {
          name,
          kind,
          own: false,
          header: null,
          read: 0,
          closed: false,
          changedAt: 0,
          tally: emptyTally(),
        });
    }
    // One that is open may have been made while the folder was read.
    const gone = [...segments.values()].filter(
      ({ name, own, closed }) => !present.has(name) && !(own && !closed),
    );
    forget(new Set(gone.map(({ name }) => name)));
    setPins(pinsAmong(names));
    if (names.includes(CLEARED)) clear(Number(await disk.readText(CLEARED)));
    // What this process wrote is in memory, but only the newest of it until the folder was read.
    const open = [...segments.values()].filter(({ own, closed }) => (own ? !isWhole : !closed));
    for (const segment of open) if (segment.own) segment.read = 0;
    // Files of a folder are read several at a time, because each needs some round trips to the thread pool.
    const readers = Array.from({ length: 4 }, async () => {
      for (let next = open.pop(); next !== undefined; next = open.pop()) await look(next);
    });
    await Promise.all(readers);
  }

  function setPins(now: ReadonlySet<string>): void {
    if (now.size !== pins.size || [...now].some((token) => !pins.has(token))) sorted = null;
    pins = now;
  }

  function clear(until: number): void {
    if (!(until > clearedAt)) return;
    clearedAt = until;
    sorted = null;
  }

  function newestFirst(some: Iterable<Found>): Found[] {
    return [...some].filter(isVisible).sort((a, b) => compareNewest(a.row, b.row));
  }

  function isVisible({ token, at, row: { parent } }: Found): boolean {
    return at > clearedAt || pins.has(token) || (parent !== null && pins.has(parent));
  }

  return {
    get isWhole() {
      return isWhole;
    },
    get clearedAt() {
      return clearedAt;
    },
    get(token) {
      const found = byToken.get(token);
      return found !== undefined && isVisible(found) ? found : undefined;
    },
    all() {
      if (sorted === null) sorted = newestFirst(byToken.values());
      else if (fresh.length > 0) sorted = merged(newestFirst(fresh), sorted);
      fresh = [];
      return sorted;
    },
    isPinned: (token) => pins.has(token),
    pin(token, yes) {
      const now = new Set(pins);
      if (yes) now.add(token);
      else now.delete(token);
      setPins(now);
    },
    written(segment, entry) {
      segments.set(segment.name, segment);
      if (entry.type === 'end' || entry.type === 'label') return;
      const text = { segment, place: entry };
      if (entry.type === 'record') {
        const found = byToken.get(entry.row.token);
        if (found?.at !== entry.at) return;
        found.segment = segment;
        found.text = text;
      } else {
        const fact = byToken.get(entry.token)?.facts?.get(entry.name);
        if (fact?.at === entry.at) fact.text = text;
      }
    },
    add(segment, entry, text) {
      apply(segment, entry, text);
      dropOld();
    },
    drop(token, at) {
      if (byToken.get(token)?.at !== at) return;
      byToken.delete(token);
      sorted = null;
    },
    async refresh() {
      if (refreshing === null && performance.now() - refreshedAt < FRESH_MS) return;
      refreshing ??= readFolder().finally(() => {
        refreshing = null;
        refreshedAt = performance.now();
      });
      await refreshing;
      isWhole = true;
    },
    forget,
    clear,
    release() {
      isWhole = false;
      early = new Map();
      const own = [...byToken].filter(([, { segment }]) => segment.own);
      byToken = new Map(own.slice(-MOST_OWN));
      for (const [name, { own: isOwn }] of segments) if (!isOwn) segments.delete(name);
      refreshedAt = -Infinity;
      sorted = null;
    },
    segments: () => segments.values(),
  };
}
