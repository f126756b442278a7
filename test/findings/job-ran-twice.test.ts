import { expect } from 'chai';
import { jobRules } from '../../app/findings/jobs.ts';
import type { Json } from '../../app/profiler/json.ts';
import { type AskedQuery, keptQueries } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding job-ran-twice', () => {
  const paid = { id: 'e_7001', type: 'order.paid', order: { number: 'A-551', cents: 12_090 } };
  const add = (...values: string[]) => {
    const [command = '', key = '', ...args] = values;
    const items = [
      {
        command,
        key,
        error: null,
        caller: 'src/worker.ts:9',
        args: args.map((value) => ({ name: key, value })),
      },
    ];
    return { cache: { items } };
  };
  const write = (...asked: readonly AskedQuery[]) => {
    const database = keptQueries(...asked);
    return {
      database: { ...database, queries: database.queries.map((one) => ({ ...one, transaction: null })) },
    };
  };
  const points = add('HINCRBY', 'member:m-1001', 'points', '120');

  interface Past {
    data: Json;
    other: Json;
    outcome: string;
    name: string;
    id: string | null;
  }

  const places: unknown[] = [];

  const of = (
    own: object,
    before: object,
    { data = paid, other = data, outcome = 'completed', name = 'order.paid', id = null }: Partial<Past> = {},
  ) => {
    const rule = jobRules.find((one) => one.name === 'job-ran-twice');
    const addedAt = 'src/queue.ts:18';
    const run = (of: Json) => ({
      queue: 'points',
      name: 'order.paid',
      outcome: 'completed',
      data: of,
      id,
      addedAt,
    });
    const kept = { jobs: { run: run(data) }, ...own };
    const past = { jobs: { run: { ...run(other), outcome, name } }, ...before };
    const head = { kind: 'job' } as never;
    const earlier = rule?.compares?.(kept, head) === true ? [{ head: { token: '9412a6' }, kept: past }] : [];
    const found = draftsOf('job-ran-twice', kept, head, { earlier });
    places.splice(0, places.length, ...found.map(({ place }) => place));
    return found.map(({ sentence }) => sentence);
  };

  it('names the change that both made', () => {
    expect(of(points, points)).to.deep.equal([
      'This job did what job 9412a6 had done before: both have the same data, about e_7001, and both made the change HINCRBY member:m-1001 points 120',
    ]);
    const added = write({
      sql: 'update "members" set "points" = "members"."points" + $1 where id = $2',
      bindings: [
        ['$1', 120],
        ['id', 1],
      ],
    });
    const data = { orderId: 7, memberId: 1 };
    expect(of(added, added, { data })[0]).to.match(/about 7, and both made the change update members$/);
    const entry = (at: string) =>
      write({ sql: 'insert into ledger (member, amount, booked_at) values ($1, $2, $3)', bindings: { member: 1, amount: 120, booked_at: at } }); // prettier-ignore
    expect(of(entry('10:00'), entry('10:05'))[0]).to.match(/the change insert into ledger$/);
  });

  it('names the line that added it if both had the same id: the queue had removed the first', () => {
    expect(of(points, points)).to.have.length(1);
    expect(places).to.deep.equal(['src/worker.ts:9']);
    expect(of(points, points, { id: 'evt-e_7001' })[0]).to.contain(
      'both have the same id, which was free again as completed jobs are removed, and the same data',
    );
    expect(places).to.deep.equal(['src/queue.ts:18']);
  });

  it('is silent about other data, failed runs, what may recur, and what can be repeated', () => {
    expect(of(points, points, { other: { ...paid, id: 'e_7002' } }), 'another event').to.deep.equal([]);
    expect(of(points, points, { outcome: 'failed' }), 'a retry').to.deep.equal([]);
    expect(of(points, points, { name: 'order.refunded' })).to.deep.equal([]);
    expect(of(points, {}), 'only one booked').to.deep.equal([]);
    expect(of(points, points, { data: { memberId: 1, plan: 'gold' } }), 'monthly').to.deep.equal([]);
    const runs = add('HINCRBY', 'job:rebuild', 'runs', '1');
    expect(of(runs, runs), 'a count of runs').to.deep.equal([]);
    const set = write({
      sql: 'update members set points = $1 where id = $2',
      bindings: { points: 460, id: 1 },
    });
    expect(of(set, set), 'the same value').to.deep.equal([]);
    const upsert = write({
      sql: 'insert into ledger (event, amount) values ($1, $2) on conflict (event) do update set amount = excluded.amount',
      bindings: { event: 'e_7001', amount: 120 },
    });
    expect(of(upsert, upsert)).to.deep.equal([]);
    const insert = {
      sql: 'insert into lines (order_id, amount) values ($1, $2)',
      bindings: { order_id: 7, amount: 2 },
    };
    const again = write({ sql: 'delete from lines where order_id = $1', bindings: { order_id: 7 } }, insert);
    expect(of(again, again), 'deleted before').to.deep.equal([]);
    const none = write({ ...insert, rows: 0 });
    expect(of(none, none), 'nothing was inserted').to.deep.equal([]);
  });
});
