/** Removes the oldest entry of a Map or Set that has more than `most`. */
export function dropOldest<Key>(from: Map<Key, unknown> | Set<Key>, most: number): void {
  if (from.size <= most) return;
  const [oldest] = from.keys();
  if (oldest !== undefined) from.delete(oldest);
}
