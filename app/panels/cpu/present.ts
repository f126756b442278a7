import type { Presentation, Row } from '../../profiler/read/rows.ts';
import type { CpuReason, CpuSamples, KeptCpu } from '../../profiler/record/cpu-samples.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { type CallNode, callTree, isSampled } from '../../profiler/read/cpu-tree.ts';

const TREE_ROWS = 200;
const LEAST_SHARE = 0.002;
const MOST_FUNCTIONS = 50;
const HARDLY_MS = 0.1;

const ASKED: Readonly<Record<CpuReason, string>> = {
  header: 'Sampled because it had the header x-debug-profile: cpu.',
  form: 'Sampled on request, from these pages or by an agent.',
  block: 'Sampled automatically, because an earlier request to this address blocked the event loop.',
};

interface FunctionTotal {
  name: string;
  place: string | null;
  selfUs: number;
  totalUs: number;
  most: CallNode | null;
  key: string;
}

interface SyncCall {
  name: string;
  of: string | null;
  caller: string;
  place: string | null;
  totalUs: number;
}

function ms(us: number): number {
  return us / 1000;
}

export function ownFunctions(root: CallNode): FunctionTotal[] {
  const found = new Map<string, FunctionTotal>();
  const walk = (node: CallNode, above: ReadonlySet<string>): void => {
    const inside = node.kind === 'own' ? new Set([...above, node.key]) : above;
    if (node.kind === 'own' && node !== root) {
      const { name, place, key } = node;
      const total = found.get(key) ?? { name, place, selfUs: 0, totalUs: 0, most: null, key };
      found.set(key, total);
      total.selfUs += node.selfUs;
      if (!above.has(key)) total.totalUs += node.totalUs;
      const [largest] = node.children;
      if (largest !== undefined && largest.totalUs > (total.most?.totalUs ?? 0)) total.most = largest;
    }
    for (const child of node.children) walk(child, inside);
  };
  walk(root, new Set());
  return [...found.values()].sort((a, b) => b.totalUs - a.totalUs || b.selfUs - a.selfUs);
}

function syncCalls(root: CallNode): SyncCall[] {
  const found = new Map<string, SyncCall>();
  const walk = (node: CallNode, own: CallNode | null): void => {
    if (node.kind === 'node' && node.name.endsWith('Sync')) {
      const place = node.calledAt ?? own?.place ?? null;
      const key = `${node.key} ${place ?? ''}`;
      const known = found.get(key);
      if (known !== undefined) known.totalUs += node.totalUs;
      else
        found.set(key, {
          name: node.name,
          of: node.of,
          caller: own?.name ?? '',
          place,
          totalUs: node.totalUs,
        });
    }
    for (const child of node.children) walk(child, node.kind === 'own' ? node : own);
  };
  walk(root, null);
  return [...found.values()].sort((a, b) => b.totalUs - a.totalUs);
}

/** Own microseconds by whose code it is. */
function selfByKind(root: CallNode): Record<'own' | 'package' | 'node', number> {
  const sums = { own: 0, package: 0, node: 0 };
  const walk = (node: CallNode): void => {
    sums[node.kind === 'profiler' ? 'node' : node.kind] += node.selfUs;
    node.children.forEach(walk);
  };
  walk(root);
  return sums;
}

export function whereOf({ kind, of }: Pick<CallNode, 'kind' | 'of'>): string {
  return kind === 'own' ? 'your code' : (of ?? 'Node');
}

function treeRows(root: CallNode): { rows: Row[]; left: number } {
  const rows: Row[] = [];
  let left = 0;
  const walk = (node: CallNode, depth: number): void => {
    if (node.totalUs < root.totalUs * LEAST_SHARE || rows.length >= TREE_ROWS) {
      left++;
      return;
    }
    rows.push({
      id: `c${rows.length + 1}`,
      text: node.name,
      number: ms(node.totalUs),
      depth,
      place: node.place,
      fields: [
        { label: 'Self', value: ms(node.selfUs), unit: 'ms' },
        { label: 'In', value: whereOf(node) },
      ],
    });
    for (const child of node.children) walk(child, depth + 1);
  };
  for (const child of root.children) walk(child, 0);
  return { rows, left };
}

