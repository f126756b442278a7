/** Who sends a statement, if all go through one line of the application. */
import { runInThisContext } from 'node:vm';
import { expect } from 'chai';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import type { QueryFact } from '../../app/observe/databases/query-fact.ts';
import { createQueryRecorder } from '../../app/observe/databases/queries.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

describe('the line of a statement', () => {
  const tracker = new ContextTracker();
  const queries = createQueryRecorder({ tracker, findCaller: createCallerFinder() });
  after(() => {
    tracker.close();
  });

  function send(sql: string): void {
    queries.start({ system: 'postgresql', sql, bindings: [], library: 'pg' });
  }

  const shops = (): void => {
    send('select * from shops');
  };
  const users = (): void => {
    send('select * from users');
  };
  const addUser = (): void => {
    send('insert into users default values');
  };

  async function sent(work: () => unknown): Promise<QueryFact[]> {
    const context = new Context({ token: '000001', kind: 'request' });
    await tracker.run(context, async () => {
      await work();
    });
    return [...context.all('query')];
  }

  it('is the line that calls a helper, once it has sent three different statements for two lines', async () => {
    const [first] = await sent(shops);
    expect(first?.through).to.equal(undefined);
    const [again] = await sent(shops);
    expect([again?.caller, again?.through]).to.deep.equal([first?.caller, undefined]);
    await sent(users);
    await sent(addUser);
    expect((await sent(shops))[0]?.through).to.match(/helper-lines/);
    await sent(users);
    const [ofShops] = await sent(shops);
    const [ofUsers] = await sent(async () => {
      await Promise.resolve();
      users();
    });
    const helper = first?.caller ?? '';
    expect([ofShops?.through, ofUsers?.through]).to.deep.equal([helper, helper]);
    const places = [helper, ofShops?.caller, ofUsers?.caller].map((place) => Number(place?.split(':')[1]));
    expect(places[1]).to.equal((places[0] ?? 0) + 4);
    expect(places[2]).to.equal((places[0] ?? 0) + 7);
  });

  it('is the line that calls a helper which calls another one', async () => {
    const nested = createQueryRecorder({ tracker, findCaller: createCallerFinder() });
    const all = (sql: string): void => {
      nested.start({ system: 'mysql', sql, bindings: [], library: 'mysql2' });
    };
    const one = (sql: string): void => {
      all(sql);
    };
    const shares = (): void => { one('select * from shares'); all('update shares'); }; // prettier-ignore
    const files = (): void => { one('select * from files'); one('select * from teams'); }; // prettier-ignore
    for (const work of [shares, files, shares, files, shares, files]) await sent(work);
    const [first, second] = await sent(shares);
    expect(first?.through).to.equal(second?.through);
    expect(first?.caller).to.equal(second?.caller);
  });

  it('is the line that calls a helper, however many frames of a driver are between it and the statement', async () => {
    const deep = createQueryRecorder({ tracker, findCaller: createCallerFinder() });
    // Without own places, as those of a driver.
    const driver = runInThisContext(
      '(function down(left, then) { return left === 0 ? then() : down(left - 1, then); })',
      'node:driver',
    ) as (left: number, then: () => void) => void;
    const query = (sql: string): void => {
      driver(12, deep.start.bind(null, { system: 'postgresql', sql, bindings: [], library: 'pg' }));
    };
    const shopsOf = (): void => { query('select * from shops'); }; // prettier-ignore
    const usersOf = (): void => { query('select * from users'); query('delete from users'); }; // prettier-ignore
    for (const work of [shopsOf, usersOf, shopsOf, usersOf]) await sent(work);
    const [ofShops] = await sent(shopsOf);
    const [ofUsers] = await sent(usersOf);
    expect(ofShops?.caller).to.match(/helper-lines\.test\.ts:\d+$/);
    expect(ofShops?.caller).not.to.equal(ofUsers?.caller);
  });

  it('is that of a line which sends several statements itself', async () => {
    const load = (): void => {
      for (const sql of ['select 1', 'select 2', 'select 3']) queries.start({ system: 'postgresql', sql, bindings: [], library: 'pg' }); // prettier-ignore
    };
    await sent(load);
    for (const fact of await sent(load)) expect(fact.through).to.equal(undefined);
  });

  it('is that of the helper if nothing else of the application called it', async () => {
    const alone = (sql: string): (() => void) => queries.start.bind(null, { system: 'postgresql', sql, bindings: [], library: 'pg' }); // prettier-ignore
    for (const sql of ['a', 'b', 'c', 'd']) {
      const [fact] = await sent(alone(sql));
      expect(fact?.caller).to.match(/helper-lines\.test\.ts:\d+$/);
    }
  });
});
