/**
 * Tokens: six hexadecimal digits. Each process claims a random block of 4,096 tokens from the store and gives them out in random order; a block is
 * free again when nothing of it is stored. Requests that are not stored have tokens of their own, which every process recognises.
 */
import { randomBytes, randomInt } from 'node:crypto';
import type { Store } from '../store/store.ts';

export interface Tokens {
  next(): string;
  nextLeftOut(): string;
  isLeftOut(token: string): boolean;
  isOfOther(token: string): Promise<boolean>;
}

/** Blocks by their first three digits; those from here on belong to requests that are not stored. */
const BLOCKS = 0xf00;
const LEFT_OUT = 'f';
const BLOCK_SIZE = 0x1000;
const LOW_WATER = 1024;
const TRIES = 20;
/** Milliseconds after which a block is claimed anew, so that it counts as used. */
const CLAIM_AGAIN_MS = 600_000;

interface Block {
  name: string;
  /** Suffixes; the first `count` were not given out. */
  left: Uint16Array;
  random: Uint32Array;
  count: number;
  claimedAt: number;
}

function hex(value: number): string {
  return value.toString(16).padStart(3, '0');
}

/** `process` tells the claims of processes apart. */
export function createTokens(setting: Store['setting'], process: string): Tokens {
  const claim = `${process} ${randomBytes(6).toString('hex')}`;
  const own = new Set<string>();
  let block: Block | null = null;
  let nextBlock: Block | null = null;
  let claiming: Promise<void> | null = null;

  function newBlock(): Block {
    return {
      name: hex(randomInt(BLOCKS)),
      left: new Uint16Array(BLOCK_SIZE).map((_, suffix) => suffix),
      random: new Uint32Array(randomBytes(4 * BLOCK_SIZE).buffer, 0, BLOCK_SIZE),
      count: BLOCK_SIZE,
      claimedAt: performance.now(),
    };
  }

  const nameOf = (name: string): string => `tokens-${name}`;

  async function claimBlock(first: Block | null): Promise<Block> {
    let tried = first ?? newBlock();
    for (let tries = 0; tries < TRIES; tries++) {
      const holder = await setting(nameOf(tried.name), claim, { onlyIfAbsent: true });
      if (holder === claim && (first === tried || !own.has(tried.name))) break;
      tried = newBlock();
    }
    own.add(tried.name);
    return tried;
  }

  function claimInBackground(work: () => Promise<void>): void {
    // Without a store, tokens of an unclaimed block go on.
    claiming ??= work()
      .catch(() => undefined)
      .finally(() => {
        claiming = null;
      });
  }

  /** The first tokens are given out before the claim is confirmed. */
  function begin(): Block {
    const begun = newBlock();
    own.add(begun.name);
    claimInBackground(async () => {
      const claimed = await claimBlock(begun);
      if (claimed !== begun) block = claimed;
    });
    return begun;
  }

  function nextFrom(one: Block): string {
    const { left, random } = one;
    const drawn = (random[one.count - 1] ?? 0) % one.count;
    const suffix = left[drawn] ?? 0;
    one.count--;
    left[drawn] = left[one.count] ?? 0;
    return one.name + hex(suffix);
  }

  return {
    next() {
      block ??= begin();
      if (block.count === 0) {
        block = nextBlock ?? begin();
        nextBlock = null;
      }
      const now = performance.now();
      if (block.count < LOW_WATER && nextBlock === null)
        claimInBackground(async () => {
          nextBlock = await claimBlock(null);
        });
      else if (now - block.claimedAt > CLAIM_AGAIN_MS) {
        const { name } = block;
        block.claimedAt = now;
        claimInBackground(async () => void (await setting(nameOf(name), claim)));
      }
      return nextFrom(block);
    },
    nextLeftOut: () => LEFT_OUT + randomInt(0x100000).toString(16).padStart(5, '0'),
    isLeftOut: (token) => token.startsWith(LEFT_OUT),
    async isOfOther(token) {
      const name = token.slice(0, 3);
      if (own.has(name)) return false;
      return (await setting(nameOf(name))) !== null;
    },
  };
}
