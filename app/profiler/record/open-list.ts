/**
 * A collection of things that are added and deleted with each request: an array without gaps instead of a Set or Map.
 *
 * V8 links each table that a Map or Set has outgrown to its successor, and these outgrow one every few requests. Once a major garbage
 * collection has moved such a table, it keeps all later ones and their contents alive until the next major collection: every request's
 * objects then survive and are copied, a few microseconds each. A WeakMap whose entries are deleted has no such chain.
 */
export interface OpenList<T> extends Iterable<T> {
  readonly size: number;
  add(item: T): void;
  has(item: T): boolean;
  find(fits: (item: T) => boolean): T | undefined;
  delete(item: T): void;
  clear(): void;
}

/** Iterates over a copy. Few items are open at a time, and usually the newest are deleted first. */
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
