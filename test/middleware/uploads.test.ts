import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { cleanUploads } from '../../app/service/middleware/uploads.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const nameOf = (pid: number, digit: string): string => `upload-${pid}-${digit.repeat(32)}`;

describe('uploads left behind', () => {
  let folder: string;
  beforeEach(async () => {
    folder = freshFolder();
  });

  it('by a killed process are removed at start; those of living ones and foreign files stay', async () => {
    const { pid: dead } = spawnSync(process.execPath, ['-e', '']);
    const alive = process.ppid;
    const long = new Date(Date.now() - 7_200_000);
    const files: [name: string, stays: boolean, changed?: Date][] = [
      [nameOf(dead, 'a'), false],
      [nameOf(alive, 'b'), true],
      [nameOf(alive, 'c'), false, long],
      [nameOf(process.pid, 'd'), true],
      [nameOf(process.pid, 'e'), false, long],
      ['notes.txt', true, long],
      ['upload-x-1', true, long],
    ];
    for (const [name, , changed] of files) {
      await writeFile(join(folder, name), 'x');
      if (changed !== undefined) await utimes(join(folder, name), changed, changed);
    }
    await mkdir(join(folder, 'folder'));
    expect(await cleanUploads(folder)).to.equal(3);
    const kept = files.filter(([, stays]) => stays).map(([name]) => name);
    expect(await readdir(folder)).to.have.members([...kept, 'folder']);
  });

  it('are none where there is no folder', async () => {
    expect(await cleanUploads(join(folder, 'missing'))).to.equal(0);
  });
});
