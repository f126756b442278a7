/** A server that has written `postmaster.pid` but does not listen yet: whoever arrives then must wait for it. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findBinaries } from '../../../app/service/database/embedded-postgres/binaries.ts';
import { startEmbeddedPostgres } from '../../../app/service/database/embedded-postgres/index.ts';
import { clusterVarDir } from '../../support/postgres.ts';
import { until } from '../../support/waiting.ts';

describe('an embedded PostgreSQL that is starting', () => {
  const folders: string[] = [];

  after(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  /** Binaries whose server writes its lock file, as PostgreSQL does, and waits until the file `go` exists. */
  async function slowBinaries(go: string): Promise<string> {
    const { native } = await findBinaries();
    const folder = mkdtempSync(join(tmpdir(), 'hv-slow-'));
    folders.push(folder);
    chmodSync(folder, 0o755);
    const slow = join(folder, 'native');
    cpSync(join(native, '..', 'package.json'), join(folder, 'package.json'));
    cpSync(native, slow, { recursive: true, verbatimSymlinks: true });
    const postgres = join(slow, 'bin', 'postgres');
    renameSync(postgres, `${postgres}-itself`);
    const script = `#!/bin/sh
# Arguments: -D data -k socketFolder …
printf '%s\\n%s\\n0\\n5432\\n%s\\n' $$ "$2" "$4" >"$2/postmaster.pid"
while [ ! -e '${go}' ]; do sleep 0.02; done
exec "$0-itself" "$@"
`;
    writeFileSync(postgres, script, { mode: 0o755 });
    return slow;
  }

  it('is waited for and joined, and its files are left alone', async () => {
    const varDir = await clusterVarDir();
    const places = mkdtempSync(join(tmpdir(), 'hv-go-'));
    chmodSync(places, 0o755);
    folders.push(varDir, places);
    const go = join(places, 'go');
    const options = { varDir, log: () => undefined, linger: 0 };
    const starting = startEmbeddedPostgres({ ...options, native: await slowBinaries(go) });
    const lockFile = join(varDir, 'postgres', 'data', 'postmaster.pid');
    const pid = (): number =>
      Number(existsSync(lockFile) ? readFileSync(lockFile, 'utf8').split('\n')[0] : 0);
    await until(() => pid() > 0, 'the lock file of the starting server');
    const starter = pid();
    const joining = startEmbeddedPostgres(options);
    // Time enough for the second one to look several times.
    await new Promise((resolve) => setTimeout(resolve, 500));
    writeFileSync(go, '');
    const [first, second] = await Promise.all([starting, joining]);
    try {
      expect([first.pid, second.pid]).to.deep.equal([starter, starter]);
    } finally {
      await second.stop();
      await first.stop();
    }
  });
});
