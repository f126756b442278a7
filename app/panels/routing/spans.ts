/** Layers as spans: each lasts until the next one starts, a router until its last layer ends. */
import { type SpanDraft, shorten } from '../../profiler/span.ts';
import type { RanLayer } from '../shared/ran-layers.ts';

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

/** Error handlers pass on what was thrown: the first one threw it. */
function throwerOf(layers: readonly RanLayer[]): RanLayer | undefined {
  return layers.find(({ kind, outcome }) => kind !== 'router' && outcome === 'threw');
}

/** The profiler's error page, if it responded: its work has a row of its own. */
function isErrorPage({ kind, name }: RanLayer, child: string | null): boolean {
  return child !== null && kind === 'error' && name === 'errorPage';
}

/** In the order of the layers, each inside its router. `child`: token of the request's error page. */
export function layerSpans(
  ran: readonly RanLayer[],
  { totalMs, child }: { totalMs: number; child: string | null },
): SpanDraft[] {
  const layers = ran.filter((layer) => !isErrorPage(layer, child));
  const ends = layers.map((layer) => lastsUntil(layer, totalMs));
  const open: (SpanDraft | null)[] = [];
  const thrower = throwerOf(layers);
  return layers.map((layer, index): SpanDraft => {
    const { kind, startMs, durationMs, depth } = layer;
    let end = ends[index] ?? startMs;
    if (kind === 'router') {
      for (let inner = index + 1; (layers[inner]?.depth ?? -1) > depth; inner++)
        end = Math.max(end, ends[inner] ?? 0);
    }
    const span: SpanDraft = {
      kind: kind === 'handler' || kind === 'error' ? 'app' : 'middleware',
      label: shorten(labelOf(layer), 200),
      startMs,
      durationMs: end - startMs,
      isLayer: true,
      inside: depth === 0 ? null : (open[depth - 1] ?? null),
      ...(durationMs === null ? {} : { ranMs: durationMs }),
      ...(layer === thrower ? { failed: 'threw' } : {}),
    };
    open.length = depth;
    open[depth] = span;
    return span;
  });
}
