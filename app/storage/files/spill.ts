/**
 * Where records go while the database is away, and when the process ends: segments in a folder of their own. Any process of the machine moves
 * them to the database once it is back, also after a crash: it claims a segment by renaming it.
 */
import type { Row, Store } from '../../profiler/store/store.ts';
import { ageOf } from './disk.ts';
import { createFileStore, type FileStoreOptions } from './file-store.ts';
import { momentName, readEntries, readText, ROWS, segmentKindOf, TEXTS } from './segment.ts';
import { ALIVE_MS } from './segment-index.ts';
import { epochMs } from '../../profiler/record/clock.ts';

export interface MovedRecord {
  row: Row;
  text: string;
  facts: ReadonlyMap<string, string>;
}

export interface Spill extends Pick<Store, 'add' | 'closeSync' | 'close'> {
  /** Moves what no process writes any more; rejects if `move` does. */
  restore(move: (records: readonly MovedRecord[]) => Promise<void>): Promise<void>;
}

const CLAIMED = /^claimed-([0-9a-z]{9})-(.+)\.rows$/;
/** Milliseconds after which the process that claimed a segment must have ended. */
const CLAIM_STALE_MS = 60_000;
const AT_ONCE = 200;
const CLOSE_WITHIN_MS = 5000;

export function createSpill(options: FileStoreOptions): Spill {
  const { disk } = options;
  let store = createFileStore(options);
  let isUsed = false;

  /** What this process wrote can be moved when its segments are closed. */
  async function closeSegments(): Promise<void> {
    if (!isUsed) return;
    const before = store;
    store = createFileStore(options);
    isUsed = false;
    await before.close(CLOSE_WITHIN_MS);
  }

  /** The name of its rows, once they are claimed by this process; null: another one has them, or still writes to them. */
  async function claim(file: string): Promise<{ name: string; rows: string } | null> {
    const [, claimedAt, claimed] = CLAIMED.exec(file) ?? [];
    const name = claimed ?? file.slice(0, -ROWS.length);
    if (segmentKindOf(name) === null) return null;
    if (claimedAt === undefined) {
      const state = await disk.state(file);
      const isQuiet = state !== null && ageOf(state.changedAt) > ALIVE_MS;
      if (!isQuiet && (await readEntries(disk, file)).at(-1)?.type !== 'end') return null;
    } else if (ageOf(parseInt(claimedAt, 36)) < CLAIM_STALE_MS) return null;
    const rows = `claimed-${momentName(epochMs())}-${name}${ROWS}`;
    return (await disk.rename(file, rows)) ? { name, rows } : null;
  }

  async function recordsOf({ name, rows }: { name: string; rows: string }): Promise<MovedRecord[]> {
    const records = new Map<string, MovedRecord & { facts: Map<string, string> }>();
    for (const entry of await readEntries(disk, rows)) {
      if (entry.type === 'record') {
        const text = await readText(disk, name, entry);
        const facts = records.get(entry.row.token)?.facts ?? new Map<string, string>();
        if (text !== null) records.set(entry.row.token, { row: entry.row, text, facts });
      } else if (entry.type === 'fact') {
        const text = await readText(disk, name, entry);
        if (text !== null) records.get(entry.token)?.facts.set(entry.name, text);
      }
    }
    return [...records.values()];
  }

  return {
    add(items) {
      isUsed = true;
      store.add(items);
    },
    closeSync: (setting) => {
      store.closeSync(setting);
    },
    close: (timeoutMs) => store.close(timeoutMs),
    async restore(move) {
      await closeSegments();
      for (const file of [...(await disk.names())].sort()) {
        if (!file.endsWith(ROWS)) continue;
        const claimed = await claim(file);
        if (claimed === null) continue;
        const records = await recordsOf(claimed);
        try {
          for (let from = 0; from < records.length; from += AT_ONCE)
            await move(records.slice(from, from + AT_ONCE));
        } catch (error) {
          await disk.rename(claimed.rows, claimed.name + ROWS);
          throw error;
        }
        await disk.remove(claimed.rows);
        await disk.remove(claimed.name + TEXTS);
      }
    },
  };
}
