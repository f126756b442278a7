import { expect } from 'chai';
import {
  isTokenAlone,
  readFilters,
  readOne,
  withFilters,
} from '../../../app/controllers/profiler/list/filters.ts';
import { HindsightError } from '../../../app/errors.ts';
import type { ProfileQuery } from '../../../app/profiler/store/storage.ts';

const queryOf = (text: string): ProfileQuery => readFilters(new URLSearchParams(text)).query;
const at = (text: string): number => Date.parse(text);

function problemOf(text: string): string {
  try {
    readFilters(new URLSearchParams(text));
  } catch (error) {
    if (!(error instanceof HindsightError)) throw error;
    expect(error.status, text).to.equal(400);
    return error.message;
  }
  return 'none';
}

describe('filters of the list', () => {
  it('read each parameter', () => {
    expect(
      queryOf(
        'ip=1.2.3.4&method=post&status=404&url=/a%25b&token=ABCDEF&over=1.5&has=error&kind=all&process=web.1&sort=time&order=asc&limit=10&page=3',
      ),
    ).to.deep.equal({
      clientAddress: '1.2.3.4',
      method: 'post',
      status: [{ from: 404, to: 404 }],
      url: '/a%b',
      token: 'abcdef',
      overMs: 1.5,
      hasError: true,
      kinds: ['request', 'error_page', 'profiler', 'job', 'command'],
      process: 'web.1',
      sort: 'durationMs',
      descending: false,
      limit: 10,
      offset: 20,
    });
  });

  it('take a class of statuses in any spelling, lists and comparisons', () => {
    for (const text of ['4xx', '4XX', '4'])
      expect(queryOf(`status=${text}`).status, text).to.deep.equal([{ from: 400, to: 499 }]);
    const both = [{ from: 404, to: 404 }, { from: 500, to: 599 }]; // prettier-ignore
    expect(queryOf('status=404, 5xx').status).to.deep.equal(both);
    for (const [text, from, to] of [
      ['>=400', 400, 599],
      ['>4xx', 500, 599],
      ['<400', 100, 399],
      ['<=404', 100, 404],
    ])
      // prettier-ignore
      expect(queryOf(`status=${text}`).status, String(text)).to.deep.equal([{ from, to }]);
  });

  it('leave out what negated filters find', () => {
    expect(queryOf('not=status:200 route:"/a b"').not).to.deep.equal([
      { status: [{ from: 200, to: 200 }] },
      { route: '/a b' },
    ]);
    for (const text of ['since:1h', 'has:pin', 'kind:job', 'status:teapot', 'words'])
      expect(() => queryOf(`not=${text}`), text).to.throw('The filter "');
  });

  it('include the day that "until" names, and the minute', () => {
    expect(queryOf('until=2026-11-20').until).to.equal(at('2026-11-21T00:00Z'));
    expect(queryOf('until=2026-11-20T14:32').until).to.equal(at('2026-11-20T14:33Z'));
    expect(queryOf('until=2026-11-20T14:32:07').until).to.equal(at('2026-11-20T14:32:08Z'));
    expect(queryOf('from=2026-11-20').from).to.equal(at('2026-11-20T00:00Z'));
  });

  it('read moments in UTC, or with an offset, encoded or not', () => {
    expect(queryOf('from=2026-11-20+14:32').from).to.equal(at('2026-11-20T14:32Z'));
    expect(queryOf('from=2026-11-20T14:32%2B02:00').from).to.equal(at('2026-11-20T12:32Z'));
    expect(queryOf('from=2026-11-20T14:32+02:00').from).to.equal(at('2026-11-20T12:32Z'));
  });

  it('take what is empty, or unknown, for absent', () => {
    expect(queryOf('ip=&status=&page=&foo=bar&foo=baz&x[y]=1')).to.deep.equal(queryOf(''));
  });

  it('search what was recorded for what was typed at the top, the URL where it looks like one', () => {
    expect(queryOf('q=checkout')).to.include({ text: 'checkout' });
    expect(queryOf('q=/checkout?a=1%23b')).to.include({ url: '/checkout?a=1' });
    expect(queryOf('q=https://shop.example:8443/checkout')).to.include({ url: '/checkout' });
    expect(queryOf('q=x&text=y').text).to.equal('y');
    expect(queryOf('q="nothing sold"').text).to.equal('nothing sold');
    expect(queryOf('q="status:5xx" now').text).to.equal('status:5xx now');
    expect(queryOf('q="id":1').text).to.equal('"id":1');
  });

  it('leave assets of pages out, unless something asks for certain requests', () => {
    for (const text of ['', 'status=200', 'since=1h']) expect(queryOf(text).isAsset, text).to.equal(false);
    for (const text of ['url=/shop.css', 'q=shop', 'kind=request', 'kind=all', 'route=/', 'token=abcdef'])
      expect(queryOf(text), text).to.not.have.property('isAsset');
    expect(queryOf('kind=asset')).to.deep.include({ kinds: ['request'], isAsset: true });
  });

  it('read what a request has, and how many', () => {
    expect(queryOf('has=no-error').hasError).to.equal(false);
    expect(queryOf('has=finding').hasFinding).to.equal(true);
    expect(queryOf('has=n%2B1').mark).to.equal('N+1');
    expect(queryOf('has=pin').pinned).to.equal(true);
    expect(queryOf('mark=slow&queries=7&route=/a')).to.include({ mark: 'slow', minQueries: 7, route: '/a' });
  });

  it('count "since" back from now, and take the later of it and "from"', () => {
    const now = at('2026-11-20T12:00Z');
    const from = (text: string): number | undefined => readFilters(new URLSearchParams(text), now).query.from;
    expect(from('since=15m')).to.equal(at('2026-11-20T11:45Z'));
    expect(from('since=all')).to.equal(undefined);
    expect(from('since=90m')).to.equal(at('2026-11-20T10:30Z'));
    expect(from('q=since:2D')).to.equal(at('2026-11-18T12:00Z'));
    expect(from('since=1h&from=2026-11-20')).to.equal(at('2026-11-20T11:00Z'));
    expect(from('since=7d&from=2026-11-20')).to.equal(at('2026-11-20T00:00Z'));
  });

  it('bound the size and depth of a page', () => {
    expect(queryOf('limit=99999999').limit).to.equal(200);
    expect(queryOf('page=99999999999').offset).to.be.at.most(1_000_000);
  });

  for (const text of [
    'limit=abc',
    'limit=0',
    'limit[]=1',
    'page=x',
    'page=0',
    'status=teapot',
    'status=600',
    'from=garbage',
    'from=2026-02-30',
    'until=yesterday',
    'until=2026-11-20T25:00',
    'over=-1',
    'over=1e999',
    'has=everything',
    'since=__proto__',
    'queries=-1',
    'kind=__proto__',
    'sort=toString',
    'order=up',
    'url[a][b]=1',
    `url=${'x'.repeat(3000)}`,
  ]) /* prettier-ignore */ {
    it(`refuse ${text.slice(0, 40)} with a sentence`, () => {
      expect(problemOf(text)).to.match(/^The filter "[a-z_]+" .+\.$/);
    });
  }

  it('survive anything else', () => {
    for (const text of [
      'url=%',
      'url=%00',
      'method=%F0%9F%98%80',
      'ip=%2527',
      'q=\ud800',
      'token=zz',
      'process=%0a',
      '[]=1',
      '=1',
      '&&&',
    ])
      expect(problemOf(text), text).to.equal('none');
  });

  it('know a token that stands alone', () => {
    const alone = (text: string): boolean => isTokenAlone(readFilters(new URLSearchParams(text)));
    expect([
      alone('token=abcdef'),
      alone('token=abcdef&limit=10&ip='),
      alone('token=abcdef&ip=1'),
      alone(''),
    ]).to.deep.equal([true, true, false, false]);
  });

  it('make addresses that show the same with some changed', () => {
    const { values } = readFilters(new URLSearchParams('page=3&status=4xx&sort=time'));
    const changed = new URLSearchParams(
      Object.entries(withFilters(values, { page: undefined, sort: 'at' })).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    );
    expect(changed.toString()).to.equal('status=4xx&sort=at');
  });

  it('read one parameter of any name', () => {
    expect(readOne(new URLSearchParams('panel=logs'), 'panel')).to.equal('logs');
    expect(readOne(new URLSearchParams('panel='), 'panel')).to.equal('');
    expect(readOne(new URLSearchParams(''), 'panel')).to.equal(null);
    expect(() => readOne(new URLSearchParams('panel[]=x'), 'panel')).to.throw(HindsightError);
  });
});
