/** Nobody knows what most of a slow request waited for. */
import type { KeptRequest } from '../panels/request/data.ts';
import { fromLayerRow, type RanLayer } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Slice } from '../profiler/time-ledger.ts';
import { mediaType, nameOfLayer } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';
import { shareOfKind } from './shared/long.ts';
import { shareOf } from './shared/wording.ts';

type Given = { request: KeptRequest } & Pick<Kept, 'routing'>;

/** A wait is reported above both. */
const LONG_MS = 200;
const LARGE_SHARE = 0.5;
/** The upload of a larger body is a wait for the client. */
const SMALL_BODY = 65_536;

/** The innermost function that had not ended in the middle of it. */
function waitingAt(layers: readonly RanLayer[], { startMs, durationMs }: Slice): RanLayer | undefined {
  return layers.findLast((layer) => layer.kind !== 'router' && layer.startMs <= startMs + durationMs / 2);
}

export const unrecordedWait: FindingRule<Given> = {
  name: 'unrecorded-wait',
  needs: ['request', 'routing'],
  labels: ['unrecorded wait'],
  why: 'For at least 200 ms, and half of the request, no query, call, view or other recorded work ran, and the event loop was free.',
  fix: 'Look at what this function awaits there: a timer, a lock or queue of your own, a file, or a library that is not observed. `profiler.span(name, work)` records it.',
  find({ request, routing }, { durationMs, outcome }, from) {
    const endMs = request.response?.headersAtMs ?? null;
    if (durationMs === null || endMs === null || endMs < LONG_MS || outcome !== 'finished') return [];
    if ((request.body?.bytes ?? 0) > SMALL_BODY) return [];
    if (mediaType(request.response?.contentType ?? null) === 'text/event-stream') return [];
    const { ms: costMs } = shareOfKind(from.time, 'idle');
    if (costMs < LONG_MS || costMs < durationMs * LARGE_SHARE) return [];
    const [longest] = from.time.slices
      .filter(({ kind }) => kind === 'idle')
      .sort((a, b) => b.durationMs - a.durationMs);
    const layer = longest === undefined ? undefined : waitingAt(routing.layers.map(fromLayerRow), longest);
    if (layer === undefined || layer.kind === 'error') return [];
    const sentence = `${nameOfLayer(layer)} waited ${shareOf(costMs, durationMs)} while nothing that is recorded ran: a timer, or work that is not observed`;
    return [{ severity: 'info', sentence, panel: 'timeline', costMs, place: layer.source }];
  },
};
