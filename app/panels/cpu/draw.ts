/** The flame graph: callers above, width is time, merged over the request; places in per cent, so that the page scales it. */
import type { KeptCpu } from '../../profiler/record/cpu-samples.ts';
import { durationText } from '../../view-helpers/numbers.ts';
import { type CallNode, callTree, isSampled } from '../../profiler/read/cpu-tree.ts';
import { ownFunctions, whereOf } from './present.ts';

const LEAST_SHARE = 0.004;
const DEEPEST = 60;
const ROW = 24;

interface FlameBlock {
  x: string;
  y: number;
  width: string;
  kind: 'own' | 'pkg' | 'node';
  name: string;
  /** `loadRates, 140.0 ms, src/rates.ts:4` */
  title: string;
  href: string;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(3)}%`;
}

export function drawCpu(kept: KeptCpu) {
  if (!isSampled(kept)) return { blocks: [], height: 0, left: 0, rowHeight: ROW };
  const root = callTree(kept);
  const rows = new Map(ownFunctions(root).map(({ key }, index) => [key, `#f${index + 1}`]));
  const blocks: FlameBlock[] = [];
  let left = 0;
  const walk = (node: CallNode, startUs: number, depth: number): void => {
    const share = node.totalUs / root.totalUs;
    if (share < LEAST_SHARE || depth >= DEEPEST) {
      left++;
      return;
    }
    blocks.push({
      x: percent(startUs / root.totalUs),
      y: depth * ROW,
      width: percent(share),
      kind: node.kind === 'own' ? 'own' : node.kind === 'package' ? 'pkg' : 'node',
      name: node.name,
      title: `${node.name}, ${durationText(node.totalUs / 1000)}, ${node.place ?? whereOf(node)}`,
      href: rows.get(node.key) ?? '#tree',
    });
    let at = startUs;
    for (const child of node.children) {
      walk(child, at, depth + 1);
      at += child.totalUs;
    }
  };
  let at = 0;
  for (const child of root.children) {
    walk(child, at, 0);
    at += child.totalUs;
  }
  const height = Math.max(0, ...blocks.map(({ y }) => y + ROW));
  return { blocks, height, left, rowHeight: ROW };
}
