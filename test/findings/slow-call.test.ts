import { expect } from 'chai';
import type { HttpClientData } from '../../app/panels/http-client/data.ts';
import { type Asked, withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('finding slow-call', () => {
  const upstream = withUpstream((req, res) => {
    if (req.url === '/trickle') {
      res.write('{');
      setTimeout(() => res.end('}'), 150);
    } else setTimeout(() => res.end('{}'), req.url === '/slow' ? 150 : 5);
  });
  const callOf = ({ profile }: Asked) => (profile.panels.http_client?.data as HttpClientData).calls[0]!;
  const ask = withFindingsApp((app) => {
    app.get('/call/:path', async (req, res) => {
      await (await fetch(`${upstream()}/${req.params.path}`)).text();
      res.send('done');
    });
    app.get('/beside', async (_req, res) => {
      const began = performance.now();
      const answer = await (await fetch(`${upstream()}/slow`)).text();
      // A fifth of the request, however long it took.
      await new Promise((done) => setTimeout(done, 4 * (performance.now() - began)));
      res.send(answer);
    });
  });

  it('says whether the response started late or took long to download', async () => {
    const [slow] = (await ask('/call/slow')).of('slow-call');
    expect(slow).to.include({ label: 'slow call', severity: 'warn', panel: 'http_client', anchor: 'c1' });
    expect(slow?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/slow took \d+\.\d+ m?s \(<?\d+ % of the request\), \d+\.\d+ m?s of it waiting for the response$/,
    );
    const [trickle] = (
      await ask.when('/call/trickle', (asked) => {
        const { durationMs, headersMs } = callOf(asked);
        return (durationMs ?? 0) > 3 * (headersMs ?? 0);
      })
    ).of('slow-call');
    expect(trickle?.sentence).to.contain(' of it downloading the response');
  });

  it('ignores a quick call, and one that is a small share of the request', async () => {
    for (const path of ['/call/quick', '/beside']) {
      const { of, profile } = await ask.when(
        path,
        (asked) => path === '/beside' || (callOf(asked).durationMs ?? 0) < 100,
      );
      expect(profile.panels.http_client?.summary?.count).to.equal(1);
      expect(of('slow-call'), path).to.deep.equal([]);
    }
  });
});
