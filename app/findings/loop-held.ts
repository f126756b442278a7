/**
 * The event loop could not turn: nobody in the process was served meanwhile.
 *
 * That it was held is measured; by whom is known where a layer of this request or of another one was running all through
 * it without giving the loop back, or where a view was being rendered. Else it may have been any request that ran.
 */
import { fromLayerRow, type RanLayer } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { endOf, type Interval, type Kept } from './shared/kept.ts';
import { counted, duration, placed, shareOf } from './shared/wording.ts';

type Given = Pick<Kept, 'runtime'> & Partial<Pick<Kept, 'routing' | 'views' | 'logs'>>;
type Held = NonNullable<Kept['runtime']['held']>[number] & {
  /** The request that held it, where that is sure. */
  by?: { profile: string; what: string; where: string };
};

/** Worth a sentence, and bad. */
const HELD_MS = 50;
const BAD_MS = 300;
/** Of the time held: more is not seen, for the watch looks every 20 ms. */
const MOST = 0.8;

function covers(interval: Interval, held: Held): boolean {
  const shared =
    Math.min(endOf(interval), held.startMs + held.durationMs) - Math.max(interval.startMs, held.startMs);
  return shared >= held.durationMs * MOST;
}

/** The innermost layer whose synchronous part lasted all through it. */
function layerOf({ routing }: Given, held: Held): RanLayer | undefined {
  return routing?.layers
    .map(fromLayerRow)
    .filter((layer) => layer.durationMs !== null && covers(layer, held))
    .reduce<RanLayer | undefined>(
      (inner, layer) => (layer.startMs >= (inner?.startMs ?? 0) ? layer : inner),
      undefined,
    );
}

/** The profiler's own error page is no work of the application. */
function isOurs({ kind, name }: RanLayer, { child }: ProfileHead): boolean {
  return child !== null && kind === 'error' && name === 'errorPage';
}

interface Who {
  by: string;
  place: string | null;
}

/** null: the profiler itself. */
function whoHeld(kept: Given, held: Held, head: ProfileHead): Who | null {
  const { by } = held;
  if (by !== undefined && by.profile !== head.token)
    return { by: `by another request, ${by.what}, in ${by.where}`, place: null };
  const view = kept.views?.views.findLast((entry) => entry.durationMs !== null && covers(entry, held));
  if (view !== undefined) return { by: `while ${view.name.slice(0, 120)} was rendered`, place: view.caller };
  const layer = layerOf(kept, held);
  if (layer !== undefined && isOurs(layer, head)) return null;
  if (layer !== undefined)
    return {
      by: `by the synchronous part of ${layer.name === '' ? layer.pattern : layer.name}`,
      place: layer.source,
    };
  const { concurrent } = kept.runtime;
  const others =
    concurrent === 1
      ? 'other work in the process'
      : concurrent === 2
        ? 'the other one that ran'
        : `one of the ${counted(concurrent - 1)} others that ran`;
  const line = kept.logs?.lines.find(
    ({ atMs, caller }) =>
      typeof caller === 'string' && atMs > held.startMs && atMs < held.startMs + held.durationMs,
  );
  return line === undefined
    ? { by: `by this request or ${others}`, place: null }
    : { by: `it may have been by this request, which logged meanwhile`, place: line.caller ?? null };
}

export const loopHeld: FindingRule<Given> = {
  name: 'loop-held',
  needs: ['runtime'],
  labels: ['loop held'],
  known:
    'A timer of the profiler came late by 10 ms or more, while the loop had work: nothing else ran in the process. Who held it is said where one layer or view lasted all through it.',
  mends:
    'Do less at once: smaller results, asynchronous functions instead of `…Sync`, heavy work in a worker thread or a job.',
  find(kept, head) {
    const { held } = kept.runtime;
    if (held === undefined) return [];
    const costMs = held.reduce((sum, { durationMs }) => sum + durationMs, 0);
    if (costMs < HELD_MS) return [];
    const at = held.reduce(
      (worst, { durationMs }, index) => (durationMs > (held[worst]?.durationMs ?? 0) ? index : worst),
      0,
    );
    const longest = held[at];
    if (longest === undefined) return [];
    const who = whoHeld(kept, longest, head);
    if (who === null) return [];
    const share = shareOf(costMs, head.durationMs);
    const sentence =
      held.length === 1
        ? `The event loop was held for ${share}, ${who.by}`
        : `The event loop was held ${counted(held.length, 'time')} for ${share}; the longest, ${duration(longest.durationMs)}, ${who.by}`;
    const severity = costMs >= BAD_MS ? 'bad' : 'warn';
    return [
      placed(
        { label: 'loop held', severity, sentence, panel: 'runtime', anchor: `h${at + 1}`, costMs },
        who.place,
      ),
    ];
  },
};
