/**
 * A folder in which a process stores the key and some leases for the next process, whose first requests then have leased tokens before
 * the storage has replied. Each lease is a file, which one process claims by renaming it.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Reserve {
  /** Key of the storage. */
  key: Buffer;
  /** First numbers of the leases; empty if all are claimed or expired. */
  starts: readonly number[];
}

export interface TokenReserve {
  /** Creates a key for all processes if there is none yet; null if the folder can't be used. */
  take(): Reserve | null;
  /** In the background; if it fails, the next process has no reserve. */
  store(reserve: Reserve): void;
}

/** Milliseconds after which the counters may have wrapped around to the same numbers. */
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

/** null if another process was faster, or it is no such file. */
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

  /** If another process has created a key meanwhile, that one is used. */
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
      // There is a key already, or the folder is not writable.
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

  /** Atomic: other processes see the complete file or none. */
  async function write(path: string, text: string): Promise<void> {
    const draft = `${path}.${process.pid}.draft`;
    await writeFile(draft, text, PRIVATE);
    await rename(draft, path);
  }

  async function store({ key, starts }: Reserve): Promise<void> {
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
    store(reserve) {
      store(reserve).catch(() => undefined);
    },
  };
}
