/**
 * Those who wait, in the order they came, each found by its token: an array that is shortened in place and a table of
 * numbers, no Map. A Map links each table that it has outgrown to the next, and one that a major collection has moved
 * keeps all later ones, with whatever passed through them, until the next major one.
 */
import { createTokenTable } from './token-table.ts';

export interface Line<T> {
  readonly size: number;
  /** The place of the last one that came. */
  readonly last: number;
  /** Returns its place. Whoever has the same token has been removed before. */
  add(item: T, token: string): number;
  /** Puts another form of the same one into its place. */
  replace(place: number, item: T): void;
  remove(place: number): void;
  /** undefined: whoever stood there has left. */
  at(place: number): T | undefined;
  /** The place of a token; -1: it has none. */
  find(token: string): number;
  /** The first place, at this one or behind it, where somebody stands; -1: none. */
  next(place?: number): number;
}

/** Places of those who left that are kept at the head before the array is shortened. */
const SHORTENED_FROM = 256;

export function createLine<T>(tokenOf: (item: T) => string): Line<T> {
  const items: (T | null)[] = [];
  /** Place of the first in `items`. */
  let first = 0;
  /** How many at the head have left. */
  let left = 0;
  let size = 0;
  const table = createTokenTable((place) => tokenOf(items[place - first] as T));

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
    add(item, token) {
      const place = first + items.length;
      items.push(item);
      table.set(token, place);
      size++;
      return place;
    },
    replace(place, item) {
      items[place - first] = item;
    },
    remove(place) {
      table.delete(tokenOf(items[place - first] as T));
      items[place - first] = null;
      size--;
      shorten();
    },
    at: (place) => items[place - first] ?? undefined,
    find: (token) => table.find(token),
    next(place = 0) {
      for (let at = Math.max(left, place - first); at < items.length; at++)
        if (items[at] !== null) return first + at;
      return -1;
    },
  };
}
