/**
 * What comes and goes with each request and is walked now and then: an array that closes its gaps, no Set and no Map.
 *
 * V8 links each table that a Map or Set has outgrown to the next, and what comes and goes outgrows one every few requests. Once a major
 * collection has moved such a table, all later ones hang on it, with whatever was in them, until the next major collection: everything
 * about every request then survives and is copied, a few microseconds each. A WeakMap whose entries are deleted has no such chain.
 */
export interface OpenList<T> extends Iterable<T> {
  readonly size: number;
  /** Must not be in it. */
  add(item: T): void;
  has(item: T): boolean;
  /** The latest one that fits. */
  find(fits: (item: T) => boolean): T | undefined;
  /** Nothing happens where it is not in it. */
  delete(item: T): void;
  clear(): void;
}

/** Walked as it was when that began. Few are open at a time, and mostly the latest are the first to leave. */
export function createOpenList<T>(): OpenList<T> {
  const items: T[] = [];
  return {
    get size() {
      return items.length;
    },
    add(item) {
      items.push(item);
    },
    has: (item) => items.includes(item),
    find: (fits) => items.findLast(fits),
    delete(item) {
      const at = items.lastIndexOf(item);
      if (at === -1) return;
      const last = items.pop();
      if (last !== undefined && at < items.length) items[at] = last;
    },
    clear() {
      items.length = 0;
    },
    [Symbol.iterator]: () => [...items][Symbol.iterator](),
  };
}
