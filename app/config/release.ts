/** The name of a release: a commit, or what the platform or a setting calls it. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Digits of a commit that are stored: as many as Git shows in the largest repositories. */
const COMMIT_DIGITS = 12;
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i;
/** What platforms call a release: `v41`, `shop-00012-abc`, `registry/shop:2026.11.25`. */
const NAME = /^[\w.+/@:-]{1,100}$/;

/**
 * Variables by which platforms name what runs, the commit first: Heroku, Render, Railway, Vercel, Netlify, Koyeb, Northflank, Azure, GitHub
 * Actions, GitLab CI, buildpacks, Google Cloud Run and App Engine, Fly.
 */
const VARIABLES = [
  'HEROKU_BUILD_COMMIT', 'HEROKU_SLUG_COMMIT', 'RENDER_GIT_COMMIT', 'RAILWAY_GIT_COMMIT_SHA', 'VERCEL_GIT_COMMIT_SHA', 'COMMIT_REF',
  'KOYEB_GIT_SHA', 'NF_DEPLOYMENT_SHA', 'BUILD_SOURCEVERSION', 'GITHUB_SHA', 'CI_COMMIT_SHA', 'SOURCE_VERSION', 'K_REVISION',
  'GAE_VERSION', 'HEROKU_RELEASE_VERSION', 'FLY_IMAGE_REF',
] as const; // prettier-ignore

/** A commit is shortened; null if the text is no name. */
export function releaseName(text: string): string | null {
  const name = text.trim();
  if (!NAME.test(name)) return null;
  return COMMIT.test(name) ? name.slice(0, COMMIT_DIGITS).toLowerCase() : name;
}

export function platformRelease(env: Readonly<Record<string, string | undefined>>): string | null {
  for (const variable of VARIABLES) {
    const name = releaseName(env[variable] ?? '');
    if (name !== null) return name;
  }
  return null;
}

const MOST_ABOVE = 4;
const LONGEST_LIST = 8 * 1024 * 1024;

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

/** The commit that is checked out in a folder, read from the files of Git: starting a process would cost more than the whole start. */
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
