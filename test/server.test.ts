/** The process itself: how it begins where it can't, and how it ends where the end takes long. */
import { expect } from 'chai';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterVarDir, freshVarDir } from './support/postgres.ts';
import { type ListeningProcess, startService } from './support/service-process.ts';
import { until } from './support/waiting.ts';

describe('the process', () => {
  let started: ListeningProcess | undefined;
  afterEach(() => started?.ended('SIGKILL'));

  const start = async (varDir: string): Promise<ListeningProcess> =>
    (started = await startService({ VAR_DIR: varDir }));

  it('goes on with files where the embedded database can not be used, and says why in a sentence', async () => {
    const varDir = freshVarDir();
    mkdirSync(join(varDir, 'postgres', 'data'), { recursive: true });
    writeFileSync(join(varDir, 'postgres', 'data', 'notes.txt'), '');
    const { ended, said, origin } = await start(varDir);
    await until(() => said().includes('Profiles are kept in files'), 'it says where profiles are kept');
    expect(said()).to.match(/holds files but no PostgreSQL cluster|belongs to user/);
    expect(said()).to.not.match(/^\s+at /m);
    const response = await fetch(`${origin}/nowhere`);
    await response.text();
    const profile = await fetch(response.headers.get('x-debug-token-link')!);
    expect(profile.status, await profile.text()).to.equal(200);
    expect(await ended('SIGTERM')).to.equal(0);
  });

  it('takes signals that come together as one, and one that comes later as an order to end at once', async () => {
    const { child, said, origin } = await start(await clusterVarDir());
    // A request whose body does not come holds the end up.
    const request = connect(Number(new URL(origin).port), '127.0.0.1');
    request.on('error', () => undefined);
    request.write(
      'POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    );
    await sleep(500);
    child.kill('SIGINT');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await sleep(1500);
    expect(child.exitCode).to.equal(null);
    // Again and again, because a busy process may have taken the first ones later than they came.
    await until(() => {
      child.kill('SIGINT');
      return child.exitCode !== null;
    }, 'it ends at once');
    expect(child.exitCode).to.equal(1);
    expect(said()).to.match(/Ended at once; profiles that were not stored yet are lost\./);
  });
});
