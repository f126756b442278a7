import { expect } from 'chai';
import { type AskedQuery, keptQueries } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';
import { cpuMsOf } from '../support/waiting.ts';

describe('finding cleared-early', () => {
  const KEY = 'stall:4:prices';
  const command = (name: string, startMs: number, { hits = null as number | null, key = KEY } = {}) => ({
    system: 'redis',
    command: name,
    key,
    args: [],
    hits,
    asked: hits === null ? null : 1,
    error: null,
    startMs,
    durationMs: 1,
    caller: `src/cache.js:${name === 'DEL' ? 11 : 8}`,
  });
  type Sent = readonly [sql: string, startMs: number, values?: AskedQuery['bindings']];
  const request = (
    token: string,
    startedAt: number,
    { sent = [], items = [] }: { sent?: readonly Sent[]; items?: readonly object[] },
  ) => {
    const database = keptQueries(...sent.map(([sql, , bindings = []]) => ({ sql, bindings })));
    const hasBegun = sent.some(([sql]) => sql === 'begin');
    const queries = database.queries.map((query, at) => ({
      ...query,
      startMs: sent[at]?.[1] ?? 0,
      waitMs: 0,
      transaction: hasBegun ? 1 : null,
      connection: 1,
    }));
    return {
      head: { token, startedAt, process: 'p', method: 'GET', route: '/stalls/:stall/prices', url: '/' },
      kept: { cache: { items }, database: { ...database, queries }, runtime: { startMark: startedAt } },
    };
  };
  const UPDATE = [
    'update prices set cents = $1 where stall_id = $2',
    2,
    { cents: 745, stall_id: 4 },
  ] as const;
  const change = (items: readonly object[], end = 'commit', sent: readonly Sent[] = [UPDATE]) =>
    request('w1', 1000, { sent: [['begin', 1], ...sent, [end, 400]], items });
  const fill = (token: string, startedAt: number, key = KEY) =>
    request(token, startedAt, {
      sent: [['select product, cents from prices where stall_id = $1', 2, { stall_id: 4 }]],
      items: [command('GET', 0, { hits: 0, key }), command('SET', 5, { key })],
    });
  const earlyDelete = [command('DEL', 0)];
  const find = (own: object, others: readonly object[], overlapping: readonly object[] = []) => {
    const { kept, head } = own as { kept: never; head: never };
    return draftsOf('cleared-early', kept, head, { earlier: others, siblings: [], overlapping });
  };

  it('searches for those who stored a thousand keys once', () => {
    const items = (name: string, hits: number | null) =>
      Array.from({ length: 1000 }, (_, at) => command(name, at, { hits, key: `stall:${at}` }));
    const others = ['w1', 'w2'].map((token) => request(token, 500, { items: items('SET', null) }));
    const own = request('r1', 2000, { items: items('GET', 1) });
    expect(cpuMsOf(() => find(own, others))).to.be.lessThan(1500);
  });

  it('says how long before the commit the key was deleted, and who stored the old rows', () => {
    expect(find(change(earlyDelete), [fill('r0', 500, 'stall:7:prices')])[0]).to.include({
      severity: 'warn',
      sentence:
        'DEL of stall:4:prices was sent 400.0 ms before the change of prices was committed: until then, a request reads the old rows and stores them again',
      place: 'src/cache.js:11',
    });
    expect(find(change(earlyDelete), [], [fill('r1', 1100)])[0]).to.include({
      severity: 'bad',
      sentence:
        'DEL of stall:4:prices was sent 400.0 ms before the change of prices was committed: GET /stalls/:stall/prices (r1) read the old rows in between and stored them again',
    });
  });

  it('says of the old value who stored it, and when', () => {
    const read = request('r2', 1600, { items: [command('GET', 1, { hits: 1 })] });
    expect(find(read, [change(earlyDelete), fill('r1', 1100)])[0]).to.include({
      broke: 'response',
      sentence:
        'GET found stall:4:prices as GET /stalls/:stall/prices (r1) had stored it 494.9 ms before, from rows of prices that it read before GET /stalls/:stall/prices (w1) committed its change: the value is from before that change',
      place: 'src/cache.js:11',
    });
    const near: [string, readonly object[]][] = [
      ['stored after the commit', [change(earlyDelete), fill('r1', 1500)]],
      ['of a cache that nobody clears', [change([]), fill('r1', 1100)]],
      ['another key was changed', [change([command('DEL', 0, { key: 'stall:7:prices' })]), fill('r1', 1100)]],
      ['rolled back', [change(earlyDelete, 'rollback'), fill('r1', 1100)]],
    ];
    for (const [what, others] of near) expect(find(read, others), what).to.deep.equal([]);
  });

  it('is silent if the key is deleted after the commit, or is no copy of these rows', () => {
    const filled = fill('r0', 500);
    const token = ['update tokens set used = true where token = $1', 2, { token: '4' }] as const;
    const near: [string, object][] = [
      ['deleted after the commit', change([command('DEL', 402)])],
      ['deleted again', change([command('DEL', 0), command('DEL', 402)])],
      ['stored again', change([command('DEL', 0), command('SET', 402)])],
      ['rolled back', change(earlyDelete, 'rollback')],
      ['nothing fills it from that table', change(earlyDelete, 'commit', [token])],
      ['of another row', change([command('DEL', 0, { key: 'stall:7:prices' })])],
      ['only read', change(earlyDelete, 'commit', [['select 1 from prices where stall_id = $1', 2, { stall_id: 4 }]])],
    ]; // prettier-ignore
    for (const [what, own] of near) expect(find(own, [filled]), what).to.deep.equal([]);
  });
});
