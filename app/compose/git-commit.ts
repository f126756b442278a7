/** The commit that is checked out in a folder, read from the files of Git: starting a process would cost more than the whole start. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { releaseOf } from '../config.ts';
import { releaseName } from '../config/release.ts';

const MOST_ABOVE = 4;
const LONGEST_LIST = 8 * 1024 * 1024;
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

function textOf(file: string): string | null {
  try {
    if (statSync(file).size > LONGEST_LIST) return null;
    return readFileSync(file, 'utf8').trim();
  } catch {
    return null;
  }
}

function gitFolder(folder: string): string | null {
  let at = resolve(folder);
  for (let above = 0; above <= MOST_ABOVE; above++) {
    const path = join(at, '.git');
    if (textOf(join(path, 'HEAD')) !== null) return path;
    const elsewhere = /^gitdir: (.+)$/.exec(textOf(path) ?? '')?.[1];
    if (elsewhere !== undefined) return resolve(at, elsewhere);
    at = dirname(at);
  }
  return null;
}

function packedCommit(list: string | null, reference: string): string | null {
  const line = list?.split('\n').find((one) => one.endsWith(` ${reference}`));
  return line?.split(' ')[0] ?? null;
}

export function gitCommit(folder: string): string | null {
  const git = gitFolder(folder);
  if (git === null) return null;
  const head = textOf(join(git, 'HEAD')) ?? '';
  const reference = /^ref: (refs\/\S+)$/.exec(head)?.[1];
  // Worktrees share the references of their repository.
  const common = resolve(git, textOf(join(git, 'commondir')) ?? '.');
  const commit =
    reference === undefined
      ? head
      : (textOf(join(common, reference)) ?? packedCommit(textOf(join(common, 'packed-refs')), reference));
  return commit !== null && COMMIT.test(commit) ? commit : null;
}

/** The release of what runs in a folder: as set, as the platform names it, else the commit that is checked out; null if there is none. */
export function findRelease(given: string | null, root: string): string | null {
  const named = releaseOf(given);
  return named === undefined ? releaseName(gitCommit(root) ?? '') : named;
}
