import { expect } from 'chai';
import { fetchesOf, foldVisits, type Visit } from '../../../app/controllers/profiler/list/visits.ts';
import type { ProfileIndex } from '../../../app/profiler/store/profile-index.ts';
import { itemOf } from '../../storage/store-contract.ts';

const START = 1_700_000_000_000;

/** Rows by their seconds, oldest first. */
function rowsOf(...given: (Partial<ProfileIndex> & { at: number })[]): ProfileIndex[] {
  return given
    .map(
      ({ at, ...changes }, i) => itemOf(i, { startedAt: START + at * 1000, durationMs: 5, ...changes }).row,
    )
    .reverse();
}

const urls = (rows: readonly ProfileIndex[]): string[] => rows.map(({ url }) => url);
const shapeOf = ({ head, redirects, fetches, alike }: Visit): unknown[] => [
  head.url,
  urls(redirects),
  urls(fetches),
  urls(alike),
];
const shapes = (rows: readonly ProfileIndex[]): unknown[] => foldVisits(rows).visits.map(shapeOf);

const page = (at: number, url: string): Partial<ProfileIndex> & { at: number } => ({
  at,
  url,
  dest: 'document',
});
const fetched = (
  at: number,
  url: string,
  referrer: string | null,
): Partial<ProfileIndex> & { at: number } => ({ at, url, referrer, dest: 'empty' });

const TRACE = '0af7651916cd43dd8448eb211c80319c';
/** A request of a trace, made by the one with this number. */
const madeBy = (number: number, traceId = TRACE): Pick<ProfileIndex, 'traceId' | 'callerSpan'> => ({
  traceId,
  callerSpan: `${number.toString(16).padStart(6, '0')}0123456789`,
});

describe('visits', () => {
  it('fold what a request called itself under it, over several steps, also within one millisecond', () => {
    const rows = rowsOf(
      { at: 0, url: '/checkout', traceId: TRACE },
      { at: 0.1, url: '/api/prices', ...madeBy(0) },
      { at: 0.1, url: '/api/rates', ...madeBy(1) },
      { at: 0.2, url: '/other' },
    );
    for (const order of [rows, [rows[0], rows[2], rows[1], rows[3]] as ProfileIndex[]]) {
      const { visits } = foldVisits(order);
      expect(visits.map(({ head, calls }) => [head.url, urls(calls)])).to.deep.equal([
        ['/other', []],
        ['/checkout', ['/api/prices', '/api/rates']],
      ]);
    }
  });

  it('leave alone what has nothing to do with each other, newest first', () => {
    expect(shapes(rowsOf(page(0, '/a'), page(1, '/b'), { at: 2, url: '/c' }))).to.deep.equal([
      ['/c', [], [], []],
      ['/b', [], [], []],
      ['/a', [], [], []],
    ]);
  });

  it('fold what a redirect leads to under it, also over several steps', () => {
    const rows = rowsOf(
      { at: 0, url: '/login', method: 'POST', status: 302, location: '/account' },
      { at: 0.1, url: '/account', status: 302, location: '/account/1' },
      { at: 0.2, url: '/account/1', dest: 'document' },
      fetched(0.3, '/api/cart', '/account/1'),
    );
    expect(shapes(rows)).to.deep.equal([['/login', ['/account', '/account/1'], ['/api/cart'], []]]);
  });

  it('take a redirect for followed once, soon, and by the same client', () => {
    const redirect = { at: 0, url: '/old', status: 301, location: '/new' };
    expect(shapes(rowsOf(redirect, page(1, '/new'), page(2, '/new')))).to.have.length(2);
    expect(shapes(rowsOf(redirect, page(60, '/new')))).to.have.length(2);
    expect(shapes(rowsOf(redirect, { ...page(1, '/new'), clientAddress: '10.0.0.9' }))).to.have.length(2);
  });

  it('fold what a page asks for under the latest request for that page', () => {
    const rows = rowsOf(
      page(0, '/orders?tab=1'),
      page(1, '/orders?tab=1'),
      page(2, '/other'),
      fetched(3, '/api/a', '/orders?tab=1'),
      fetched(4, '/api/b', '/orders?tab=1'),
    );
    expect(shapes(rows)).to.deep.equal([
      ['/other', [], [], []],
      ['/orders?tab=1', [], ['/api/a', '/api/b'], []],
      ['/orders?tab=1', [], [], []],
    ]);
  });

  it('leave a subresource alone whose page is not there, long ago, or of another client', () => {
    expect(shapes(rowsOf(fetched(1, '/api', '/gone')))).to.have.length(1);
    expect(shapes(rowsOf(page(0, '/a'), fetched(90, '/api', '/a')))).to.have.length(2);
    expect(
      shapes(rowsOf(page(0, '/a'), { ...fetched(1, '/api', '/a'), clientAddress: '10.0.0.9' })),
    ).to.have.length(2);
  });

  it('take the latest document for the page where no referrer is sent, and soon only', () => {
    expect(
      shapes(rowsOf(page(0, '/a'), { at: 0.5, url: '/from-a-program' }, fetched(1, '/app.css', null))),
    ).to.deep.equal([
      ['/from-a-program', [], [], []],
      ['/a', [], ['/app.css'], []],
    ]);
    expect(shapes(rowsOf(page(0, '/a'), fetched(20, '/poll', null)))).to.have.length(2);
  });

  it('follow a page that is still open for as long as it asks, until it is loaded anew', () => {
    const [head] = rowsOf(page(0, '/a')) as [ProfileIndex];
    const rows = rowsOf(
      fetched(-5, '/before', '/a'),
      page(0, '/a'),
      fetched(7200, '/api/late', '/a'),
      { ...fetched(7201, '/api/moved', '/a'), status: 302, location: '/api/new' },
      fetched(7202, '/api/new', '/a'),
      { ...fetched(7203, '/api/other-client', '/a'), clientAddress: '10.0.0.9' },
      fetched(7204, '/poll', null),
      page(7205, '/a'),
      fetched(7206, '/api/of-the-new-one', '/a'),
    );
    const found = fetchesOf(
      { ...head, token: 'ffffff' },
      rows.filter(({ url }, i) => !(url === '/a' && i === 7)),
    );
    expect(urls(found)).to.deep.equal(['/api/late', '/api/moved', '/api/new', '/poll']);
  });

  it('hide no finding in red among requests that are alike', () => {
    const poll = (at: number, marks: ProfileIndex['marks'] = []): Partial<ProfileIndex> & { at: number } => ({
      at,
      url: '/poll',
      marks,
      mark: marks[0]?.label ?? null,
    });
    const slow = poll(1, [{ label: 'slow', severity: 'warn' }]);
    expect(shapes(rowsOf(poll(0), slow, poll(2)))).to.have.length(1);
    expect(shapes(rowsOf(poll(0), poll(1, [{ label: 'N+1', severity: 'bad' }]), poll(2)))).to.have.length(3);
  });

  it('fold the same request again and again into the newest', () => {
    const poll = (at: number, status = 200): Partial<ProfileIndex> & { at: number } => ({
      at,
      url: '/poll',
      status,
    });
    const { visits } = foldVisits(rowsOf(poll(0), poll(1), poll(2), poll(3, 500), poll(4), poll(5)));
    expect(visits.map(({ head, alike }) => [head.status, alike.length])).to.deep.equal([
      [200, 0],
      [200, 0],
      [500, 0],
      [200, 2],
    ]);
    expect(visits.at(-1)?.head.startedAt).to.equal(START + 2000);
  });
});
