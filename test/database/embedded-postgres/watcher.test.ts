/** The script that watches over a server, without a server: who may watch, and who is told so. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  adopt,
  joinUsers,
  type Adoption,
  type LaunchOptions,
} from '../../../app/database/embedded-postgres/watcher.ts';
import type { Places } from '../../../app/database/embedded-postgres/places.ts';

/** Greater than any that Linux gives out: nothing can be ended by mistake. */
const NO_PROCESS = 4_194_305;

describe('the script that watches over a server', () => {
  const postmaster = { pid: NO_PROCESS, socketFolder: '', port: 5432 };
  let options: LaunchOptions;
  const adoptions: Adoption[] = [];

  function begin(number: number): Adoption {
    const adoption = adopt(options, postmaster, number);
    adoptions.push(adoption);
    return adoption;
  }

  beforeEach(() => {
    const folder = mkdtempSync(join(tmpdir(), 'hw-'));
    postmaster.socketFolder = folder;
    const places: Places = {
      base: folder,
      data: join(folder, 'data'),
      log: join(folder, 'log'),
      native: folder,
      runAs: undefined,
    };
    options = { places, socketFolder: folder, temporary: false, linger: 0 };
  });

  afterEach(async () => {
    for (const { hold } of adoptions) hold.release();
    await Promise.all(adoptions.splice(0).map(({ exited }) => exited));
    rmSync(postmaster.socketFolder, { recursive: true, force: true });
  });

  it('is one of many that begin at once, and each is told whether it is the one', async () => {
    const told = await Promise.all([1, 1, 1, 1].map((number) => begin(number).watching));
    expect(told.filter((watching) => watching)).to.have.length(1);
    expect(readdirSync(postmaster.socketFolder)).to.deep.equal([`users.${NO_PROCESS}.1`]);
  });

  it('can be joined as soon as it is told to watch', async () => {
    expect(await begin(1).watching).to.equal(true);
    const { hold, number } = joinUsers(postmaster);
    expect(number).to.equal(1);
    expect(hold?.watched()).to.equal(true);
    hold?.release();
  });

  it('does not watch where it could not make its pipe', async () => {
    options = { ...options, socketFolder: join(postmaster.socketFolder, 'gone') };
    expect(await begin(1).watching).to.equal(false);
  });

  it('ends when it is let go and nobody has joined', async () => {
    const adoption = begin(1);
    await adoption.watching;
    expect(adoption.hold.watched()).to.equal(true);
    adoption.hold.release();
    expect(await adoption.exited).to.equal(0);
  });
});
