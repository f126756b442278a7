import { expect } from 'chai';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';
import { sentencesOf } from '../support/find-by-rule.ts';

const call = (url: string, startMs: number, more: object = {}) => ({
  method: 'GET',
  url: `http://a.test${url}`,
  status: 200,
  error: null,
  startMs,
  durationMs: 50,
  requestHeaders: [],
  caller: 'quote.ts:3',
  ...more,
});

function sentences(calls: object[], more: object = {}): string[] {
  const kept = { http_client: { calls }, ...more };
  const head = { durationMs: 200, url: '/quote?user=17' } as ProfileHead;
  return sentencesOf('sequential-awaits', kept, head);
}

describe('finding sequential-awaits, of calls', () => {
  const upstream = withUpstream((_req, res) => {
    setTimeout(() => res.end('{}'), 40);
  });
  const ask = withFindingsApp((app) => {
    const get = async (path: string): Promise<string> => (await fetch(`${upstream()}${path}`)).text();
    app.get('/in-turn', async (_req, res) => {
      await get('/rates');
      await get('/taxes');
      res.send('x');
    });
    app.get('/together', async (_req, res) => {
      await Promise.all([get('/rates'), get('/taxes')]);
      res.send('x');
    });
  });

  it('counts calls that waited for each other', async () => {
    const [finding] = (await ask.when('/in-turn', ({ of }) => of('sequential-awaits').length > 0)).of(
      'sequential-awaits',
    );
    expect(finding).to.include({ label: 'sequential calls', severity: 'info', anchor: 'c1' });
    expect(finding?.sentence).to.match(
      /^2 calls, from GET 127\.0\.0\.1:\d+\/rates on, ran one after the other but may be independent: \d+\.\d ms in total, longest \d+\.\d ms$/,
    );
    expect(finding?.place).to.match(/sequential-calls\.test\.ts:\d+$/);
    expect((await ask('/together')).of('sequential-awaits')).to.deep.equal([]);
  });

  it('counts the reads between them', () => {
    const query = {
      statement: 0,
      startMs: 51,
      waitMs: 0,
      durationMs: 48,
      transaction: null,
      group: null,
      error: null,
    };
    const database = { statements: [{ sql: 'select 1 from a' }], queries: [query] };
    expect(sentences([call('/rates', 0), call('/taxes', 100)], { database })[0]).to.match(/^2 calls and 1 read, from GET a\.test\/rates on/); // prettier-ignore
  });

  it('ignores calls that may need what an earlier one returned', () => {
    expect(sentences([call('/rates', 0), call('/users/17', 51)])).to.have.length(1);
    expect(sentences([call('/rates', 0), call('/users/18', 51)])).to.deep.equal([]);
    const requestHeaders = [{ name: 'Authorization', value: 'x' }];
    expect(sentences([call('/token', 0), call('/user', 51, { requestHeaders })])).to.deep.equal([]);
  });

  it('ignores writes, pauses and what ran together', () => {
    expect(sentences([call('/rates', 0), call('/taxes', 51, { method: 'POST' })])).to.deep.equal([]);
    expect(sentences([call('/rates', 0), call('/taxes', 90)])).to.deep.equal([]);
    expect(sentences([call('/rates', 0), call('/taxes', 20)])).to.deep.equal([]);
    const beside = call('/news', 0, { durationMs: 100 });
    const pair = [call('/rates', 20), call('/taxes', 71)];
    expect(sentences([beside, ...pair]), 'a limit').to.deep.equal([]);
    expect(sentences([{ ...beside, caller: 'news.ts:8' }, ...pair])).to.have.length(1);
  });
});
