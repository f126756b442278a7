import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding large-result', () => {
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table events as select id from generate_series(1, 6000) as id'),
    (app, knex) => {
      app.get('/all', async (_req, res) => {
        const events = await knex<{ id: number }>('events');
        res.json(events.length);
      });
      app.get('/page', async (_req, res) => {
        res.json((await knex<{ id: number }>('events').limit(4999)).length);
      });
      app.get('/unlimited', async (_req, res) => {
        res.json((await knex<{ id: number }>('events').where('id', '<=', 1000)).length);
      });
      app.get('/few', async (_req, res) => {
        res.json((await knex<{ id: number }>('events').where('id', '<', 1000)).length);
      });
      app.get('/write', async (_req, res) => {
        res.json(await knex<{ id: number }>('events').increment('id', 1));
      });
    },
  );

  it('says how many rows a read returned', async () => {
    const [finding] = (await ask('/all')).of('large-result');
    expect(finding?.sentence).to.match(/^select … from events returned 6,000 rows in \d/);
    expect(finding?.place).to.match(/large-result\.test\.ts:\d+$/);
  });

  it('only mentions one that took no hundredth of the request', () => {
    const database = {
      statements: [{ sql: 'select * from events', label: 'select … from events' }],
      queries: [{ statement: 0, rows: 6000, durationMs: 10, caller: null }],
      totals: { rows: 6000 },
    };
    const find = (durationMs: number) => draftsOf('large-result', { database }, { durationMs })[0]?.severity;
    expect([find(900), find(1100)]).to.deep.equal(['warn', 'info']);
  });

  it('leaves joined lists that multiply each other to the finding about them', () => {
    const find = (joined: string) => {
      const sql = `select * from a left join b on b.a = a.id ${joined}`;
      const database = {
        statements: [{ sql, label: 'select … from a' }],
        queries: [{ statement: 0, rows: 6000, durationMs: 10, caller: null, bindings: [] }],
        totals: { rows: 6000 },
      };
      const response = { text: '[[1], [2]]', contentType: 'application/json', truncated: false };
      const request = { routeParams: [], response };
      const routing = { route: null };
      return draftsOf('large-result', { database, request, routing }, { durationMs: 20 });
    };
    expect(find('')).to.have.length(1);
    expect(find('left join c on c.a = a.id')).to.deep.equal([]);
  });

  it('says that a thousand rows were read without a limit', async () => {
    const [finding] = (await ask('/unlimited')).of('large-result');
    expect(finding?.severity).to.equal('info');
    expect(finding?.sentence).to.match(/^select … from events returned 1,000 rows in .*, without a limit$/);
  });

  describe('of rows that belong to several things, where the path names one', () => {
    const find = ({
      sql = 'select id, kwh, meter_id from readings order by id',
      meters = [60, 44, 60],
    } = {}) => {
      const found = meters.map((meter, id) => ({ id, kwh: 7, meter_id: meter }));
      const database = { ...keptQueries({ sql, rows: 43_801, found }), totals: { rows: 43_801 } };
      const request = keptRequest({ params: { id: '17' } });
      const head = { durationMs: 20, route: '/meters/:id/sheet' };
      return draftsOf('large-result', { database, request }, head)[0];
    };

    it('says that the condition is missing', () => {
      expect(find()?.sentence).to.match(
        /, without a condition: the path asks for meter 17, and the first 3 rows have 2 different meter_id$/,
      );
      expect(find()?.fix).to.contain('condition on meter_id');
    });

    it('does not if there is a condition or a limit, or the rows are of one thing', () => {
      const others = [
        find({ sql: 'select id, kwh, meter_id from readings where kwh > 1' }),
        find({ meters: [17, 17, 17] }),
        find({ sql: 'select id, meter_id from readings limit 5000' }),
      ];
      for (const one of others) expect(one?.sentence).not.to.contain('without a condition');
    });
  });

  it('ignores one page of rows, and a write that changed as many', async () => {
    for (const path of ['/page', '/few', '/write']) expect((await ask(path)).of('large-result'), path).to.deep.equal([]); // prettier-ignore
  });
});
