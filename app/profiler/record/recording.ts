/**
 * Whether requests are recorded: a setting of the store for all its processes, which each process reads at most every 0.8 s, and
 * only while requests arrive. A pause survives a restart, because one of several processes may restart at any time; the list shows it.
 */
import type { Store } from '../store/store.ts';

export interface Recording {
  pausedAt(): number | null;
  /** Whether a request that started at this moment is not stored; those that ran when the pause began are. */
  leavesOut(startedAt: number): boolean;
  /** Whether a pause may have left out requests of the last day. */
  wasPaused(): boolean;
  /** Whether it is paused; also reads the setting again in the background if it is old. Called for each request. */
  check(): boolean;
  /** Reads the setting. Never rejects: if it can't be read, nothing changes. */
  refresh(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
}

const SETTING = 'paused';
const READ_EVERY_MS = 800;
const DAY = 24 * 3_600_000;

interface Pause {
  at: number;
  until: number | null;
}

function pauseIn(text: string | null): Pause | null {
  const [, at, until] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(text ?? '') ?? [];
  return at === undefined ? null : { at: Number(at), until: until === undefined ? null : Number(until) };
}

export function createRecording(store: Pick<Store, 'setting'>): Recording {
  let last: Pause | null = null;
  let readAt = -Infinity;
  /** Changes by this process: a read that began before one is outdated. */
  let changes = 0;
  /** Reads started, and the latest one that has ended: an older one that ends after it is outdated. */
  let begun = 0;
  let finished = 0;

  async function refresh(): Promise<void> {
    readAt = performance.now();
    const before = changes;
    const turn = ++begun;
    try {
      const read = pauseIn(await store.setting(SETTING));
      if (before !== changes || turn < finished) return;
      finished = turn;
      last = read;
    } catch {
      // Without a store nobody can have paused recording.
    }
  }

  async function set(pause: Pause): Promise<void> {
    const { at, until } = pause;
    await store.setting(SETTING, until === null ? String(at) : `${at}-${until}`);
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
