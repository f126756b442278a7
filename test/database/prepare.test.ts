/** What counts as a database that is away, and what as a migration that failed. */
import { expect } from 'chai';
import { createPrepare } from '../../app/service/database/prepare.ts';
import { openKnex, withPostgres } from '../support/postgres.ts';

describe('preparing a database', () => {
  const server = withPostgres();

  it('is put off where no connection is free, and no migration is said to have failed', async () => {
    const { connection } = server();
    const owner = openKnex(connection);
    const user = `full_${process.pid}`;
    const lines: string[] = [];
    const prepare = createPrepare({
      schema: 'full',
      profiler: true,
      owner: false,
      redact: { text: (value) => value },
      log: (line) => lines.push(line),
    });
    await owner.raw(`create role ${user} login connection limit 0`);
    try {
      const error = await prepare({ owner, settings: { ...connection, user } }, 'come').then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error)
        .to.be.an('error')
        .with.property('message')
        .that.matches(/too many connections/);
      expect(lines).to.deep.equal([]);
    } finally {
      await owner.raw(`drop role ${user}`);
      await owner.destroy();
    }
  });
});
