/** The lines that led to a place, from the handler or loop on: `src/routes/orders.ts:18 → src/orders.ts:9`. `…`: lines are left out. */
import type { Row } from '../profiler/read/rows.ts';

const MOST = 3;
const LEFT_OUT = '…';

function fileOf(place: string | undefined): string | undefined {
  return place?.replace(/:\d+$/, '');
}

/** The lines above the place, at most three: those that call another line of their own file are left out first, then those in the middle. */
export function shownCallers({ path = [], place }: Pick<Row, 'path' | 'place'>): readonly string[] {
  const callers = path.toReversed();
  const below = [...callers.slice(1), place ?? undefined];
  const kept = new Set(callers.keys());
  const helpers = callers.flatMap((line, at) => (at > 0 && fileOf(line) === fileOf(below[at]) ? at : []));
  for (const at of [...helpers.reverse(), ...callers.keys()].filter((index) => index > 0))
    if (kept.size > MOST) kept.delete(at);
  return callers.flatMap((line, at) => (kept.has(at) ? line : kept.has(at - 1) ? LEFT_OUT : []));
}

export function pathText(place: string | null | undefined, callers: readonly string[] = []): string | null {
  return place === null || place === undefined ? null : [...callers, place].join(' → ');
}
