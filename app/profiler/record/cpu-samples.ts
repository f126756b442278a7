/** A CPU profile of one request by V8's sampler: stored in the profile, read by the panel, the findings and the file. */
import type { IncomingMessage } from 'node:http';
import type { Context } from './context.ts';

/** Why a request is sampled: the header, a form of the pages or an agent's tool, or because its address had blocked the event loop before. */
export type CpuReason = 'header' | 'form' | 'block';

/** `node` is also what V8 names itself, such as `(garbage collector)`. */
export type CodeKind = 'own' | 'package' | 'node' | 'profiler';

export interface SampledFunction {
  name: string;
  url: string;
  line: number;
  column: number;
  kind: CodeKind;
  /** Name of the package, or of Node's module: `node:fs`. */
  of?: string;
  place?: string;
  busiest?: string;
}

export interface CpuSamples {
  asked: CpuReason;
  everyUs: number;
  /** Milliseconds from the request's start to the end of sampling. */
  spanMs: number;
  /** What starting V8's sampler took, before the request's clock. */
  startingMs: number;
  samples: number;
  ownMs: number;
  otherMs: number;
  /** Sampling ended before the request, at its limit. */
  isOverLimit?: boolean;
  functions: SampledFunction[];
  /**
   * Four numbers for each node of the call tree, parents first: index of the parent (-1: none), of the function, its own microseconds, and
   * the line of its call in the source of the parent (0: unknown).
   */
  nodes: number[];
  /** When the first run begins, in milliseconds since the request's start: mostly before it. */
  runsStartMs: number;
  /** Two numbers for each stretch of time: index of the node (-1: other work, or none), microseconds. */
  runs: number[];
  nodesLeft?: number;
  isThinned?: boolean;
}

export interface BusiestFunction {
  what: string;
  place: string | null;
}

/** Another request to the same address was sampled: its token, and the function that ran longest there. */
export interface SampledElsewhere extends BusiestFunction {
  profile: string;
}

/**
 * What a profile has of it. `skipped`: it was asked for and could not be made. `earlier`: this request was not sampled, but one to the same
 * address was, by this token.
 */
export type KeptCpu = CpuSamples | { skipped: string } | { earlier: SampledElsewhere };

/** The query does not count. */
export interface CpuAddress {
  method: string;
  url: string;
}

export interface CpuSampler {
  isOff: boolean;
  /** Why a request should be sampled; null: it should not. Whether the header's sender may ask is for the caller to check. */
  reasonFor(req: IncomingMessage): CpuReason | null;
  /** Starts sampling; `open` opens the request's context, whose clock does not count the start. */
  begin(asked: CpuReason, open: () => Context): Context;
  run(context: Context, work: () => void): void;
  finish(context: Context): void;
  /** The next request to this address is sampled, within ten minutes. */
  arm(address: CpuAddress): void;
  isArmed(address: CpuAddress): boolean;
  close(): void;
}
