/**
 * Which request blocked the event loop, where that is certain: one of its layers or views ran synchronously through all of that
 * time. Called only after a block, which is rare.
 */
import type { Context } from '../profiler/context.ts';
import { requestName } from './request-name.ts';
import type {} from './layer-fact.ts';
import type {} from './view-trace.ts';

export interface LoopBlocker {
  profile: string;
  what: string;
  where: string;
  place?: string | null;
}

/** Share of the blocked time that has to be covered: the loop is sampled every 20 ms only. */
const MOST = 0.8;
const LONGEST = 200;

interface Piece {
  startMs: number;
  durationMs: number | null;
}

function nameOf({ name, pattern }: { name: string; pattern: string }): string {
  return (name === '' || name === '<anonymous>' ? pattern : name).slice(0, LONGEST);
}

/** The innermost piece of this request's work that lasted through all of it. */
function workIn(context: Context, from: number, to: number): Pick<LoopBlocker, 'where' | 'place'> | null {
  const isMost = (start: number, end: number): boolean =>
    Math.min(end, to) - Math.max(start, from) >= (to - from) * MOST;
  const covers = ({ startMs, durationMs }: Piece): boolean => {
    const start = context.startMark + startMs;
    return durationMs !== null && isMost(start, start + durationMs);
  };
  const own = context.ownWork.find((work) => isMost(work.from, work.to));
  if (own !== undefined) return { where: `Hindsight’s ${own.what}`, place: null };
  const view = context.all('view').findLast(covers);
  if (view !== undefined) return { where: view.name.slice(0, LONGEST), place: view.caller };
  const layer = context.all('layer').findLast(covers);
  return layer === undefined ? null : { where: nameOf(layer), place: layer.source };
}

export function loopBlocker(contexts: Iterable<Context>, from: number, to: number): LoopBlocker | null {
  for (const context of contexts) {
    const where = workIn(context, from, to);
    if (where === null) continue;
    return { profile: context.token, what: requestName(context), ...where };
  }
  return null;
}
