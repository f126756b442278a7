/** Where a host's Knex connects, as a thread is told. Nothing connects here. */
import { expect } from 'chai';
import openKnex, { type Knex } from 'knex';
import { connectionOf } from '../../app/storage/knex-connection.ts';

const always = { connectionTimeoutMillis: 5000, keepAlive: true };

async function readFrom(config: Knex.Config): Promise<Record<string, unknown> | null> {
  const knex = openKnex({ client: 'pg', ...config });
  try {
    return await connectionOf(knex);
  } finally {
    await knex.destroy();
  }
}

describe("connection settings of a host's Knex", () => {
  const settings = { host: 'db.example', port: 5433, user: 'shop', password: 'pw', database: 'shop' };

  it('are read with the password that Knex hides', async () => {
    expect(await readFrom({ connection: settings })).to.deep.equal({ ...always, ...settings });
  });

  it('are read from a URL', async () => {
    const read = await readFrom({ connection: 'postgres://shop:p%40w@db.example:5433/shop?sslmode=disable' });
    expect(read).to.include({ host: 'db.example', user: 'shop', password: 'p@w', database: 'shop' });
    expect(read?.ssl).to.equal(false);
  });

  it('are asked for where they are made by a function', async () => {
    const connection = (): Promise<Knex.PgConnectionConfig> =>
      Promise.resolve({
        ...settings,
        password: () => Promise.resolve('of today'),
        expirationChecker: () => true,
      });
    expect(await readFrom({ connection })).to.deep.equal({ ...always, ...settings, password: 'of today' });
  });

  it("keep the host's own timeouts and certificates", async () => {
    const ssl = { ca: Buffer.from('authority'), rejectUnauthorized: true };
    Object.defineProperty(ssl, 'key', { value: 'hidden by pg', enumerable: false });
    const read = await readFrom({ connection: { ...settings, ssl, connectionTimeoutMillis: 77 } });
    expect(read?.connectionTimeoutMillis).to.equal(77);
    expect(read?.ssl).to.include({ key: 'hidden by pg', rejectUnauthorized: true });
    expect(Buffer.from((read?.ssl as { ca: Uint8Array }).ca).toString()).to.equal('authority');
  });

  it('are not had where a thread could not do the same', async () => {
    const stream = (): never => {
      throw new Error('not here');
    };
    const refused: Knex.Config[] = [
      { connection: { ...settings, stream } },
      { connection: { ...settings, ssl: { checkServerIdentity: () => undefined } } },
      { connection: settings, pool: { afterCreate: (_connection: unknown, done: () => void) => done() } },
      { connection: settings, client: class extends openKnex.Client {} },
    ];
    for (const config of refused) expect(await readFrom(config)).to.equal(null);
  });
});
