/**
 * Tokens: six hexadecimal digits. Each process claims a random block of 4,096 tokens from the store and gives them out shuffled; a block is
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
  /** Suffixes that were not given out, in no order. */
  left: Uint16Array;
  count: number;
  claimedAt: number;
}

function hex(value: number): string {
  return value.toString(16).padStart(3, '0');
}

function shuffled(): Uint16Array {
  const order = Uint16Array.from({ length: BLOCK_SIZE }, (_, suffix) => suffix);
  const random = new Uint32Array(randomBytes(4 * BLOCK_SIZE).buffer, 0, BLOCK_SIZE);
  for (let last = BLOCK_SIZE - 1; last > 0; last--) {
    const other = (random[last] ?? 0) % (last + 1);
    [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
  }
  return order;
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
      left: shuffled(),
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
    one.count--;
    return one.name + hex(one.left[one.count] ?? 0);
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
