/** Ids for requests without one: random UUIDs, generated in batches, because a single cold call costs ten times as much. */
import { randomUUID } from 'node:crypto';

const BATCH = 64;

export function createIds(): () => string {
  const ready: string[] = [];
  return () => {
    if (ready.length === 0) for (let made = 0; made < BATCH; made++) ready.push(randomUUID());
    return ready.pop() ?? randomUUID();
  };
}
