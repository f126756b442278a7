/** `prune`: deletes stored profiles, straight at their database or files. */
import { type Confirm, isConfirmed } from './client.ts';
import { countText } from './print.ts';

/** Profiles that are deleted: older than so many milliseconds, or beyond the newest so many. */
export interface PruneLimits {
  maxAgeMs: number | null;
  keep: number | null;
}

export interface PrunableStore {
  countPrunable(limits: PruneLimits): Promise<number>;
  /** Deletes them, except pinned ones; returns how many. */
  prune(limits: PruneLimits): Promise<number>;
}

export interface PruneOptions {
  store: PrunableStore;
  limits: PruneLimits;
  print: (text: string) => void;
  confirm: Confirm;
}

export async function prune({ store, limits, print, confirm }: PruneOptions): Promise<void> {
  if (confirm !== null) {
    const count = countText(await store.countPrunable(limits));
    const question = `Delete about ${count}, except pinned ones? This can’t be undone.`;
    if (!(await isConfirmed(confirm, question, 'delete them'))) {
      print('Deleted nothing.\n');
      return;
    }
  }
  print(`Deleted ${countText(await store.prune(limits))}.\n`);
}
