/** Spans of the ledger in reading order: children follow their parent, in the order of their start. */
import { round, type SpanDraft } from '../../profiler/read/span.ts';
import { layerAt, OUTSIDE, type TimeLedger } from '../../profiler/read/time-ledger.ts';
import type { Span } from '../shared/timeline-data.ts';
import { addTo } from '../../profiler/group-by.ts';

export interface TreeOptions {
  root: SpanDraft;
  time: TimeLedger;
  answeredMs: number | null;
}

function childrenOf({ root, time }: TreeOptions): Map<SpanDraft, SpanDraft[]> {
  const layers = time.spans.filter(({ isLayer }) => isLayer === true);
  const children = new Map<SpanDraft, SpanDraft[]>();
  for (const span of time.spans) {
    const { isLayer, global, kind, inside } = span;
    const isTop = global === true || OUTSIDE.includes(kind);
    const around = isLayer === true || inside ? inside : layerAt(layers, span.startMs);
    addTo(children, isTop ? root : (around ?? root), span);
  }
  for (const list of children.values()) list.sort((a, b) => a.startMs - b.startMs);
  return children;
}

function ownTimes({ root, time }: TreeOptions): Map<SpanDraft, number> {
  const own = new Map<SpanDraft, number>();
  for (const { owner, durationMs } of time.slices) {
    const span = owner ?? root;
    own.set(span, (own.get(span) ?? 0) + durationMs);
  }
  return own;
}

export function spansOf(options: TreeOptions): Span[] {
  const { root, answeredMs } = options;
  const children = childrenOf(options);
  const own = ownTimes(options);
  const spans: Span[] = [];

  /** One assignment per field: a profile has hundreds of spans, and spreads cost several times as much. */
  function spanOf(draft: SpanDraft, depth: number, parent: number | null): Span {
    const { kind, label, startMs, parts, pieces, panel, anchor, token, failed } = draft;
    const durationMs = round(draft.durationMs);
    const span: Span = { kind, label, startMs: round(startMs), durationMs, depth, parent };
    if (kind === 'view' || children.has(draft)) span.selfMs = round(own.get(draft) ?? 0);
    if (parts !== undefined) span.parts = parts;
    else if (pieces !== undefined) span.parts = pieces.map((piece) => ({ kind, ...piece }));
    if (panel !== undefined) span.panel = panel;
    if (anchor !== undefined) span.anchor = anchor;
    if (token !== undefined) span.token = token;
    if (failed !== undefined) span.failed = failed;
    if (OUTSIDE.includes(kind)) span.outside = true;
    else if (answeredMs !== null && startMs > answeredMs) span.after = true;
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
