/**
 * Layers as stored: one row of texts and whole microseconds per call, because each profile has at least a dozen. The routing panel
 * stores them; the timeline draws them, too.
 */
import type { Facts } from '../../profiler/facts.ts';

type LayerFact = Facts['layer'];

/** A layer that ran, as pages show it. */
export type RanLayer = Omit<LayerFact, 'error'>;

const KINDS = ['middleware', 'handler', 'router', 'error', 'param'] as const;
const OUTCOMES = ['next', 'threw', 'running'] as const;

/** name, kind, pattern, method, source, depth, outcome, then start, duration, settled and next in microseconds. */
export type LayerRow = [
  name: string,
  kind: number,
  pattern: string,
  method: string | null,
  source: string | null,
  depth: number,
  outcome: number,
  startUs: number,
  durationUs: number | null,
  settledUs: number | null,
  nextUs: number | null,
];

function micros(ms: number): number {
  return Math.round(ms * 1000);
}

function microsOrNull(ms: number | null): number | null {
  return ms === null ? null : micros(ms);
}

function millis(us: number | null): number | null {
  return us === null ? null : us / 1000;
}

export function toLayerRow(layer: LayerFact): LayerRow {
  return [
    layer.name,
    KINDS.indexOf(layer.kind),
    layer.pattern,
    layer.method,
    layer.source,
    layer.depth,
    OUTCOMES.indexOf(layer.outcome),
    micros(layer.startMs),
    microsOrNull(layer.durationMs),
    microsOrNull(layer.settledMs),
    microsOrNull(layer.nextMs),
  ];
}

export function fromLayerRow(row: LayerRow): RanLayer {
  const [name, kind, pattern, method, source, depth, outcome, start, duration, settled, next] = row;
  return {
    name,
    kind: KINDS[kind] ?? 'middleware',
    pattern,
    method,
    source,
    depth,
    outcome: OUTCOMES[outcome] ?? 'running',
    startMs: start / 1000,
    durationMs: millis(duration),
    settledMs: millis(settled),
    nextMs: millis(next),
  };
}

/** Whether it threw, rejected, or passed an error on. */
export function hasThrown(row: LayerRow): boolean {
  return OUTCOMES[row[6]] === 'threw';
}

/** The last middleware or handler that neither called `next()` nor failed; it is taken for the one that responded. */
export function lastRunning(layers: readonly RanLayer[]): RanLayer | undefined {
  return layers.findLast(({ outcome, kind }) => outcome === 'running' && kind !== 'router');
}
