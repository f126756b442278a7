/**
 * Source of this process's tokens: leases of the storage, before its first reply those of the reserve (token-reserve.ts).
 *
 * Without a lease, tokens come from the unleased half of the counters, from a random start. Until the storage has replied, their key is
 * a guess, which becomes the storage's key if it has none. If it has another key, later leases may contain tokens that were given out
 * before; this process skips those.
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
  /** A token of a request that is not stored; `isSampledOut` recognises it in every process of the storage. */
  nextSampledOut(): string;
  isSampledOut(token: string): boolean;
  /** The number of a token that only another process can have leased; else null. */
  leasedElsewhere(token: string): number | null;
  /** Leases a block from the storage in the background; if that fails, unleased tokens stay in use. */
  refill(): Promise<void>;
}

export interface TokenSourceOptions {
  /** Absent for a storage of one process. `key`: proposed for a storage that has none yet. */
  lease?: ((key: Buffer, skip?: number) => Promise<TokenLease>) | undefined;
  reserve?: TokenReserve | undefined;
}

/** Tokens computed together at first: few, because the first response waits for them. */
const FIRST_BLOCK = 32;
/** The next lease is requested when this many tokens are left; more after they ran out too early. */
const LOW_WATER = 128;
const HIGHEST_WATER = 4096;
/** Leases stored for the next process: about as many as it needs until its database replies. */
const RESERVED_LEASES = 16;
/** Milliseconds before a failed lease is requested again. */
const RETRY_AFTER = 1000;
/** Limit of the tokens remembered that were given out with a guessed key. */
const MOST_EARLY = 100_000;

export function createTokenSource({ lease, reserve }: TokenSourceOptions = {}): TokenSource {
  const reserved = (lease === undefined ? null : reserve?.take()) ?? null;
  let key: Buffer = reserved?.key ?? randomBytes(BLOCK);
  let blocks = (reserved?.starts ?? []).map((start) => ({ start, count: LEASE_SIZE }));
  let tokens: string[] = [];
  let unleased = range(LEASED_COUNTERS, SAMPLED_OUT_COUNTERS);
  let sampledOut = range(SAMPLED_OUT_COUNTERS, ALL_COUNTERS);
  /** First numbers of this process's leases. */
  const leases = new Set(reserved?.starts);
  /** First number of the newest lease. */
  let highest = Math.max(-1, ...leases);
  const early = new Set<string>();
  let hasReplied = false;
  let lowWater = LOW_WATER;
  let refilling: Promise<void> | null = null;
  let failedAt = -Infinity;
  const [first] = blocks;
  if (first !== undefined) {
    first.count -= FIRST_BLOCK;
    blocks.unshift({ start: first.start + first.count, count: FIRST_BLOCK });
  }

  /** Tokens of a range of counters: in order from a random start, wrapping around. */
  function range(from: number, until: number): () => string {
    let at = from + randomInt((until - from) / LEASE_SIZE) * LEASE_SIZE;
    let count = FIRST_BLOCK;
    let some: string[] = [];
    return () => {
      if (some.length === 0) {
        some = tokensOf({ start: at, count, key });
        at = at + count < until ? at + count : from;
        // Up to the end of a block of leases, then whole ones.
        count = LEASE_SIZE - (at % LEASE_SIZE);
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

  /** A token of the unleased counters. */
  function nextUnleased(): string {
    const token = unleased();
    if (hasReplied) lowWater = Math.min(HIGHEST_WATER, lowWater + FIRST_BLOCK);
    else if (lease !== undefined && early.size < MOST_EARLY) early.add(token);
    return token;
  }

  const left = (): number => blocks.reduce((sum, { count }) => sum + count, tokens.length);

  function take({ start, count, key: shared }: TokenLease): void {
    if (!shared.equals(key)) {
      key = shared;
      [blocks, tokens] = [[], []];
      leases.clear();
      highest = -1;
      unleased = range(LEASED_COUNTERS, SAMPLED_OUT_COUNTERS);
      sampledOut = range(SAMPLED_OUT_COUNTERS, ALL_COUNTERS);
    } else if (!hasReplied) early.clear();
    leases.add(start);
    highest = Math.max(highest, start);
    blocks.push({ start, count });
  }

  /** Whoever drops the schema of a running process lets its numbers begin anew: those that it has given out are skipped. */
  async function askAbove(ask: NonNullable<typeof lease>): Promise<TokenLease> {
    const got = await ask(key);
    const behind = highest - got.start;
    // The numbers also begin anew after the last one.
    if (!got.key.equals(key) || behind < 0 || behind > LEASED_COUNTERS / 2) return got;
    return ask(key, behind / LEASE_SIZE);
  }

  /** Stores some leases for the next process. */
  async function storeReserve(ask: NonNullable<typeof lease>): Promise<void> {
    if (reserve === undefined) return;
    const starts: number[] = [];
    let last = key;
    while (starts.length < RESERVED_LEASES) {
      const { start, key: shared } = await askAbove(ask);
      starts.push(start);
      if (shared.equals(key)) highest = Math.max(highest, start);
      last = shared;
    }
    reserve.store({ key: last, starts });
  }

  async function refillFrom(ask: NonNullable<typeof lease>): Promise<void> {
    do take(await askAbove(ask));
    while (left() <= lowWater);
    if (!hasReplied) storeReserve(ask).catch(() => undefined);
    hasReplied = true;
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
      return nextLeased() ?? nextUnleased();
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
