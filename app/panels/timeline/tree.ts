/** Drafts -> spans in reading order: children follow their parent, in the order of their start. */
import type { SpanDraft } from '../../profiler/span.ts';
import { endOf, type Span } from '../shared/timeline-data.ts';
import { round } from '../shared/rows.ts';
import { addTo } from '../../profiler/group-by.ts';

export interface TreeOptions {
  root: SpanDraft;
  /** In the order of their start. */
  layers: readonly SpanDraft[];
  others: readonly SpanDraft[];
  /** When the response finished; null while it runs. */
  answeredMs: number | null;
}

/** The innermost layer that ran at a moment: of those that began by then, the last that had not ended. */
function layerAt(layers: readonly SpanDraft[], ms: number): SpanDraft | null {
  for (let index = layers.length - 1; index >= 0; index--) {
    const layer = layers[index];
    if (layer !== undefined && layer.startMs <= ms && endOf(layer) >= ms) return layer;
  }
  return null;
}

function childrenOf({ root, layers, others }: TreeOptions): Map<SpanDraft, SpanDraft[]> {
  const children = new Map<SpanDraft, SpanDraft[]>();
  const add = (above: SpanDraft, draft: SpanDraft): void => {
    addTo(children, above, draft);
  };
  for (const layer of layers) add(layer.inside ?? root, layer);
  for (const draft of others) {
    const above = draft.global === true ? root : (draft.inside ?? layerAt(layers, draft.startMs) ?? root);
    add(above, draft);
  }
  for (const list of children.values()) list.sort((a, b) => a.startMs - b.startMs);
  return children;
}

/** Milliseconds of a span in which none of its children, in the order of their start, ran. */
function selfTimeOf(draft: SpanDraft, inside: readonly SpanDraft[]): number {
  const end = endOf(draft);
  let covered = 0;
  let until = -Infinity;
  for (const child of inside) {
    const from = Math.max(draft.startMs, child.startMs);
    const to = from + Math.max(0, Math.min(end, endOf(child)) - from);
    covered += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return Math.max(0, draft.durationMs - covered);
}

export function spansOf(options: TreeOptions): Span[] {
  const { root, answeredMs } = options;
  const children = childrenOf(options);
  const spans: Span[] = [];

  /** One assignment per field: a profile has hundreds of spans, and spreads cost several times as much. */
  function spanOf(draft: SpanDraft, depth: number, parent: number | null): Span {
    const { kind, label, startMs, parts, pieces, panel, anchor, token } = draft;
    const inside = children.get(draft);
    const durationMs = round(draft.durationMs);
    const span: Span = { kind, label, startMs: round(startMs), durationMs, depth, parent };
    if (inside !== undefined) span.selfMs = round(selfTimeOf(draft, inside));
    if (parts !== undefined) span.parts = parts;
    else if (pieces !== undefined) span.parts = pieces.map((piece) => ({ kind, ...piece }));
    if (panel !== undefined) span.panel = panel;
    if (anchor !== undefined) span.anchor = anchor;
    if (token !== undefined) span.token = token;
    if (answeredMs !== null && startMs > answeredMs) span.after = true;
    return span;
  }

  const waiting: { draft: SpanDraft; depth: number; parent: number | null }[] = [
    { draft: root, depth: 0, parent: null },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { draft, depth, parent } = next;
    const index = spans.push(spanOf(draft, depth, parent)) - 1;
    const inside = children.get(draft) ?? [];
    for (let child = inside.length - 1; child >= 0; child--) {
      const below = inside[child];
      if (below !== undefined) waiting.push({ draft: below, depth: depth + 1, parent: index });
    }
  }
  return spans;
}
