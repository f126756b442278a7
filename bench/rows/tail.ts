/** The slowest answers at 300 requests a second, latency counted from the moment a request was due, against bare. */
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { openLoop } from '../harness/load.ts';
import { comparePairs, ratioOf, type Pair } from '../harness/pairs.ts';
import type { Variant } from '../harness/peers.ts';
import type { Row } from '../harness/row.ts';
import { spreadOf } from '../harness/statistics.ts';

const PER_SECOND = 300;
const SLICE_MS = 3000;
const PAIRS = 5;

async function compare(bench: Bench, variant: Variant): Promise<Pair[]> {
  bench.log(`  ${variant}`);
  const base = await bench.serve('bare');
  const other = await bench.serve(variant);
  try {
    return await comparePairs(base, other, {
      path: '/',
      pairs: PAIRS,
      sliceMs: SLICE_MS,
      warmUp: bench.options.warmUp,
      load: (target, ms) => openLoop(target, { perSecond: PER_SECOND, ms }),
    });
  } finally {
    await other.stop();
    await base.stop();
  }
}

async function figuresOf(bench: Bench, variant: Variant): Promise<Figure[]> {
  const pairs = await compare(bench, variant);
  const ratio = ratioOf(pairs, ({ p99 }) => p99);
  const bare = spreadOf(pairs.map(({ base }) => base.p99));
  const name = variant === 'bare' ? 'A/A control' : variant;
  return [
    { what: `(c) at ${PER_SECOND}/s: p99, ${name}`, unit: 'x bare', spread: ratio },
    { what: '  p99 of its bare process', unit: 'ms', spread: bare },
  ];
}

export const tail: Row = {
  name: 'tail',
  what: `p99 at ${PER_SECOND} requests a second, open loop`,
  async run(bench) {
    const figures: Figure[] = [];
    for (const variant of ['bare', 'hindsight', 'dd-trace'] as const)
      figures.push(...(await figuresOf(bench, variant)));
    return figures;
  },
};
