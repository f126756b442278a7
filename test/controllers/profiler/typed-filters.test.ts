import { expect } from 'chai';
import type { FilterValues } from '../../../app/controllers/profiler/list/typed-filters.ts';
import { readFilters } from '../../../app/controllers/profiler/list/filters.ts';
// @ts-expect-error A script of the pages has no types.
import { FILTERS as COMPLETED } from '../../../public/profiler/find.js';
import { explainWords, writeTypedFilters } from '../../../app/controllers/profiler/list/typed-filters.ts';

const valuesOf = (q: string): FilterValues => readFilters(new URLSearchParams({ q })).values;

describe('filters typed into the search box', () => {
  for (const [typed, values] of [
    ['status:5xx route:/orders time>500', { status: '5xx', route: '/orders', over: '500' }],
    ['slow>500 HAS:n+1 since:10m', { over: '500', has: 'n+1', since: '10m' }],
    ['queries>=20 method:post /orders?page=2', { queries: '20', method: 'post', q: '/orders?page=2' }],
    ['connection  status:503  refused', { status: '503', q: 'connection refused' }],
    ['text:"could not connect" finding:"slow call"', { text: 'could not connect', mark: 'slow call' }],
    [
      'kind:job process:web.1 ip:::1 token:ABCDEF',
      { kind: 'job', process: 'web.1', ip: '::1', token: 'ABCDEF' },
    ],
    [
      'from:2026-11-20T14:32 until:"2026-11-20 15:00"',
      { from: '2026-11-20T14:32', until: '2026-11-20 15:00' },
    ],
    ['status>=400 time<50 queries<5', { status: '>=400', under: '50', fewer: '5' }],
    ['status:404,500 queries>4 queries<=9', { status: '404,500', queries: '5', fewer: '10' }],
    ['-status:200 slow -route:"/a b"', { not: 'status:200 route:"/a b"', q: 'slow' }],
    // What only looks like a filter.
    ['-nothing --status', { q: '-nothing --status' }],
    ['Error: could not connect', { q: 'Error: could not connect' }],
    ['http://localhost:3000/orders', { q: 'http://localhost:3000/orders' }],
    ['status: 5xx', { q: 'status: 5xx' }],
    ['"status:5xx and  more"', { q: '"status:5xx and  more"' }],
    ['a > b  and time>', { q: 'a > b  and time>' }],
    ['constructor:x __proto__:y', { q: 'constructor:x __proto__:y' }],
  ] as [string, FilterValues][]) /* prettier-ignore */ {
    it(`reads ${typed}`, () => {
      expect(valuesOf(typed)).to.deep.equal(values);
    });
  }

  for (const query of [
    'status=5xx&route=/orders&over=500&text=timeout',
    'url=/orders&method=POST&since=1h',
    'url=orders&text=could not connect&mark=slow call',
    'text=status:5xx&has=n%2B1',
    'text=/etc&queries=3',
    'status=>=400&under=50&fewer=5&not=status:404 route:"/a b"',
    'q=two words&kind=all&process=web.1&ip=::1&token=abcdef&from=2026-11-20&until=2026-11-21',
  ]) {
    it(`are written so that they read the same: ${query}`, () => {
      const { values, query: wanted } = readFilters(new URLSearchParams(query), 0);
      const again = readFilters(new URLSearchParams({ q: writeTypedFilters(values) }), 0);
      expect(again.query).to.deep.equal(wanted);
    });
  }

  it('are refused like those of the form', () => {
    const problemOf = (text: string): string => {
      try {
        readFilters(new URLSearchParams(text));
        return 'none';
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(problemOf('q=status:teapot')).to.match(/^The filter "status" is "teapot"; give /);
    expect(problemOf('q=status:5xx status:404')).to.include('"status" is given more than once');
    expect(problemOf('q=status:5xx&status=404')).to.include('"status" is given more than once');
    expect(problemOf(`q=since:${'9'.repeat(9)}d`)).to.include('give a span such as');
  });

  it('are explained where a word looks like one', () => {
    expect(explainWords('stauts:500 slow')).to.deep.equal([
      '“stauts:” is no filter, so “stauts:500” was searched for as text. Did you mean “status:”?',
    ]);
    expect(explainWords('foo:bar')).to.deep.equal([
      '“foo:” is no filter, so “foo:bar” was searched for as text.',
    ]);
    expect(explainWords('status: 5xx')).to.deep.equal([
      '“status:” needs a value; it was searched for as text.',
    ]);
    expect(explainWords('http://localhost/ could not 12:30 /orders?a:b')).to.deep.equal([]);
  });

  it('are those that the page completes', () => {
    for (const [name, values] of Object.entries(COMPLETED as Record<string, string[]>)) {
      for (const value of values.length > 0 ? values : ['2026-11-20'])
        expect(valuesOf(name + value).q, name + value).to.equal(undefined);
    }
  });

  it('take linear time', () => {
    const long = 'status:"'.repeat(240);
    expect(valuesOf(long)).to.deep.equal({ q: long });
  });
});
