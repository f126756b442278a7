/** Ids for requests that bring none: random UUIDs, made by the batch, because a single one costs ten times as much cold. */
import { randomUUID } from 'node:crypto';

const BATCH = 64;

export function createIds(): () => string {
  const ready: string[] = [];
  return () => {
    if (ready.length === 0) for (let made = 0; made < BATCH; made++) ready.push(randomUUID());
    return ready.pop() ?? randomUUID();
  };
}
