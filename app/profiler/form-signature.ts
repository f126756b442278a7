/**
 * The value in the forms of the profiler's pages that prevents cross-site request forgery: a time and its signature with the storage's
 * key, valid for an hour in every process of the storage. Without a shared key each process uses its own.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { settledWithin } from './timeouts.ts';

export interface FormSigner {
  sign(): Promise<string>;
  holds(value: string): Promise<boolean>;
}

const VALID_MS = 3_600_000;
const OWN_KEY_BYTES = 32;
const SAME_FOR_MS = 60_000;
const READ_AGAIN_MS = 5000;
/** Milliseconds that a page waits for the shared key; after that its form is valid in this process only. */
const KEY_WITHIN_MS = 200;
const FORM = /^([0-9a-z]{8,9})\.([A-Za-z0-9_-]{43})$/;

export function createFormSigner(options: {
  sharedKey?: (() => Promise<Buffer>) | undefined;
  now?: () => number;
}): FormSigner {
  const { sharedKey, now = Date.now } = options;
  const processKey = randomBytes(OWN_KEY_BYTES);
  let shared: Buffer | null = null;
  let readAt = -Infinity;
  let last: { at: number; key: Buffer; value: string } | null = null;

  async function readSharedKey(): Promise<void> {
    if (sharedKey === undefined || performance.now() - readAt < READ_AGAIN_MS) return;
    readAt = performance.now();
    shared = await sharedKey().catch(() => shared);
  }

  function signature(moment: string, key: Buffer): Buffer {
    return createHmac('sha256', key).update(`form ${moment}`).digest();
  }

  function matches(moment: string, given: Buffer): boolean {
    return [processKey, shared].some((key) => key !== null && timingSafeEqual(signature(moment, key), given));
  }

  return {
    async sign() {
      if (shared === null) await settledWithin(readSharedKey(), KEY_WITHIN_MS);
      const key = shared ?? processKey;
      const at = now();
      if (last?.key !== key || at < last.at || at - last.at >= SAME_FOR_MS) {
        const moment = at.toString(36);
        last = { at, key, value: `${moment}.${signature(moment, key).toString('base64url')}` };
      }
      return last.value;
    },
    async holds(value) {
      const [, moment = '', text = ''] = FORM.exec(value) ?? [];
      const age = now() - parseInt(moment, 36);
      if (!(age > -VALID_MS && age < VALID_MS)) return false;
      const given = Buffer.from(text, 'base64url');
      if (matches(moment, given)) return true;
      await readSharedKey();
      return matches(moment, given);
    },
  };
}
