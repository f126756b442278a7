/**
 * Processes of the same application, compared in interleaved slices: base, variant, base, variant; or, where variants are compared with
 * each other, all of them in turns. Each slice is compared with that of the base in its round, so that what the machine does meanwhile
 * meets all.
 *
 * The CPU of a slice is counted until the next slice of the same process begins: what a process does later for the
 * requests of a slice (storing, exporting) is part of its price.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { closedLoop, type Load, type Target } from './load.ts';
import type { MeasuredProcess } from './process.ts';
import { quantile, spreadOf, type Spread } from './statistics.ts';

export interface Slice {
  requests: number;
  errors: number;
  perSecond: number;
  p99: number;
  /** Microseconds per request. */
  cpuAll: number;
  cpuMain: number;
}

export interface Pair {
  base: Slice;
  variant: Slice;
}

export interface PairOptions {
  /** Several are asked for in turn. */
  path: Target['path'];
  pairs: number;
  sliceMs: number;
  /** Requests that each process answers before the first slice: the same number, not the same time. */
  warmUp: number;
  /** Default: saturation. */
  load?: (target: Target, ms: number) => Promise<Load>;
}

interface OpenSlice {
  load: Load;
  before: ReturnType<MeasuredProcess['cpu']>;
}

function closeSlice({ load, before }: OpenSlice, server: MeasuredProcess): Slice {
  const after = server.cpu();
  return {
    requests: load.requests,
    errors: load.errors,
    perSecond: (load.requests / load.ms) * 1000,
    p99: quantile(load.latencies, 0.99),
    cpuAll: (after.all - before.all) / load.requests,
    cpuMain: (after.main - before.main) / load.requests,
  };
}

/** The limit of full records saves up a burst while the others have their turns, which a process that is always busy never has. */
const FULL_PER_SECOND = 100;
const BURST = 5 * FULL_PER_SECOND;
const LEAD_IN_TURN = 100;
const LONGEST_LEAD_IN_MS = 15_000;
/** Milliseconds until the requests of the lead-in are stored. */
const STORED_MS = 150;

/** Requests before a slice at saturation, until the limit of full records is reached. */
async function leadIn(target: Target): Promise<void> {
  const from = performance.now();
  let requests = 0;
  for (let ms = 0; ms < LONGEST_LEAD_IN_MS; ms = performance.now() - from) {
    if (requests > BURST + (FULL_PER_SECOND * ms) / 1000) break;
    await closedLoop(target, { requests: LEAD_IN_TURN });
    requests += LEAD_IN_TURN;
  }
  await sleep(STORED_MS);
}

/** Runs the slices of one process and closes each when the next one begins. */
function createTrack(server: MeasuredProcess, options: PairOptions) {
  const { load = (target: Target, ms: number) => closedLoop(target, { ms }) } = options;
  const slices: Slice[] = [];
  let open: OpenSlice | null = null;
  function close(): void {
    if (open !== null) slices.push(closeSlice(open, server));
    open = null;
  }
  return {
    slices,
    close,
    async run(): Promise<void> {
      close();
      if (options.load === undefined) await leadIn({ port: server.port, path: options.path });
      const before = server.cpu();
      open = { load: await load({ port: server.port, path: options.path }, options.sliceMs), before };
    },
  };
}

/** Requests of one turn of the warm-up. */
const WARM_UP_TURN = 250;

/**
 * In turns, too: a process that waits for 8 s loses its optimized code to a collection of V8, and would be measured without it.
 */
async function warmUpInTurns(
  servers: readonly MeasuredProcess[],
  { path, warmUp }: PairOptions,
): Promise<void> {
  for (let done = 0; done < warmUp; done += WARM_UP_TURN)
    for (const { port } of servers)
      await closedLoop({ port, path }, { requests: Math.min(WARM_UP_TURN, warmUp - done) });
}

/** Pairs of each variant: its slices with those of the base in the same round, in which each process has its turn. */
export async function compareInTurns(
  base: MeasuredProcess,
  variants: readonly MeasuredProcess[],
  options: PairOptions,
): Promise<Pair[][]> {
  const { pairs, sliceMs } = options;
  const all = [base, ...variants];
  await warmUpInTurns(all, options);
  // What the warm-up left to be stored belongs to no slice.
  await sleep(sliceMs);
  const [first, ...others] = all.map((server) => createTrack(server, options));
  for (let pair = 0; pair < pairs; pair++) {
    await first?.run();
    for (const track of others) await track.run();
  }
  first?.close();
  await sleep(sliceMs);
  for (const track of others) track.close();
  return others.map((track) =>
    track.slices.flatMap((variant, index) => {
      const before = first?.slices[index];
      return before === undefined ? [] : [{ base: before, variant }];
    }),
  );
}

export async function comparePairs(
  base: MeasuredProcess,
  variant: MeasuredProcess,
  options: PairOptions,
): Promise<Pair[]> {
  const [pairs = []] = await compareInTurns(base, [variant], options);
  return pairs;
}

export function ratioOf(pairs: readonly Pair[], value: (slice: Slice) => number): Spread {
  return spreadOf(pairs.map(({ base, variant }) => value(variant) / value(base)));
}

export function addedOf(pairs: readonly Pair[], value: (slice: Slice) => number): Spread {
  return spreadOf(pairs.map(({ base, variant }) => value(variant) - value(base)));
}
