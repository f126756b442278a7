/** Which requests held the connections of a pool when another one asked for one and there was none. Called only then. */
import type { Context } from '../../profiler/record/context.ts';
import type { ConnectionHolder, QueryFact } from './query-fact.ts';
import { requestName } from '../request-name.ts';

export interface HeldConnection {
  context: Context;
  connection: string | null;
  sinceMs: number;
}

const WAIT_FROM_MS = 5;
const MOST = 10;

/** The line of its last statement on that connection since then, else of its route. */
function placeOf({ context, connection, sinceMs }: HeldConnection): string | null {
  const query = context
    .all('query')
    .findLast(
      ({ connection: on, caller, startMs }) => on === connection && caller !== null && startMs >= sinceMs,
    );
  return query?.caller ?? context.last('route')?.source ?? null;
}

export function countHolders(
  held: readonly { context: Context; place: string | null }[],
): ConnectionHolder[] {
  const holders = new Map<string, ConnectionHolder>();
  for (const { context, place } of held) {
    const key = `${context.token} ${place ?? ''}`;
    const known = holders.get(key);
    if (known !== undefined) known.connections++;
    else
      holders.set(key, {
        profile: context.token,
        what: requestName(context),
        place,
        connections: 1,
        ...(context.ended ? { ended: true } : {}),
      });
  }
  return [...holders.values()].slice(0, MOST);
}

export function noteHolders(fact: QueryFact, held: readonly HeldConnection[]): void {
  if (held.length === 0 || fact.waitMs < WAIT_FROM_MS) return;
  fact.heldBy = countHolders(held.map((one) => ({ context: one.context, place: placeOf(one) })));
}
