/** The requests that held the resource another one waited for. */
import type { Query } from './kept.ts';
import { count, excerpt, LONGEST_NAME } from './wording.ts';

type Holder = NonNullable<Query['heldBy']>[number];

const MOST_NAMED = 3;

/** `GET /reports/audit (3 connections, reports.ts:31) and GET /orders (1 connection)`. Requests with the same name count as one; those whose response is over are told apart. */
export function holdersText(holders: readonly Holder[]): string {
  const byName = new Map<string, Omit<Holder, 'profile'>>();
  for (const { what, place, connections, ended } of holders) {
    const name = ended === true ? `${what} (ended)` : what;
    const known = byName.get(name);
    byName.set(name, {
      what,
      place: known?.place ?? place,
      ...(ended === true ? { ended } : {}),
      connections: (known?.connections ?? 0) + connections,
    });
  }
  const most = [...byName.values()].sort((a, b) => b.connections - a.connections).slice(0, MOST_NAMED);
  return most
    .map(({ what, place, connections, ended }) => {
      const where = place === null ? '' : `, ${place}`;
      const leaked = ended === true ? ', not released after its response' : '';
      return `${excerpt(what, LONGEST_NAME)} (${count(connections, 'connection')}${where}${leaked})`;
    })
    .join(' and ');
}
