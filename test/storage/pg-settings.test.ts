/** Where a host connects, as the storage is told. Nothing connects here. */
import { expect } from 'chai';
import openKnex, { type Knex } from 'knex';
import { createPostgresStorage } from '../../app/compose/create-postgres-storage.ts';
import { connectionOf, type PgSettings, settingsIn } from '../../app/storage/pg-settings.ts';

const always = { connectionTimeoutMillis: 5000, keepAlive: true };

async function withKnex<T>(config: Knex.Config, work: (knex: Knex) => T | Promise<T>): Promise<T> {
  const knex = openKnex({ client: 'pg', ...config });
  try {
    return await work(knex);
  } finally {
    await knex.destroy();
  }
}

function readFrom(config: Knex.Config): Promise<PgSettings> {
  return withKnex(config, (knex) => settingsIn(connectionOf(knex)));
}

describe("connection settings of a host's Knex", () => {
  const settings = { host: 'db.example', port: 5433, user: 'shop', password: 'pw', database: 'shop' };

  it('are read with the password that Knex hides', async () => {
    expect(await readFrom({ connection: settings })).to.deep.equal({ ...always, ...settings });
  });

  it('are read from a URL', async () => {
    const read = await readFrom({ connection: 'postgres://shop:p%40w@db.example:5433/shop?sslmode=disable' });
    expect(read).to.include({ host: 'db.example', user: 'shop', password: 'p@w', database: 'shop' });
    expect(read.ssl).to.equal(false);
  });

  it('are asked for where they are made by a function', async () => {
    const password = (): Promise<string> => Promise.resolve('of today');
    const connection = (): Promise<Knex.PgConnectionConfig> =>
      Promise.resolve({ ...settings, password, expirationChecker: () => true });
    expect(await readFrom({ connection })).to.deep.equal({ ...always, ...settings, password });
  });

  it("keep the host's own timeouts and certificates", async () => {
    const ssl = { ca: Buffer.from('authority'), rejectUnauthorized: true };
    Object.defineProperty(ssl, 'key', { value: 'hidden by pg', enumerable: false });
    const read = await readFrom({ connection: { ...settings, ssl, connectionTimeoutMillis: 77 } });
    expect(read.connectionTimeoutMillis).to.equal(77);
    expect(read.ssl).to.include({ key: 'hidden by pg', rejectUnauthorized: true });
    expect(Buffer.from((read.ssl as { ca: Uint8Array }).ca).toString()).to.equal('authority');
  });

  it('are asked for by a sentence at start where a Knex can not tell them', async () => {
    const refused: [Knex.Config, RegExp][] = [
      [
        { connection: settings, pool: { afterCreate: (_connection: unknown, done: () => void) => done() } },
        /afterCreate.*Give it `connection`/,
      ],
      [{ connection: settings, client: class extends openKnex.Client {} }, /client is not "pg"/],
    ];
    for (const [config, sentence] of refused)
      await withKnex(config, (knex) => {
        expect(() => createPostgresStorage({ knex: () => knex, schema: 's' })).to.throw(sentence);
      });
  });

  it('are asked for with the first profile where the Knex is made later', async () => {
    const late = withKnex({ client: class extends openKnex.Client {} }, (knex) => knex);
    const storage = createPostgresStorage({ knex: () => late, schema: 's' });
    const refused: unknown = await storage.read('000001').catch((error: unknown) => error);
    expect(refused).to.include({ code: 'BAD_CONFIG' });
    expect((refused as Error).message).to.match(/Give it `connection`/);
    await storage.close();
  });
});
