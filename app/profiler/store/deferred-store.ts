/** A store that is chosen later: what is added waits for it, and reading waits for it a moment. */
import { createError } from '../../errors.ts';
import type { Store, StoreItem } from './store.ts';
import { settledWithin } from '../timeouts.ts';

export interface DeferredStore extends Store {
  resolve(store: Store): void;
}

const ITEM_BYTES = 600;
const MOST_WAITING = 32 * 1024 * 1024;

export function createDeferredStore({ readWithinMs = 0 }: { readWithinMs?: number } = {}): DeferredStore {
  let actual: Store | null = null;
  let arrive: () => void = () => undefined;
  const arrival = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  let waiting: StoreItem[] = [];
  let bytes = 0;

  const sizeOf = ({ text }: StoreItem): number => text.length + ITEM_BYTES;

  async function soon(): Promise<Store> {
    if (actual === null && readWithinMs > 0) await settledWithin(arrival, readWithinMs);
    if (actual === null) throw createError('STORAGE_UNAVAILABLE', ['the database is not ready yet.']);
    return actual;
  }

  function drop(reason: string, most: number): void {
    let count = 0;
    while (bytes > most && count < waiting.length) {
      const dropped = waiting[count++];
      if (dropped === undefined) break;
      bytes -= sizeOf(dropped);
      dropped.settled?.(reason);
    }
    waiting = waiting.slice(count);
  }

  return {
    get name() {
      return actual?.name ?? 'memory';
    },
    get state() {
      return (
        actual?.state ?? {
          pending: waiting.length,
          pendingBytes: bytes,
          maxPendingBytes: MOST_WAITING,
          failed: 0,
          failing: false,
          notice: 'The database is not ready yet.',
        }
      );
    },
    resolve(store) {
      actual = store;
      store.add(waiting);
      waiting = [];
      bytes = 0;
      arrive();
    },
    add(items) {
      if (actual !== null) {
        actual.add(items);
        return;
      }
      for (const item of items) {
        waiting.push(item);
        bytes += sizeOf(item);
      }
      drop('queue full', MOST_WAITING);
    },
    amend: async (...given) => (await soon()).amend(...given),
    async read(token) {
      const item = actual === null ? waiting.findLast(({ row }) => row.token === token) : undefined;
      return item === undefined
        ? (await soon()).read(token)
        : { row: item.row, text: item.text, amendments: {}, pinned: false };
    },
    find: async (...given) => (await soon()).find(...given),
    async *rows(since) {
      yield* (await soon()).rows(since);
    },
    label: async (...given) => (await soon()).label(...given),
    keep: async (...given) => (await soon()).keep(...given),
    purge: async (limits) => (await soon()).purge(limits),
    clear: async () => (await soon()).clear(),
    setting: async (...given) => (await soon()).setting(...given),
    async close(timeoutMs) {
      drop('shut down', 0);
      await actual?.close(timeoutMs);
    },
    closeSync(setting) {
      actual?.closeSync(setting);
    },
  };
}