function remarks(kept: CpuSamples): string[] {
  const { everyUs, samples, startingMs, otherMs, isOverLimit, nodesLeft, isThinned } = kept;
  return [
    `${count(samples, 'sample')}, one each ${durationText(everyUs / 1000)}, of the main thread. Sampling slows a request down. Starting V8’s sampler took ${durationText(startingMs)}, before the request’s time began.`,
    otherMs >= HARDLY_MS
      ? `Other requests ran code for ${durationText(otherMs)} in that time, which is not included.`
      : 'No other request ran code in that time.',
    ...(isOverLimit === true ? ['Sampling reached its limit before the request ended.'] : []),
    ...(nodesLeft === undefined
      ? []
      : [`${count(nodesLeft, 'call')} with little time merged into their callers.`]),
    ...(isThinned === true
      ? ['Samples were merged to save space, so their order in the file is coarser.']
      : []),
  ];
}

function presentUnsampled(kept: Exclude<KeptCpu, CpuSamples>): Presentation {
  if ('skipped' in kept)
    return {
      lead: ['A CPU profile was requested but could not be made.'],
      sections: [{ id: 'why', title: 'Why', rows: [{ label: 'Reason', text: kept.skipped }] }],
    };
  const { what, place, profile } = kept.earlier;
  return {
    lead: ['This request was not sampled. An earlier one to the same address was:'],
    sections: [
      {
        id: 'earlier',
        title: 'Functions that ran there',
        rows: [
          { label: 'Function', text: what, place },
          {
            label: 'Profile',
            text: profile,
            detail: () => [
              { title: 'CPU profile', link: { label: `Open ${profile}`, token: profile, panel: 'cpu' } },
            ],
          },
        ],
      },
    ],
  };
}

export function presentCpu(kept: KeptCpu): Presentation {
  if (!isSampled(kept)) return presentUnsampled(kept);
  const root = callTree(kept);
  const kinds = selfByKind(root);
  const functions = ownFunctions(root);
  const tree = treeRows(root);
  return {
    lead: [ASKED[kept.asked]],
    figures: [
      { label: 'Code of this request ran', value: kept.ownMs, unit: 'ms', compare: 'cost', measured: true },
      { label: 'In your code', value: ms(kinds.own), unit: 'ms' },
      { label: 'In packages', value: ms(kinds.package), unit: 'ms' },
      { label: 'In Node', value: ms(kinds.node), unit: 'ms' },
    ],
    sections: [
      {
        id: 'functions',
        title: 'Top functions of your code',
        note: 'by total time',
        columns: { text: 'Function', number: 'Total', place: 'Place' },
        card: 'largest',
        left: Math.max(0, functions.length - MOST_FUNCTIONS),
        none: 'No sample hit a function of your code.',
        rows: functions.slice(0, MOST_FUNCTIONS).map(({ name, place, selfUs, totalUs, most }, index) => ({
          id: `f${index + 1}`,
          text: name,
          number: ms(totalUs),
          key: `${name} ${place?.replace(/:\d+$/, '') ?? ''}`,
          place,
          fields: [
            { label: 'Self', value: ms(selfUs), unit: 'ms' },
            { label: 'Share', value: root.totalUs > 0 ? totalUs / root.totalUs : 0, unit: 'share' },
            {
              label: 'Most of it in',
              value: most === null ? undefined : `${most.name}, ${durationText(ms(most.totalUs))}`,
            },
          ],
        })),
      },
      {
        id: 'sync',
        title: 'Synchronous calls',
        note: 'of Node, which block the event loop',
        columns: { text: 'Call', number: 'Time', place: 'Place' },
        rows: syncCalls(root)
          .slice(0, MOST_FUNCTIONS)
          .map(({ name, of, caller, place, totalUs }, index) => ({
            id: `s${index + 1}`,
            text: name,
            number: ms(totalUs),
            tone: 'warn',
            place,
            fields: [
              { label: 'Module', value: of ?? undefined },
              { label: 'Called by', value: caller === '' ? undefined : caller },
            ],
          })),
      },
      {
        id: 'tree',
        title: 'Call tree',
        note: 'of packages and Node only the functions that were called from outside',
        columns: { text: 'Function', number: 'Total', place: 'Place' },
        left: tree.left,
        rows: tree.rows,
      },
      { id: 'sampling', title: 'How it was sampled', rows: remarks(kept).map((note) => ({ note })) },
    ],
  };
}
