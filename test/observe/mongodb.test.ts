import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { mongodbPatch } from '../../app/observe/channels/mongodb.ts';
import { mongodbDriver } from '../../app/observe/databases/mongodb.ts';
import { aboutStatement } from '../../app/panels/shared/about-statement.ts';
import { groupQueries } from '../../app/panels/shared/query-groups.ts';
import { startMongod } from '../support/mongod.ts';
import { type ObservedRequests, observeRequests, recording } from '../support/observed-requests.ts';

const HERE = /^test\/observe\/mongodb\.test\.ts:\d+$/;

describe('mongodb as it is observed', () => {
  let server: Awaited<ReturnType<typeof startMongod>>;
  let client: MongoClient;
  let requests: ObservedRequests;

  before(async () => {
    server = await startMongod();
    client = await MongoClient.connect(server.url, { maxPoolSize: 3 });
  });
  after(async () => {
    await client.close();
    await server.stop();
  });
  beforeEach(() => {
    requests = observeRequests({ patches: [mongodbPatch], listen: recording(mongodbDriver) });
  });
  afterEach(() => {
    requests.close();
  });

  it('tells commands with their values apart, time, documents, connection and caller', async () => {
    const users = client.db().collection('users');
    const queries = await requests.observed(async () => {
      await users.insertMany(
        [1, 2, 3].map((id) => ({ _id: id as never, email: `u${id}@example.org`, age: id })),
      );
      await users.findOne({ email: 'u1@example.org' });
      await users
        .find({ age: { $lt: 3 } })
        .sort({ age: 1 })
        .toArray();
      await users.updateOne({ age: 2 }, { $set: { password: 'geheim' } });
      await client
        .db()
        .command({ shutdown: 1 })
        .catch(() => undefined);
    });
    expect(queries.map(({ sql, bindings, rows }) => [sql, bindings, rows])).to.deep.equal([
      ['db.users.insert({"_id": ?, "email": ?, "age": ?})', [1, 'u1@example.org', 1], 3],
      ['db.users.find({"email": ?}, {"limit": ?})', ['u1@example.org', 1], 1],
      ['db.users.find({"age": {"$lt": ?}}, {"sort": ?})', [3, queries[2]?.bindings[1]], 2],
      ['db.users.update({"age": ?}, {"$set": {"password": ?}})', [2, 'geheim'], 1],
      ['db.shutdown({})', [], null],
    ]);
    for (const query of queries) {
      expect(query).to.include({ system: 'mongodb', transaction: null });
      expect(query.connection).to.match(/^mongodb\d+$/);
      expect(query.server).to.match(/^127\.0\.0\.1:\d+\/\w+$/);
      expect(query.durationMs).to.be.greaterThan(0);
      expect(query.caller).to.match(HERE);
    }
    expect(queries[4]?.error).to.contain('no such command');
    const { columns, label } = aboutStatement(queries[3]?.sql ?? '');
    expect(columns).to.deep.equal(['age', 'password']);
    expect(label).to.equal('users.update');
  });

  it('shows the same command in a loop as N+1', async () => {
    const users = client.db().collection('users');
    const queries = await requests.observed(async () => {
      for (const id of [1, 2, 3]) await users.findOne({ _id: id as never });
    });
    expect(groupQueries(queries)).to.deep.equal([{ kind: 'n+1', members: [0, 1, 2] }]);
  });
});
