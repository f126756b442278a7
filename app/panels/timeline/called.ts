/** The work of requests that this one made, below the calls that made them. */
import type { Profile } from '../../profiler/profile.ts';
import { endOf } from '../../profiler/read/span.ts';
import type { Span, TimelineData } from '../shared/timeline-data.ts';

/** Where the called request began, on the axis of this one: as the clocks say, if that is within its call, else in the middle. */
function startWithin(call: Span, { startedAt }: Profile, called: Profile, durationMs: number): number {
  const restMs = Math.max(0, call.durationMs - durationMs);
  const sinceCallMs = called.startedAt - startedAt - call.startMs;
  // Wall clocks are read to the millisecond.
  const isWithin = sinceCallMs >= -1 && sinceCallMs <= restMs + 1;
  return call.startMs + (isWithin ? Math.min(restMs, Math.max(0, sinceCallMs)) : restMs / 2);
}

function spansBelow(call: Span, at: number, profile: Profile, called: Profile): Span[] {
  const { spans = [], totalMs = 0 } = (called.panels.timeline?.data ?? {}) as Partial<TimelineData>;
  const startMs = startWithin(call, profile, called, totalMs);
  const indexes = new Map<number, number>();
  const own = spans.filter(({ panel, outside }, index) => {
    if (panel === 'runtime' || outside === true) return false;
    indexes.set(index, at + 1 + indexes.size);
    return true;
  });
  return own.map((span): Span => ({
    ...span,
    startMs: startMs + span.startMs,
    depth: call.depth + 1 + span.depth,
    parent: span.parent === null ? at : (indexes.get(span.parent) ?? at),
    ...(span.parts === undefined
      ? {}
      : { parts: span.parts.map((part) => ({ ...part, startMs: startMs + part.startMs })) }),
    ...(span.parent === null ? { token: called.token } : {}),
    inProfile: called.token,
  }));
}

/** `called`: by the id of the call's row. */
export function withCalled(
  data: TimelineData,
  profile: Profile,
  called: ReadonlyMap<string, Profile> = new Map(),
): TimelineData {
  if (called.size === 0) return data;
  const spans: Span[] = [];
  const indexes: number[] = [];
  for (const span of data.spans) {
    const at = spans.length;
    indexes.push(at);
    const own = { ...span, parent: span.parent === null ? null : (indexes[span.parent] ?? null) };
    const request = span.panel === 'http_client' ? called.get(span.anchor ?? '') : undefined;
    const below = request === undefined ? [] : spansBelow(own, at, profile, request);
    const [root] = below;
    // What is left is the network and queues.
    if (root !== undefined) own.selfMs = Math.max(0, endOf(own) - own.startMs - root.durationMs);
    spans.push(own, ...below);
  }
  return { ...data, spans };
}
