/** The commit of a folder, compared with what Git itself says. */
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gitCommit } from '../../app/config/release.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('the commit of a folder', () => {
  let folder: string;
  let repository: string;
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: repository,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();

  beforeEach(() => {
    folder = freshFolder();
    repository = join(folder, 'shop');
    mkdirSync(repository);
    git('init', '-q', '-b', 'main');
  });

  function commit(): string {
    git('commit', '-q', '--allow-empty', '-m', 'one');
    return git('rev-parse', 'HEAD');
  }

  it('is that of the branch, also for a folder below', () => {
    const head = commit();
    expect(gitCommit(repository)).to.equal(head);
    mkdirSync(join(repository, 'packages', 'api'), { recursive: true });
    expect(gitCommit(join(repository, 'packages', 'api'))).to.equal(head);
  });

  it('is read where references are packed, or no branch is checked out', () => {
    const head = commit();
    git('pack-refs', '--all');
    expect(gitCommit(repository)).to.equal(head);
    git('checkout', '-q', '--detach');
    expect(gitCommit(repository)).to.equal(head);
  });

  it('is read in a worktree', () => {
    commit();
    const worktree = join(folder, 'worktree');
    git('worktree', 'add', '-q', '-b', 'other', worktree);
    writeFileSync(join(worktree, 'file'), '');
    const before = repository;
    repository = worktree;
    const head = commit();
    repository = before;
    expect(gitCommit(worktree)).to.equal(head);
    expect(gitCommit(repository)).to.not.equal(head);
  });

  it('is unknown without a commit or a repository, and where files are damaged', () => {
    expect(gitCommit(repository)).to.equal(null);
    commit();
    for (const text of ['', 'ref: ../../secret', `ref: refs/heads/none`, 'x'.repeat(40)]) {
      writeFileSync(join(repository, '.git', 'HEAD'), text);
      expect(gitCommit(repository), text).to.equal(null);
    }
    expect(gitCommit(join(folder, 'missing'))).to.equal(null);
  });
});
