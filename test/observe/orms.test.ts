import { expect } from 'chai';
import pg from 'pg';
import { DataTypes, Sequelize } from 'sequelize';
import { labelPatches } from '../../app/observe/channels/labels.ts';
import { pgPatch } from '../../app/observe/channels/pg.ts';
import { observeLabels } from '../../app/observe/databases/labels.ts';
import { pgDriver } from '../../app/observe/databases/pg.ts';
import { type ObservedRequests, observeRequests, recording } from '../support/observed-requests.ts';
import { withPostgres } from '../support/postgres.ts';

const HERE = /^test\/observe\/orms\.test\.ts:\d+$/;

describe('what runs above a driver', () => {
  const server = withPostgres();
  let requests: ObservedRequests;

  beforeEach(() => {
    requests = observeRequests(
      { patches: [pgPatch], listen: recording(pgDriver) },
      { patches: labelPatches, listen: observeLabels },
    );
  });
  afterEach(() => {
    requests.close();
  });

  it('has the line that called, also where nobody awaits it: Sequelize', async () => {
    const { host, port, user, database } = server().connection;
    const sequelize = new Sequelize(database, user, '', { host, port, dialect: 'postgres', logging: false });
    const Thing = sequelize.define('Thing', { name: DataTypes.STRING }, { timestamps: false });
    await sequelize.sync();
    const queries = await requests.observed(
      () =>
        new Promise<void>((resolve) => {
          void Thing.findAll().then(() => sequelize.query('select 1').then(() => { resolve(); })); // prettier-ignore
        }),
    );
    await sequelize.close();
    expect(queries.map(({ label = null }) => label)).to.deep.equal(['Thing.findAll', null]);
    for (const { caller } of queries) expect(caller).to.match(HERE);
  });

  it('is seen with model and method by what the clients of Prisma ask for tracing, until the observer closes', async () => {
    interface Tracing {
      helper: { runInChildSpan(span: object | string, work: () => unknown): unknown };
    }
    const holder = globalThis as { PRISMA_INSTRUMENTATION?: Tracing };
    const { helper } = holder.PRISMA_INSTRUMENTATION ?? expect.fail('no helper');
    const pool = new pg.Pool(server().connection);
    const attributes = { method: 'findMany', model: 'User', name: 'User.findMany' };
    const queries = await requests.observed(async () => {
      await helper.runInChildSpan({ name: 'operation', attributes }, () => pool.query('select 1'));
      await helper.runInChildSpan('connect', () => pool.query('select 2'));
    });
    await pool.end();
    expect(queries.map(({ label = null }) => label)).to.deep.equal(['User.findMany', null]);
    requests.close();
    expect(holder.PRISMA_INSTRUMENTATION).to.equal(undefined);
  });
});
