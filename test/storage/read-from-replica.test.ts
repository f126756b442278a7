/** Reads from a real streaming replica: while it keeps up, while it is behind, and while one of the two servers is away. */
import { expect } from 'chai';
import type { Knex } from 'knex';
import { runProfilerMigrations } from '../../app/database/run-migrations.ts';
import { isHindsightError } from '../../app/errors.ts';
import type { ProfileStorage, ReadsFrom } from '../../app/profiler/storage.ts';
import type { StorageSettings } from '../../app/storage/postgres-profile-storage.ts';
import { readFromReplica } from '../../app/storage/read-from-replica.ts';
import { type PostgresServer, openKnex, startReplica, withOwnPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { describeStorageContract, profileOf } from './contract.ts';
import { createStorageInProcess, emptyTables } from './in-process.ts';

const SCHEMA = 'replicated';

describe('storage with a replica', () => {
  const primary = withOwnPostgres();
  let replica: PostgresServer;
  let knex: Knex;
  let replicaKnex: Knex;
  const said: string[] = [];
  const opened: ProfileStorage[] = [];

  before(async function () {
    replica = await startReplica(this, primary());
    knex = openKnex(primary().connection);
    await runProfilerMigrations({ knex, schema: SCHEMA });
    replicaKnex = openKnex(replica.connection);
  });
  after(async () => {
    await replicaKnex?.destroy();
    await knex?.destroy();
    await replica?.stop();
  });
  beforeEach(async () => {
    said.length = 0;
    await emptyTables(knex, SCHEMA);
  });
  afterEach(() => Promise.all(opened.splice(0).map((storage) => storage.close())));

  async function openConnected(settings: Parameters<typeof open>[0] = {}): Promise<ProfileStorage> {
    const storage = open(settings);
    await until(() => storage.readsFrom?.()?.reason === null, 'the replica is connected');
    return storage;
  }

  function create(
    settings: Partial<StorageSettings> & {
      from?: PostgresServer;
      onlyReplica?: Partial<StorageSettings>;
    } = {},
  ): ProfileStorage {
    const { from = replica, onlyReplica, ...both } = settings;
    return readFromReplica({
      primary: createStorageInProcess(primary().connection, { schema: SCHEMA, ...both }),
      replica: createStorageInProcess(from.connection, { schema: SCHEMA, ...both, ...onlyReplica }),
      say: (sentence) => said.push(sentence),
      askAgainMs: 50,
    });
  }

  function open(settings: Parameters<typeof create>[0] = {}): ProfileStorage {
    const storage = create(settings);
    opened.push(storage);
    return storage;
  }

  function readsOf(storage: ProfileStorage): ReadsFrom {
    const reads = storage.readsFrom?.();
    if (reads === null || reads === undefined) throw new Error('It reads from one server.');
    return reads;
  }

  async function tokensOf(storage: ProfileStorage): Promise<string[]> {
    return (await storage.find({ limit: 100, offset: 0 })).rows.map(({ token }) => token);
  }

  async function delay(ms: number): Promise<void> {
    await replicaKnex.raw(`alter system set recovery_min_apply_delay = ${ms}`);
    await replicaKnex.raw('select pg_reload_conf()');
  }

  describe('as any storage', () => {
    // A standby refuses a statement that writes: the replica would be set aside.
    afterEach(() => expect(said).to.deep.equal([]));
    describeStorageContract({
      isEmptied: true,
      create: (onClash) => Promise.resolve(create({ onClash })),
    });
  });

  it('reads each profile and list from the replica, right after it was written', async () => {
    const storage = await openConnected();
    for (let number = 1; number <= 20; number++) {
      await storage.write([profileOf(number)]);
      expect(await storage.read(profileOf(number).index.token)).to.not.equal(null);
      expect(await tokensOf(storage)).to.have.lengthOf(number);
    }
    expect(await storage.amend('000001', 'pin', true)).to.equal(true);
    expect((await storage.read('000001'))?.amendments).to.deep.equal({ pin: true });
    // A busy machine may be late a few times.
    expect(readsOf(storage).replica).to.be.greaterThan(20);
    expect(said).to.deep.equal([]);
  });

  it('finds on the primary what the replica does not have yet, and says that it is behind', async () => {
    const storage = await openConnected();
    await delay(60_000);
    try {
      await storage.write([profileOf(1)]);
      expect(await replicaKnex(`${SCHEMA}.hindsight_profiles`).select('token')).to.deep.equal([]);
      expect(await storage.read('000001')).to.not.equal(null);
      expect(await tokensOf(storage)).to.deep.equal(['000001']);
      expect(await storage.read('000002')).to.equal(null);
      expect(readsOf(storage)).to.deep.equal({ server: 'primary', reason: 'behind', replica: 0, primary: 3 });
    } finally {
      await delay(0);
    }
    await until(async () => {
      expect(await tokensOf(storage)).to.deep.equal(['000001']);
      return readsOf(storage).server === 'replica';
    }, 'the replica is read again');
    expect(said).to.deep.equal([]);
  });

  it('reads from the primary while the replica is away, and says so once', async () => {
    const storage = await openConnected();
    await storage.write([profileOf(1)]);
    expect(await storage.read('000001')).to.not.equal(null);
    await replicaKnex.destroy();
    await replica.halt();
    try {
      for (let times = 0; times < 5; times++) {
        expect(await storage.read('000001')).to.not.equal(null);
        expect(await tokensOf(storage)).to.deep.equal(['000001']);
      }
      expect(readsOf(storage).server).to.equal('primary');
      expect(said).to.have.lengthOf(1);
      expect(said[0]).to.match(/^Profiles are read from the primary, because the replica can't be used: /);
    } finally {
      await replica.resume();
      replicaKnex = openKnex(replica.connection);
    }
    await until(async () => {
      expect(await tokensOf(storage)).to.deep.equal(['000001']);
      return readsOf(storage).server === 'replica';
    }, 'the replica is read again');
    expect(said.slice(1)).to.deep.equal(['Profiles are read from the replica again.']);
  });

  it('shows what the replica has while the primary is away, but calls no token unknown', async () => {
    const storage = await openConnected();
    await storage.write([profileOf(1)]);
    await until(async () => {
      await storage.read('000001');
      return readsOf(storage).server === 'replica';
    }, 'the replica has it');
    await knex.destroy();
    await primary().halt();
    try {
      expect(await storage.read('000001')).to.not.equal(null);
      expect(await tokensOf(storage)).to.deep.equal(['000001']);
      expect(await storage.read('000002').catch(isHindsightError)).to.equal(true);
    } finally {
      await primary().resume();
      knex = openKnex(primary().connection);
    }
  });

  it('reads from a server that is no replica only as from the primary', async () => {
    const storage = open({ from: primary() });
    await until(() => readsOf(storage).reason !== 'not connected yet', 'the server is known');
    await storage.write([profileOf(1)]);
    expect(await tokensOf(storage)).to.deep.equal(['000001']);
    expect(readsOf(storage)).to.deep.equal({
      server: 'primary',
      reason: 'it is no replica.',
      replica: 0,
      primary: 1,
    });
    expect(said).to.deep.equal([
      "Profiles are read from the primary, because the replica can't be used: it is no replica.",
    ]);
  });

  it('does not repeat on the primary a search that takes too long on the replica', async () => {
    // The server's timeout is meant, also where its reply takes seconds on a busy machine.
    const storage = await openConnected({ onlyReplica: { findTimeoutMs: 200, replyTimeoutMs: 60_000 } });
    await storage.write([profileOf(1)]);
    await until(async () => {
      await storage.read('000001');
      return readsOf(storage).replica > 0;
    }, 'the replica has all that was written');
    // The replica takes the lock over, and a search there waits for it.
    await knex.transaction(async (locking) => {
      await locking.raw('lock table ??.hindsight_profiles in access exclusive mode', [SCHEMA]);
      // Sent with the next flush only, up to 15 s later.
      await knex.raw('select pg_switch_wal()');
      await until(async () => {
        const locks = await replicaKnex('pg_locks').where({ mode: 'AccessExclusiveLock', granted: true });
        return locks.length > 0;
      }, 'the replica has the lock');
      let before = 0;
      // What PostgreSQL itself writes now and then leaves the replica behind for a moment, and then the primary is searched.
      await until(async () => {
        before = readsOf(storage).primary;
        const failure: unknown = await storage.find({ limit: 10, offset: 0 }).catch(String);
        return String(failure).includes('longer than 200 ms');
      }, 'a search is ended by the replica');
      expect(readsOf(storage)).to.deep.include({ server: 'replica', primary: before });
    });
  });
});
