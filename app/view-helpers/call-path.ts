/** The lines that led to a place, from the handler or loop on: `src/routes/orders.ts:18 → src/orders.ts:9`. */
import type { Row } from '../profiler/read/rows.ts';

const MOST = 3;
const MORE = '…';

/** The lines above the place of each row, without those that the row before it began with, and at most three. */
export function shownCallers(rows: readonly Pick<Row, 'path'>[]): (readonly string[])[] {
  let before: readonly string[] = [];
  return rows.map(({ path = [] }) => {
    const callers = path.toReversed();
    const differs = callers.findIndex((line, at) => line !== before[at]);
    const same = differs === -1 ? callers.length : differs;
    before = callers;
    if (same === 0 && callers.length <= MOST) return callers;
    const [first = MORE] = same === 0 ? callers : [];
    const last = callers.slice(Math.max(same, callers.length - MOST + 1));
    return first === MORE ? [MORE, ...last] : [first, MORE, ...last.slice(1)];
  });
}

export function pathText(place: string | null | undefined, callers: readonly string[] = []): string | null {
  return place === null || place === undefined ? null : [...callers, place].join(' → ');
}
