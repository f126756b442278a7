/**
 * The call tree of a CPU profile as a person reads it: own functions each, a package or Node by the function that was called in it, and
 * without the frames of the profiler. Also which function ran most in a given time.
 */
import type {
  CodeKind,
  BusiestFunction,
  CpuSamples,
  KeptCpu,
  SampledFunction,
} from '../record/cpu-samples.ts';

export interface CallNode {
  name: string;
  kind: CodeKind;
  of: string | null;
  place: string | null;
  calledAt: string | null;
  totalUs: number;
  selfUs: number;
  children: CallNode[];
  key: string;
  busiest: string | null;
}

const NODE_NUMBERS = 4;
const DEEPEST = 200;
/** A callee with less of its caller's time is not what the caller spent it on. */
const MOST = 0.6;
const COLLECTOR = '(garbage collector)';

export function isSampled(kept: KeptCpu | undefined): kept is CpuSamples {
  return kept !== undefined && 'nodes' in kept;
}

function selfTimes({ nodes, runs, runsStartMs }: CpuSamples, between?: readonly [number, number]): number[] {
  const self: number[] = [];
  if (between === undefined) {
    for (let at = 0; at < nodes.length; at += NODE_NUMBERS) self.push(nodes[at + 2] ?? 0);
    return self;
  }
  const [from, to] = between.map((ms) => (ms - runsStartMs) * 1000) as [number, number];
  let at = 0;
  for (let index = 0; index < runs.length; index += 2) {
    const node = runs[index] ?? -1;
    const end = at + (runs[index + 1] ?? 0);
    const us = Math.min(end, to) - Math.max(at, from);
    if (node >= 0 && us > 0) self[node] = (self[node] ?? 0) + us;
    at = end;
  }
  return self;
}

function nodeOf({ name, kind, of, place, busiest }: SampledFunction, key: string): CallNode {
  return {
    name: name === '' ? 'anonymous function' : name,
    kind,
    of: of ?? null,
    place: place ?? null,
    calledAt: null,
    totalUs: 0,
    selfUs: 0,
    children: [],
    key,
    busiest: busiest ?? null,
  };
}

function lineIn(place: string | null, line: number): string | null {
  return place === null || line === 0 ? null : place.replace(/\d+$/, String(line));
}

function isInside(parent: CallNode, one: SampledFunction, key: string): boolean {
  if (one.name === COLLECTOR) return false;
  if (parent.key === key) return true;
  if (one.kind === 'own' || one.kind !== parent.kind) return false;
  return one.kind === 'node' || parent.of === one.of;
}

export function callTree(kept: CpuSamples, between?: readonly [number, number]): CallNode {
  const { functions, nodes } = kept;
  const self = selfTimes(kept, between);
  const root = nodeOf({ name: '', url: '', line: 0, column: 0, kind: 'node' }, '');
  /** The frame of the tree that each node belongs to, and its depth. */
  const frames: { frame: CallNode; depth: number }[] = [];

  function enter(parent: CallNode, made: SampledFunction, key: string, line: number): CallNode {
    const known = parent.children.find(
      (child) => child.key === key && (line === 0 || child.calledAt === lineIn(parent.place, line)),
    );
    if (known !== undefined) return known;
    const child = nodeOf(made, key);
    child.calledAt = lineIn(parent.place, line);
    parent.children.push(child);
    return child;
  }

  for (let at = 0; at < nodes.length; at += NODE_NUMBERS) {
    const [parentIndex = -1, index = 0, , line = 0] = nodes.slice(at, at + NODE_NUMBERS);
    const above = frames[parentIndex] ?? { frame: root, depth: 0 };
    const one = functions[index];
    const key = String(index);
    // Node calls every callback, and the profiler is between most of them.
    const isSkipped =
      one === undefined ||
      one.kind === 'profiler' ||
      (one.kind === 'node' && above.frame === root && one.name !== COLLECTOR);
    const stays =
      isSkipped || above.depth >= DEEPEST || (above.frame !== root && isInside(above.frame, one, key));
    const here = stays ? above : { frame: enter(above.frame, one, key, line), depth: above.depth + 1 };
    here.frame.selfUs += self[at / NODE_NUMBERS] ?? 0;
    frames.push(here);
  }
  addUp(root);
  return root;
}

function addUp(node: CallNode): number {
  node.totalUs = node.children.reduce((sum, child) => sum + addUp(child), node.selfUs);
  node.children = node.children.filter(({ totalUs }) => totalUs > 0).sort((a, b) => b.totalUs - a.totalUs);
  return node.totalUs;
}

function nameOf({ name, kind, of }: CallNode): string {
  return kind === 'package' && of !== null ? `${name} of ${of}` : name;
}

/** The innermost own function that most of the time was spent in, and what it called; null if there is none. */
export function busiestFunctionIn(root: CallNode): BusiestFunction | null {
  let own: CallNode | null = null;
  let callee: CallNode | null = null;
  for (let at: CallNode | undefined = root.children[0]; at !== undefined; at = at.children[0]) {
    if (at.totalUs < root.totalUs * MOST) break;
    if (at.kind === 'own') {
      own = at;
      callee = null;
    } else callee ??= at;
  }
  if (own === null) return null;
  if (callee !== null)
    return { what: `${nameOf(callee)} in ${own.name}`, place: callee.calledAt ?? own.place };
  return { what: own.name, place: own.selfUs > own.totalUs / 2 ? (own.busiest ?? own.place) : own.place };
}
