/** The CPU panel: which functions ran during the request, by V8's sampler. Only for requests that were asked for. */
import type { KeptCpu } from '../../profiler/record/cpu-samples.ts';
import type { Panel } from '../../profiler/panel.ts';
import { type CallNode, callTree, isSampled } from '../../profiler/read/cpu-tree.ts';
import { ownFunctions, presentCpu, whereOf } from './present.ts';
import { durationText } from '../../view-helpers/numbers.ts';

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

function drawCpu(kept: KeptCpu) {
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

export const cpuPanel: Panel<KeptCpu> = {
  name: 'cpu',
  title: 'CPU',
  menu: {
    group: 'process',
    key: 'z',
    rank: false,
    summary: (kept) => ({ text: isSampled(kept) ? durationText(kept.ownMs) : 'not sampled', tone: 'plain' }),
  },
  recorded: {
    facts: { cpu: 'CPU profiles' },
    searched: ['name'],
    nothing: {
      what: 'This request was not sampled.',
      why: 'A CPU profile names the functions that used the CPU. Request one with the form above, or with the header x-debug-profile: cpu.',
    },
  },
  data: (record) => record.last('cpu') ?? null,
  rows: presentCpu,
  view: { model: drawCpu },
};
