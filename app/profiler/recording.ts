/**
 * Whether requests are recorded, for all processes of one storage: a setting of it, which each process reads again beside its
 * requests, at most every 1.5 s. Nothing is asked while no request comes.
 *
 * A pause lies in the storage and so outlives a restart: of several processes one ends and starts now and then by itself, and
 * would resume what somebody has paused. The list says so loudly.
 */
import type { ProfileStorage } from './storage.ts';

export interface Recording {
  /** Milliseconds since 1970 at which recording was paused, as far as this process knows; null: it records. */
  pausedAt(): number | null;
  /** Whether a request that began at this moment is left out; those that ran when the pause began are kept. */
  leavesOut(startedAt: number): boolean;
  /** Whether some request of the last day may have gone unrecorded by a pause. */
  wasPaused(): boolean;
  /** Whether it is paused now; reads the setting again beside it, where it was read a while ago. Called for each request. */
  check(): boolean;
  /** Reads the setting. Never rejects: what can't be read stays as it was. */
  refresh(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
}

const SETTING = 'paused';
const READ_EVERY_MS = 1500;
const DAY = 24 * 3_600_000;

interface Pause {
  at: number;
  /** null: it lasts. */
  until: number | null;
}

/** `<from>` or `<from>-<until>` in milliseconds since 1970. */
function pauseIn(text: string | null): Pause | null {
  const [, at, until] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(text ?? '') ?? [];
  return at === undefined ? null : { at: Number(at), until: until === undefined ? null : Number(until) };
}

export function createRecording(storage: Pick<ProfileStorage, 'readSetting' | 'writeSetting'>): Recording {
  let last: Pause | null = null;
  let readAt = -Infinity;
  /** Changed here since: what is being read may be older. */
  let changes = 0;
  /** Reads that were begun, and the latest of them that has answered: one that is overtaken tells what was. */
  let begun = 0;
  let answered = 0;

  async function refresh(): Promise<void> {
    readAt = performance.now();
    const before = changes;
    const turn = ++begun;
    try {
      const read = pauseIn(await storage.readSetting(SETTING));
      if (before !== changes || turn < answered) return;
      answered = turn;
      last = read;
    } catch {
      // No storage, no list to pause it on.
    }
  }

  async function set(pause: Pause): Promise<void> {
    const { at, until } = pause;
    await storage.writeSetting(SETTING, until === null ? String(at) : `${at}-${until}`);
    changes++;
    last = pause;
  }

  const pausedAt = (): number | null => (last?.until === null ? last.at : null);

  return {
    pausedAt,
    leavesOut: (startedAt) => startedAt >= (pausedAt() ?? Infinity),
    wasPaused: () => last !== null && (last.until === null || last.until > Date.now() - DAY),
    check() {
      if (performance.now() - readAt > READ_EVERY_MS) void refresh();
      return pausedAt() !== null;
    },
    refresh,
    pause: () => set({ at: pausedAt() ?? Date.now(), until: null }),
    async resume() {
      const at = pausedAt();
      if (at !== null) await set({ at, until: Date.now() });
    },
  };
}
