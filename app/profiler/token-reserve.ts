/**
 * What a process leaves in a folder for the next one that starts there, so that the tokens of its first requests are as
 * unique as all others: the key, and leases, a file each, taken by one process only.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Reserve {
  /** That of the storage. */
  key: Buffer;
  /** First numbers of the leases; none where all were taken, or are too old to be used. */
  starts: readonly number[];
}

export interface TokenReserve {
  /** Makes up a key where nobody has left one, for all that start beside this one; null where the folder can't be used. */
  take(): Reserve | null;
  /** In the background; what goes wrong costs the next process its reserve. */
  keep(reserve: Reserve): void;
}

/** Milliseconds after which the counters may have come round to the same numbers. */
const TOO_OLD = 12 * 3_600_000;
const ENDING = '.json';
const KEY_BYTES = 16;
const KEY_HEX = /^[0-9a-f]{32}$/;
const PRIVATE = { mode: 0o600 };

interface Left {
  at: number;
  key: string;
  starts: number[];
}

/** null where another process was quicker, or what is there is no such file. */
function claim(path: string): Left | null {
  const mine = `${path}.${process.pid}`;
  try {
    renameSync(path, mine);
    const text = readFileSync(mine, 'utf8');
    rmSync(mine);
    return JSON.parse(text) as Left;
  } catch {
    return null;
  }
}

export function createTokenReserve(folder: string): TokenReserve {
  const keyFile = join(folder, 'key');

  function readKey(): string | null {
    try {
      const text = readFileSync(keyFile, 'utf8');
      return KEY_HEX.test(text) ? text : null;
    } catch {
      return null;
    }
  }

  /** One that a process beside this one has made up meanwhile comes first. */
  function makeKey(): string | null {
    const draft = `${keyFile}.${process.pid}.draft`;
    try {
      mkdirSync(folder, { recursive: true });
      writeFileSync(draft, randomBytes(KEY_BYTES).toString('hex'), PRIVATE);
      try {
        linkSync(draft, keyFile);
      } finally {
        rmSync(draft);
      }
    } catch {
      // There is one, or the folder can't be written to.
    }
    return readKey();
  }

  function claimStarts(key: string): readonly number[] {
    for (const name of readdirSync(folder)) {
      const left = name.endsWith(ENDING) ? claim(join(folder, name)) : null;
      if (left?.key === key && Date.now() - left.at < TOO_OLD) return left.starts;
    }
    return [];
  }

  /** A file is there as a whole or not at all. */
  async function write(path: string, text: string): Promise<void> {
    const draft = `${path}.${process.pid}.draft`;
    await writeFile(draft, text, PRIVATE);
    await rename(draft, path);
  }

  async function keep({ key, starts }: Reserve): Promise<void> {
    const left: Left = { at: Date.now(), key: key.toString('hex'), starts: [...starts] };
    await mkdir(folder, { recursive: true });
    await write(keyFile, left.key);
    await write(join(folder, `${starts[0] ?? 0}${ENDING}`), JSON.stringify(left));
  }

  return {
    take() {
      const key = readKey() ?? makeKey();
      return key === null ? null : { key: Buffer.from(key, 'hex'), starts: claimStarts(key) };
    },
    keep(reserve) {
      keep(reserve).catch(() => undefined);
    },
  };
}
