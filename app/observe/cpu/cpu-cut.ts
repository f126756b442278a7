/** Samples of a whole thread by V8 -> the call tree of one request, bounded. Pure. */
import type { Profiler } from 'node:inspector';

export type CallFrame = Profiler.ProfileNode['callFrame'];

export interface CutNode {
  parent: number;
  callFrame: CallFrame;
  selfUs: number;
  ticks: readonly Profiler.PositionTickInfo[];
}

export interface Cut {
  nodes: CutNode[];
  nodesLeft: number;
  runs: [node: number, us: number][];
  isThinned: boolean;
  samples: number;
}

export interface CutLimits {
  nodes: number;
  runs: number;
}

const LIMITS: CutLimits = { nodes: 1000, runs: 3000 };

interface Run {
  id: number;
  us: number;
}

/** `own`: start, end, start, end … in microseconds of V8's clock. Samples outside of them are other work. */
function runsIn(profile: Profiler.Profile, own: readonly number[]): { runs: Run[]; samples: number } {
  const { samples = [], timeDeltas = [], startTime, endTime } = profile;
  // Before the first sample V8 lists the functions of the process.
  const runs: Run[] = [{ id: -1, us: timeDeltas[0] ?? 0 }];
  let samplesOwn = 0;
  let at = startTime;
  let slice = 0;
  samples.forEach((id, index) => {
    at += timeDeltas[index] ?? 0;
    const next = index + 1 < samples.length ? at + (timeDeltas[index + 1] ?? 0) : Math.max(at, endTime);
    while (slice < own.length && (own[slice + 1] ?? 0) < at) slice += 2;
    const isOwn = slice < own.length && (own[slice] ?? 0) <= at;
    if (isOwn) samplesOwn++;
    const run = isOwn ? id : -1;
    const last = runs.at(-1);
    if (last?.id === run) last.us += next - at;
    else runs.push({ id: run, us: next - at });
  });
  return { runs, samples: samplesOwn };
}

/** Joins neighbours until there are few enough; the longer one stands for both. */
function thinned(runs: Run[], most: number): Run[] {
  let left = runs;
  while (left.length > most) {
    const fewer: Run[] = [];
    for (let index = 0; index < left.length; index += 2) {
      const one = left[index];
      const other = left[index + 1] ?? { id: -1, us: 0 };
      if (one === undefined) break;
      const id = one.us >= other.us ? one.id : other.id;
      const us = one.us + other.us;
      const last = fewer.at(-1);
      if (last?.id === id) last.us += us;
      else fewer.push({ id, us });
    }
    left = fewer;
  }
  return left;
}

export function cutProfile(
  profile: Profiler.Profile,
  own: readonly number[],
  { nodes: mostNodes, runs: mostRuns }: CutLimits = LIMITS,
): Cut {
  const { runs, samples } = runsIn(profile, own);
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map<number, number>();
  for (const { id, children = [] } of profile.nodes) for (const child of children) parents.set(child, id);
  const total = new Map<number, number>();
  const self = new Map<number, number>();
  for (const { id, us } of runs) {
    if (id === -1) continue;
    self.set(id, (self.get(id) ?? 0) + us);
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at))
      total.set(at, (total.get(at) ?? 0) + us);
  }
  // V8's root stands for the thread.
  for (const id of total.keys()) if (!parents.has(id)) total.delete(id);
  // A parent is never smaller than its children, and a sort is stable: Maps keep the children behind it only by depth.
  const kept = [...total].sort((a, b) => b[1] - a[1] || depthOf(a[0], parents) - depthOf(b[0], parents));
  const indexes = new Map<number, number>();
  const nodes: CutNode[] = [];
  for (const [id] of kept.slice(0, mostNodes)) {
    const node = byId.get(id);
    if (node === undefined) continue;
    indexes.set(id, nodes.length);
    const parent = indexes.get(parents.get(id) ?? -1) ?? -1;
    nodes.push({ parent, callFrame: node.callFrame, selfUs: 0, ticks: node.positionTicks ?? [] });
  }
  const keptIndex = (id: number): number => {
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const index = indexes.get(at);
      if (index !== undefined) return index;
    }
    return -1;
  };
  for (const [id, us] of self) {
    const node = nodes[keptIndex(id)];
    if (node !== undefined) node.selfUs += us;
  }
  const few = thinned(runs, mostRuns);
  return {
    nodes,
    nodesLeft: Math.max(0, kept.length - nodes.length),
    runs: few.map(({ id, us }) => [id === -1 ? -1 : keptIndex(id), Math.round(us)]),
    isThinned: few.length < runs.length,
    samples,
  };
}

function depthOf(id: number, parents: ReadonlyMap<number, number>): number {
  let depth = 0;
  for (let at = parents.get(id); at !== undefined; at = parents.get(at)) depth++;
  return depth;
}
