/** `import` and `prune`: what changes the stored profiles, straight at their database. */
import { type Command, InvalidArgumentError } from 'commander';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CommandError, FAILED, NOTHING_FOUND } from './client.ts';
import { printableText } from './print.ts';
import { countText, createProgress } from './progress.ts';

/** Profiles that are deleted: older than a moment, or beyond the newest so many. */
export interface PruneLimits {
  /** Milliseconds since 1970. */
  olderThan: number | null;
  keep: number | null;
}

export interface StoreChanges {
  /** `lines` as `export` writes them. */
  importLines(options: {
    lines: AsyncIterable<string>;
    isPinned: boolean;
    onFailure: (line: number, reason: string) => void;
    onProgress: (imported: number) => void;
  }): Promise<{ imported: number; failed: number }>;
  /** About how many `prune` would delete. */
  countPrunable(limits: PruneLimits): Promise<number>;
  /** Deletes them, except pinned ones; returns how many. */
  prune(limits: PruneLimits, onProgress: (deleted: number) => void): Promise<number>;
}

export interface StoreCommandsOptions {
  program: Command;
  stdin: Readable;
  print: (text: string) => void;
  note: (sentence: string) => void;
  /** null: nobody can be asked. */
  confirm: (question: string) => Promise<boolean | null>;
  withStore: <T>(work: (store: StoreChanges) => Promise<T>) => Promise<T>;
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function readAge(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const ms = UNITS_MS[unit];
  if (ms === undefined) throw new InvalidArgumentError('Give an age such as 90m, 12h or 7d.');
  return Number(count) * ms;
}

export function readCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

/** Readline would not pass on an error of the file. */
async function* linesOf(open: () => Readable): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const chunk of open().setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError(`The file can’t be read: ${code ?? message}.`, FAILED);
  }
  if (rest !== '') yield rest;
}

async function importFile(
  options: StoreCommandsOptions,
  file: string | undefined,
  isPinned: boolean,
): Promise<void> {
  const { stdin, print, note, withStore } = options;
  const { imported, failed } = await withStore((store) =>
    store.importLines({
      lines: linesOf(() => (file === undefined ? stdin : createReadStream(file))),
      isPinned,
      onFailure: (line, reason) => {
        note(printableText(`Line ${line}: ${reason}.`));
      },
      onProgress: createProgress(note, 'imported').reach,
    }),
  );
  print(`Imported ${countText(imported)}.\n`);
  if (failed > 0)
    throw new CommandError(`${failed} ${failed === 1 ? 'line was' : 'lines were'} not imported.`, FAILED);
  if (imported === 0) throw new CommandError('The file has no profiles.', NOTHING_FOUND);
}

async function prune(
  { print, note, confirm, withStore }: StoreCommandsOptions,
  limits: PruneLimits,
  isSure: boolean,
): Promise<void> {
  if (limits.olderThan === null && limits.keep === null)
    throw new CommandError('Say what to delete: --older-than <age>, --keep <number>, or both.', FAILED);
  await withStore(async (store) => {
    if (!isSure) {
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
    const deleted = await store.prune(limits, createProgress(note, 'deleted').reach);
    print(`Deleted ${countText(deleted)}.\n`);
  });
}

export function addStoreCommands(options: StoreCommandsOptions): void {
  const { program } = options;
  program
    .command('import')
    .description('load exported profiles into a database; existing ones are not changed')
    .argument('[file]', 'file that export wrote (default: standard input)')
    .option('--pin', 'pin them, so that retention does not delete them', false)
    .action((file: string | undefined, { pin }: { pin: boolean }) => importFile(options, file, pin));

  program
    .command('prune')
    .description('delete old profiles of a database, except pinned ones')
    .option('--older-than <age>', 'requests older than this: 90m, 12h, 7d', readAge)
    .option('--keep <number>', 'all but this many newest requests', readCount)
    .option('-y, --yes', 'do not ask', false)
    .action(({ olderThan, keep, yes }: { olderThan?: number; keep?: number; yes: boolean }) =>
      prune(
        options,
        { olderThan: olderThan === undefined ? null : Date.now() - olderThan, keep: keep ?? null },
        yes,
      ),
    );
}
