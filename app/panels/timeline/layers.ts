/** Layers as spans: each lasts until the next one starts, a router until its last layer ends. */
import { type SpanDraft, shorten } from '../../profiler/span.ts';
import type { RanLayer } from '../shared/layer-rows.ts';

function lastsUntil(layer: RanLayer, totalMs: number): number {
  const own = layer.settledMs ?? layer.durationMs;
  if (layer.outcome === 'next' && layer.nextMs !== null) return layer.startMs + layer.nextMs;
  if (layer.outcome === 'threw' && own !== null) return layer.startMs + own;
  return Math.max(totalMs, layer.startMs + (own ?? 0));
}

function labelOf({ name, kind, pattern, method }: RanLayer): string {
  if (kind === 'handler') return `${method ?? 'ALL'} ${pattern} ${name === '<anonymous>' ? '' : name}`.trim();
  if (kind === 'router') return `router ${pattern}`;
  return kind === 'middleware' || pattern === '/' ? name : `${name} ${pattern}`;
}

/** Drafts in the order of the layers, each inside its router. */
export function layerDrafts(layers: readonly RanLayer[], totalMs: number): SpanDraft[] {
  const ends = layers.map((layer) => lastsUntil(layer, totalMs));
  const open: (SpanDraft | null)[] = [];
  return layers.map((layer, index): SpanDraft => {
    let end = ends[index] ?? layer.startMs;
    if (layer.kind === 'router') {
      for (let inner = index + 1; (layers[inner]?.depth ?? -1) > layer.depth; inner++)
        end = Math.max(end, ends[inner] ?? 0);
    }
    const draft: SpanDraft = {
      kind: 'app',
      label: shorten(labelOf(layer), 200),
      startMs: layer.startMs,
      durationMs: end - layer.startMs,
      inside: layer.depth === 0 ? null : (open[layer.depth - 1] ?? null),
    };
    open.length = layer.depth;
    open[layer.depth] = draft;
    return draft;
  });
}

/** Times when a layer's function ran synchronously: CPU work, not waiting. */
export function busyTimes(layers: readonly RanLayer[]): { startMs: number; durationMs: number }[] {
  return layers.map(({ startMs, durationMs }) => ({ startMs, durationMs: durationMs ?? 0 }));
}
