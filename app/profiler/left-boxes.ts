/**
 * Stores what processes of before have left in their black boxes (black-box.ts), and removes these. Each is claimed by renaming it, so that of
 * several processes that start one stores it; if that one is killed meanwhile, the next start does it again: storing twice changes nothing.
 */
import { createReadStream } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  BOX_ENDING,
  type BoxLine,
  checkPrivate,
  type EndNote,
  newBoxName,
  processStart,
} from './black-box.ts';
import type { ProfileDocument } from './profile.ts';
import { COLUMN_ENTRIES, indexOf, type ProfileIndex } from './profile-index.ts';
import type { SharedPart, StoredProfile } from './storage.ts';
import { messageOf } from '../errors.ts';

export interface LeftBoxesOptions {
  folder: string;
  /** Queues a profile. */
  enqueue: (profile: StoredProfile, shared: readonly SharedPart[]) => void;
  /** Resolves with true when all that is queued is stored, with false if that takes long. */
  flush: () => Promise<boolean>;
  isClosed: () => boolean;
  warn: (sentence: string) => void;
}

/** A process that ended without storing all. */
export interface EndedProcess extends EndNote {
  process: string;
}

/** Profiles queued before they are waited for. */
const AT_ONCE = 100;
const TOKEN = /^[0-9a-f]{6}$/;
const NAME = /^(\d+)-(\d+)-[0-9a-f]+\.jsonl$/;

function isRunning(name: string): boolean {
  const [, pid = '', start = ''] = NAME.exec(name) ?? [];
  if (Number(pid) === process.pid) return Number(start) === processStart;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    // EPERM: it is another user's.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** What was running is over, and a later version may have other columns. */
function profileOf(stored: ProfileIndex, document: ProfileDocument): StoredProfile {
  if (!TOKEN.test(document.token) || typeof document.panels !== 'object')
    throw new Error('This is no profile.');
  if (document.state === 'running') Object.assign(document, { state: 'final', outcome: 'cut off' });
  const index = indexOf({ document, findings: [], queries: 0, navigationHints: null });
  for (const [name] of COLUMN_ENTRIES)
    if (name !== 'state' && stored[name] !== undefined) Object.assign(index, { [name]: stored[name] });
  return { index, document: JSON.stringify(document) };
}

/** Returns the processes that ended, the latest last. Never rejects. */
export async function storeLeftBoxes(options: LeftBoxesOptions): Promise<EndedProcess[]> {
  const { folder, enqueue, flush, isClosed, warn } = options;

  /** False if the process ends before. */
  async function allStored(): Promise<boolean> {
    while (!isClosed()) if (await flush()) return true;
    return false;
  }

  async function store(path: string): Promise<EndedProcess | null> {
    const parts = new Map<string, SharedPart>();
    let left: { process: string } | null = null;
    let end: EndNote | null = null;
    let count = 0;
    let isDamaged = false;
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
      try {
        const content = JSON.parse(line) as BoxLine;
        if ('part' in content) parts.set(content.part.id, content.part);
        else if ('end' in content) end = content.end;
        else if ('process' in content) left = content;
        else {
          const document = content.document as ProfileDocument;
          const shared = Object.values(document.panels).flatMap(
            ({ shared: id }) => parts.get(id ?? '') ?? [],
          );
          enqueue(profileOf(content.index, document), shared);
          if (++count % AT_ONCE === 0 && !(await allStored())) return null;
        }
      } catch {
        isDamaged = true;
      }
    }
    if (!(await allStored())) return null;
    if (isDamaged || left === null) {
      await rename(path, path.replace(BOX_ENDING, '.damaged'));
      warn(`Some profiles that an earlier process left can't be read; they were moved to ${folder}.`);
    } else await rm(path);
    return left === null ? null : { process: left.process, ...(end ?? { at: Date.now(), how: null }) };
  }

  const ended: EndedProcess[] = [];
  try {
    const names = await readdir(folder).catch(() => []);
    if (names.length > 0) checkPrivate(folder);
    for (const name of names) {
      if (!NAME.test(name) || isRunning(name)) continue;
      const mine = join(folder, newBoxName());
      try {
        await rename(join(folder, name), mine);
      } catch {
        // Another process was faster.
        continue;
      }
      const found = await store(mine);
      if (found !== null) ended.push(found);
    }
  } catch (error) {
    warn(`Profiles that an earlier process left in ${folder} can't be stored: ${messageOf(error)}.`);
  }
  return ended.sort((one, other) => one.at - other.at);
}
