/**
 * Where the tokens of this process come from: leases of the storage, first those that an earlier process of the same
 * folder left (the reserve), so that the first request has a token of a lease although no storage has answered yet.
 *
 * Without either, the process's own half of the counters serves, from a random start. Their key is a guess until the
 * storage has answered; it takes the guess over where it has no key yet. Where it has another, tokens given before may be
 * those of a later lease: such ones are passed over in this process.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { TokenLease } from './storage.ts';
import {
  ALL_COUNTERS,
  BLOCK,
  counterOf,
  LEASE_SIZE,
  LEASED_COUNTERS,
  SAMPLED_OUT_COUNTERS,
  tokensOf,
} from './token.ts';
import type { TokenReserve } from './token-reserve.ts';

export interface TokenSource {
  next(): string;
  /** A token that names no profile; `isSampledOut` knows it, in every process of the same storage. */
  nextSampledOut(): string;
  isSampledOut(token: string): boolean;
  /** The number of a token that only another process can have leased; null for every other token. */
  leasedElsewhere(token: string): number | null;
  /** Asks the storage for a block, in the background; a failure leaves the process's own numbers in use. */
  refill(): Promise<void>;
}

export interface TokenSourceOptions {
  /** Absent for a storage of one process. `key`: to be agreed on where the storage has none yet. */
  lease?: ((key: Buffer) => Promise<TokenLease>) | undefined;
  reserve?: TokenReserve | undefined;
}

/** Counters that are worked out at once at first: few, since the first answer waits for the first of them. */
const FIRST_BLOCK = 32;
/** Ask for the next lease when this many tokens are left; more where they ran out before it came. */
const LOW_WATER = 128;
const HIGHEST_WATER = 4096;
/** Leases that are left to the next process: about what it gives out until its database has answered. */
const RESERVED_LEASES = 16;
/** Milliseconds before a failed lease is asked for again. */
const RETRY_AFTER = 1000;
/** Tokens given under a guessed key that are remembered. */
const MOST_EARLY = 100_000;

export function createTokenSource({ lease, reserve }: TokenSourceOptions = {}): TokenSource {
  const kept = (lease === undefined ? null : reserve?.take()) ?? null;
  let key: Buffer = kept?.key ?? randomBytes(BLOCK);
  let blocks = (kept?.starts ?? []).map((start) => ({ start, count: LEASE_SIZE }));
  let tokens: string[] = [];
  let own = range(LEASED_COUNTERS, SAMPLED_OUT_COUNTERS);
  let sampledOut = range(SAMPLED_OUT_COUNTERS, ALL_COUNTERS);
  /** First numbers of the leases that this process has. */
  const leases = new Set(kept?.starts);
  const early = new Set<string>();
  let answered = false;
  let lowWater = LOW_WATER;
  let refilling: Promise<void> | null = null;
  let failedAt = -Infinity;
  const [first] = blocks;
  if (first !== undefined) {
    first.count -= FIRST_BLOCK;
    blocks.unshift({ start: first.start + first.count, count: FIRST_BLOCK });
  }

  /** Tokens of a range of counters, in order from a random start and round again. */
  function range(from: number, until: number): () => string {
    let at = from + randomInt((until - from) / LEASE_SIZE) * LEASE_SIZE;
    let some: string[] = [];
    return () => {
      if (some.length === 0) {
        some = tokensOf({ start: at, count: FIRST_BLOCK, key });
        at = at + FIRST_BLOCK < until ? at + FIRST_BLOCK : from;
      }
      return some.pop() ?? '';
    };
  }

  function nextLeased(): string | undefined {
    while (tokens.length === 0) {
      const block = blocks.shift();
      if (block === undefined) return undefined;
      tokens = tokensOf({ ...block, key });
      if (early.size > 0) tokens = tokens.filter((token) => !early.has(token));
    }
    return tokens.pop();
  }

  /** A token of this process's own counters. */
  function nextOwn(): string {
    const token = own();
    if (answered) lowWater = Math.min(HIGHEST_WATER, lowWater + FIRST_BLOCK);
    else if (lease !== undefined && early.size < MOST_EARLY) early.add(token);
    return token;
  }

  const left = (): number => blocks.reduce((sum, { count }) => sum + count, tokens.length);

  function take({ start, count, key: shared }: TokenLease): void {
    if (!shared.equals(key)) {
      key = shared;
      [blocks, tokens] = [[], []];
      leases.clear();
      own = range(LEASED_COUNTERS, SAMPLED_OUT_COUNTERS);
      sampledOut = range(SAMPLED_OUT_COUNTERS, ALL_COUNTERS);
    } else if (!answered) early.clear();
    leases.add(start);
    blocks.push({ start, count });
  }

  /** Leaves some leases to the next process; what goes wrong costs that one its reserve. */
  async function keepReserve(ask: NonNullable<typeof lease>): Promise<void> {
    if (reserve === undefined) return;
    const starts: number[] = [];
    let last = key;
    while (starts.length < RESERVED_LEASES) {
      const { start, key: shared } = await ask(key);
      starts.push(start);
      last = shared;
    }
    reserve.keep({ key: last, starts });
  }

  async function refillFrom(ask: NonNullable<typeof lease>): Promise<void> {
    do take(await ask(key));
    while (left() <= lowWater);
    if (!answered) keepReserve(ask).catch(() => undefined);
    answered = true;
  }

  function refill(): Promise<void> {
    if (lease === undefined) return Promise.resolve();
    refilling ??= refillFrom(lease)
      .catch((error: unknown) => {
        failedAt = performance.now();
        throw error;
      })
      .finally(() => {
        refilling = null;
      });
    return refilling;
  }

  return {
    next() {
      if (tokens.length <= lowWater && left() <= lowWater && performance.now() - failedAt > RETRY_AFTER)
        refill().catch(() => undefined);
      return nextLeased() ?? nextOwn();
    },
    nextSampledOut: () => sampledOut(),
    isSampledOut: (token) => counterOf(token, key) >= SAMPLED_OUT_COUNTERS,
    leasedElsewhere(token) {
      if (leases.size === 0) return null;
      const counter = counterOf(token, key);
      return counter >= LEASED_COUNTERS || leases.has(counter - (counter % LEASE_SIZE)) ? null : counter;
    },
    refill,
  };
}
