/** Stores exported profiles. A line that can't be read is reported and costs no other one; a profile that is there already stays as it is. */
import { type ImportedProfile, readExportedLine } from './exported-profile.ts';
import type { ProfileStorage, QueuedProfile, SharedPart } from './storage.ts';

export interface ImportOptions {
  storage: ProfileStorage;
  lines: AsyncIterable<string> | Iterable<string>;
  /** Tokens that the storage refused since it was asked last: another request has them. */
  takeClashes: () => readonly string[];
  /** Retention keeps pinned profiles. */
  isPinned: boolean;
  onFailure: (line: number, reason: string) => void;
  /** Called now and then. */
  onProgress: (imported: number) => void;
}

export interface ImportResult {
  imported: number;
  /** Lines. */
  failed: number;
}

/** Amendment: when it was imported, in milliseconds since 1970. */
export const IMPORTED = 'imported';
const BATCH_COUNT = 100;
const BATCH_BYTES = 4 * 1024 * 1024;
/** Parts remembered for the profiles behind them; an application has few. */
const MOST_PARTS = 1000;

function queued({ index, document }: ImportedProfile): QueuedProfile {
  const bytes = Buffer.from(document);
  return { index: { ...index, bytes: bytes.length }, document, bytes };
}

/** Rejects if the storage fails: what was imported until then stays. */
export async function importProfiles(options: ImportOptions): Promise<ImportResult> {
  const { storage, lines, takeClashes, isPinned, onFailure, onProgress } = options;
  const parts = new Map<string, SharedPart>();
  const result: ImportResult = { imported: 0, failed: 0 };
  let waiting: { line: number; profile: ImportedProfile }[] = [];
  let waitingBytes = 0;

  function fail(line: number, reason: string): void {
    result.failed += 1;
    onFailure(line, reason);
  }

  async function store(): Promise<void> {
    const batch = waiting;
    waiting = [];
    waitingBytes = 0;
    if (batch.length === 0) return;
    const ids = new Set(batch.flatMap(({ profile }) => profile.refersTo));
    await storage.storeShared([...ids].flatMap((id) => parts.get(id) ?? []));
    await storage.write(batch.map(({ profile }) => queued(profile)));
    const refused = new Set(takeClashes());
    for (const { line, profile } of batch) {
      const { token } = profile.index;
      if (refused.has(token)) {
        fail(line, `another request has the token ${token} there`);
        continue;
      }
      const amendments = {
        ...profile.amendments,
        [IMPORTED]: Date.now(),
        ...(isPinned ? { pin: true } : {}),
      };
      for (const [name, value] of Object.entries(amendments)) await storage.amend(token, name, value);
      result.imported += 1;
    }
    onProgress(result.imported);
  }

  let line = 0;
  for await (const text of lines) {
    line += 1;
    if (text.trim() === '') continue;
    try {
      const read = readExportedLine(text);
      if ('part' in read) {
        if (parts.size >= MOST_PARTS) {
          await store();
          parts.clear();
        }
        parts.set(read.part.id, read.part);
        continue;
      }
      waiting.push({ line, profile: read.profile });
      waitingBytes += text.length;
    } catch (error) {
      fail(line, (error as Error).message);
      continue;
    }
    if (waiting.length >= BATCH_COUNT || waitingBytes >= BATCH_BYTES) await store();
  }
  await store();
  return result;
}
