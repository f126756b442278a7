/** Work that a request did again, with nothing written in between that could have changed its result. */
import { addTo } from '../../profiler/group-by.ts';

interface Repeating<Item> {
  isWrite(item: Item): boolean;
  /** Equal for the same work; null for work that repeats nothing. */
  keyOf(item: Item): string | null;
}

/** Indexes of the same work, in runs that no write interrupts. */
export function repeatsIn<Item>(items: readonly Item[], { isWrite, keyOf }: Repeating<Item>): number[][] {
  const runs = new Map<string, number[]>();
  let writes = 0;
  items.forEach((item, index) => {
    if (isWrite(item)) writes++;
    const key = isWrite(item) ? null : keyOf(item);
    if (key !== null) addTo(runs, `${writes}\n${key}`, index);
  });
  return [...runs.values()].filter(({ length }) => length > 1);
}
