/** `prune`: deletes stored profiles, straight at their database or files. */
import { CommandError, FAILED } from './client.ts';
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
  /** Asks whoever types, who may be nobody (it resolves with null). null: `--yes` was given. */
  confirm: ((question: string) => Promise<boolean | null>) | null;
}

export async function prune({ store, limits, print, confirm }: PruneOptions): Promise<void> {
  if (confirm !== null) {
    const count = await store.countPrunable(limits);
    const answer = await confirm(
      `Delete about ${countText(count)}, except pinned ones? This can’t be undone.`,
    );
    if (answer === null)
      throw new CommandError(
        'There is no terminal to ask for confirmation; add --yes to delete them.',
        FAILED,
      );
    if (!answer) {
      print('Deleted nothing.\n');
      return;
    }
  }
  const deleted = await store.prune(limits);
  print(`Deleted ${countText(deleted)}.\n`);
}
