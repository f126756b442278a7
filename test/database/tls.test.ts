import { chmodSync, chownSync, rmSync } from 'node:fs';
import { expect } from 'chai';
import { settingsOf } from '../../app/database/connection-settings.ts';
import { tryDatabase } from '../../app/service/database/reach.ts';
import { makeCertificate } from '../support/certificate.ts';
import { findProgram, skipOrFail } from '../support/parts.ts';
import { serverFolder, serverUser, startPostgres, type PostgresServer } from '../support/postgres.ts';
import { freePort } from '../support/server-process.ts';

async function makeOwnCertificate(folder: string): Promise<{ certificate: string; key: string }> {
  const made = await makeCertificate(folder);
  chmodSync(made.key, 0o600);
  const user = serverUser();
  if (user !== undefined) for (const file of Object.values(made)) chownSync(file, user.uid, user.gid);
  return made;
}

describe('an encrypted connection', () => {
  let server: PostgresServer;
  let folder: string;
  let port: number;

  before(async function () {
    if (findProgram(['openssl']) === null) skipOrFail(this, 'openssl');
    folder = serverFolder('tls-');
    const { certificate, key } = await makeOwnCertificate(folder);
    port = await freePort();
    server = await startPostgres(
      ['listen_addresses=127.0.0.1', 'ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`],
      { port },
    );
    server.allow(['hostssl all all 127.0.0.1/32 trust', 'local all all trust']);
    await server.halt();
    await server.resume();
  });
  after(async () => {
    await server?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  function connect(ssl: 'off' | 'unverified' | 'verified'): Promise<string> {
    const settings = settingsOf({ host: 'localhost', port, name: 'postgres', user: 'postgres', ssl });
    return tryDatabase(settings, 3000).then(
      () => 'connected',
      (error: unknown) => String(error),
    );
  }

  it('is made where the address asks for one', async () => {
    expect(await connect('unverified')).to.equal('connected');
  });

  it('is not made where it does not', async () => {
    expect(await connect('off')).to.match(/no encryption/);
  });

  it('is refused where the certificate is to be checked and nobody vouches for it', async () => {
    expect(await connect('verified')).to.match(/self-signed certificate/);
  });
});
