/**
 * Tokens: 6 hexadecimal digits (24 bits) that never clash within the retention and can't be guessed from one another.
 *
 * Random ones clash after a few thousand, so a token is a counter through a keyed permutation of the 24-bit space (a balanced Feistel
 * network over two 12-bit halves, AES as round function). The storage leases the lower half of the counters in blocks, with its key, so
 * that processes never clash. The upper half is used from a random start until the storage has replied. Its last million is for requests
 * that are not stored: every process with the key recognises their tokens by inverting the permutation. AES encrypts a whole block of
 * counters at once, which costs less than a microsecond per token.
 */
import { createCipheriv } from 'node:crypto';
import type { TokenLease } from './storage.ts';

const HALF_BITS = 12;
const HALF_MASK = (1 << HALF_BITS) - 1;
const ROUNDS = 6;
/** Block size of AES, and size of the key. */
export const BLOCK = 16;

/** Counters below this are leased by the storage; those above are unleased. */
export const LEASED_COUNTERS = 1 << 23;
/** Counters from here on are for requests that are not stored. */
export const SAMPLED_OUT_COUNTERS = (1 << 24) - (1 << 20);
export const ALL_COUNTERS = 1 << 24;
/** Counters per lease. */
export const LEASE_SIZE = 256;

/** Tokens of `count` counters from `start`: a permutation, so different counters give different tokens. */
export function tokensOf({ start, count, key }: TokenLease): string[] {
  const left = new Uint16Array(count);
  const right = new Uint16Array(count);
  for (let i = 0; i < count; i++) {
    const counter = (start + i) & 0xffffff;
    left[i] = counter >> HALF_BITS;
    right[i] = counter & HALF_MASK;
  }
  const input = Buffer.alloc(count * BLOCK);
  const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < count; i++) input.writeUInt32BE((round << 16) | (right[i] ?? 0), i * BLOCK);
    const mixed = cipher.update(input);
    for (let i = 0; i < count; i++) {
      const previousRight = right[i] ?? 0;
      right[i] = (left[i] ?? 0) ^ (mixed.readUInt16BE(i * BLOCK) & HALF_MASK);
      left[i] = previousRight;
    }
  }
  return Array.from(left, (high, i) => ((high << HALF_BITS) | (right[i] ?? 0)).toString(16).padStart(6, '0'));
}

/** The counter of a token: the inverse permutation. */
export function counterOf(token: string, key: Buffer): number {
  const value = parseInt(token, 16);
  let left = value >> HALF_BITS;
  let right = value & HALF_MASK;
  const input = Buffer.alloc(BLOCK);
  for (let round = ROUNDS - 1; round >= 0; round--) {
    input.writeUInt32BE((round << 16) | left, 0);
    const mixed = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(input);
    [left, right] = [right ^ (mixed.readUInt16BE(0) & HALF_MASK), left];
  }
  return (left << HALF_BITS) | right;
}
