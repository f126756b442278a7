/**
 * Those who wait, in the order they came, each found by its token: an array that is shortened in place and an object by
 * token, no Map. A Map links each table that it has outgrown to the next, and one that a major collection has moved
 * keeps all later ones, with whatever passed through them, until the next major one.
 */

export interface InLine {
  readonly token: string;
  /** Grows with each one that comes; set by the line. */
  place: number;
}

export interface Line<T extends InLine> {
  readonly size: number;
  /** The place of the last one that came. */
  readonly last: number;
  /** Whoever has the same token has been removed before. */
  add(item: T): void;
  remove(item: T): void;
  get(token: string): T | undefined;
  /** The first one at this place or behind it. */
  next(place?: number): T | undefined;
  /** Oldest first. */
  values(): Iterable<T>;
}

/** Places of those who left that are kept at the head before the array is shortened. */
const SHORTENED_FROM = 256;

export function createLine<T extends InLine>(): Line<T> {
  const byToken = Object.create(null) as Record<string, T | undefined>;
  const items: (T | null)[] = [];
  /** Place of the first in `items`. */
  let first = 0;
  /** How many at the head have left. */
  let left = 0;
  let size = 0;

  function next(place = 0): T | undefined {
    for (let at = Math.max(left, place - first); at < items.length; at++) {
      const item = items[at];
      if (item !== null && item !== undefined) return item;
    }
    return undefined;
  }

  function shorten(): void {
    while (left < items.length && items[left] === null) left++;
    if (left < items.length && (left < SHORTENED_FROM || left * 2 < items.length)) return;
    items.splice(0, left);
    first += left;
    left = 0;
  }

  return {
    get size() {
      return size;
    },
    get last() {
      return first + items.length - 1;
    },
    add(item) {
      item.place = first + items.length;
      items.push(item);
      byToken[item.token] = item;
      size++;
    },
    remove(item) {
      items[item.place - first] = null;
      Reflect.deleteProperty(byToken, item.token);
      size--;
      shorten();
    },
    get: (token) => byToken[token],
    next,
    *values() {
      for (let item = next(); item !== undefined; item = next(item.place + 1)) yield item;
    },
  };
}
