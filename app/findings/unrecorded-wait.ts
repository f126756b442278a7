/** Most of the request passed while nothing that is recorded ran. */
import type { KeptRequest } from '../panels/request/data.ts';
import { fromLayerRow, type RanLayer } from '../panels/shared/layer-rows.ts';
import type { Unkept } from '../panels/shared/unkept.ts';
import type { KeptCpu } from '../profiler/cpu-samples.ts';
import { callTree, isSampled } from '../profiler/cpu-tree.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { mediaType, nameOfLayer } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';
import { shareOf } from './shared/wording.ts';

type Given = {
  request: KeptRequest;
  routing: Kept['routing'];
  cpu?: KeptCpu;
  runtime?: Kept['runtime'];
} & Record<string, unknown>;

/** A wait is reported above both. */
const LONG_MS = 200;
const LARGE_SHARE = 0.5;
/** The upload of a larger body is a wait for the client. */
const SMALL_BODY = 65_536;

interface Gap {
  startMs: number;
  durationMs: number;
}

interface Recorded {
  startMs: number;
  durationMs: number | null;
  waitMs: number;
}

/** Everything in the panels that has a time, also past the recording limit; log lines have no duration, but something ran then. */
function workIn(kept: Readonly<Record<string, unknown>>): Recorded[] {
  const found: Recorded[] = [];
  for (const [name, data] of Object.entries(kept)) {
    if (name === 'routing' || name === 'request' || typeof data !== 'object' || data === null) continue;
    const { stretches } = (data as { unkept?: Unkept }).unkept ?? {};
    for (const list of [...(Object.values(data) as unknown[]), stretches]) {
      if (!Array.isArray(list)) continue;
      for (const entry of list as Partial<Recorded & { atMs: number }>[]) {
        const startMs = entry?.startMs ?? entry?.atMs;
        if (typeof startMs !== 'number') continue;
        const durationMs = entry.startMs === undefined ? 0 : (entry.durationMs ?? null);
        found.push({ startMs, durationMs, waitMs: entry.waitMs ?? 0 });
      }
    }
  }
  return found.sort((a, b) => a.startMs - a.waitMs - (b.startMs - b.waitMs));
}

function longestGap(work: readonly Recorded[], fromMs: number, endMs: number): Gap {
  let longest: Gap = { startMs: fromMs, durationMs: 0 };
  let until = fromMs;
  const consider = (nextMs: number): void => {
    if (nextMs - until > longest.durationMs) longest = { startMs: until, durationMs: nextMs - until };
  };
  for (const { startMs, durationMs, waitMs } of work) {
    consider(Math.min(endMs, startMs - waitMs));
    until = Math.max(until, durationMs === null ? Infinity : startMs + durationMs);
  }
  consider(endMs);
  return longest;
}

/** The innermost function that had not ended at that time. */
function waitingAt(layers: readonly RanLayer[], { startMs, durationMs }: Gap): RanLayer | undefined {
  return layers.findLast((layer) => layer.kind !== 'router' && layer.startMs <= startMs + durationMs / 2);
}

/** Its own code ran for half of it, as samples show: it did not wait. */
function isHeld({ cpu }: Given, { startMs, durationMs }: Gap): boolean {
  if (!isSampled(cpu)) return false;
  return callTree(cpu, [startMs, startMs + durationMs]).totalUs > (durationMs * 1000) / 2;
}

/** The event loop was idle for less than half of it: something ran, or was ready to run and got no CPU. */
function isBusy({ runtime }: Given, { durationMs }: Gap, wholeMs: number): boolean {
  return runtime !== undefined && (1 - runtime.loopUtilization) * wholeMs < durationMs / 2;
}

export const unrecordedWait: FindingRule<Given> = {
  name: 'unrecorded-wait',
  needs: ['request', 'routing'],
  labels: ['unrecorded wait'],
  why: 'For at least 200 ms, and half of the request, no query, call, view, log line or other recorded work ran, and the event loop was free.',
  fix: 'Look at what this function awaits there: a timer, a lock or queue of your own, a file, or a library that is not observed. `profiler.span(name, work)` records it.',
  find(kept, { durationMs, outcome }) {
    const { request, routing } = kept;
    const endMs = request.response?.headersAtMs ?? null;
    if (durationMs === null || endMs === null || endMs < LONG_MS || outcome !== 'finished') return [];
    if ((request.body?.bytes ?? 0) > SMALL_BODY) return [];
    if (mediaType(request.response?.contentType ?? null) === 'text/event-stream') return [];
    const layers = routing.layers.map(fromLayerRow);
    const gap = longestGap(workIn(kept), layers[0]?.startMs ?? 0, endMs);
    if (gap.durationMs < LONG_MS || gap.durationMs < durationMs * LARGE_SHARE) return [];
    if (isHeld(kept, gap) || isBusy(kept, gap, durationMs)) return [];
    const layer = waitingAt(layers, gap);
    if (layer === undefined || layer.kind === 'error') return [];
    const sentence = `${nameOfLayer(layer)} waited ${shareOf(gap.durationMs, durationMs)} while nothing that is recorded ran: a timer, or work that is not observed`;
    return [{ severity: 'info', sentence, panel: 'timeline', costMs: gap.durationMs, place: layer.source }];
  },
};
