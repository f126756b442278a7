import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('finding retried-call', () => {
  let asked = 0;
  const upstream = withUpstream((req, res) => {
    asked++;
    res.statusCode = req.url === '/down' || (req.url === '/flaky' && asked < 3) ? 503 : 200;
    setTimeout(() => res.end('{}'), 5);
  });
  const ask = withFindingsApp((app) => {
    app.get('/try/:path', async (req, res) => {
      asked = 0;
      for (let tries = 0; tries < 3; tries++) {
        const answer = await fetch(`${upstream()}/${req.params.path}`);
        await answer.text();
        if (answer.ok) break;
      }
      res.send('done');
    });
    app.get('/at-once', async (_req, res) => {
      await Promise.all([1, 2].map(async () => (await fetch(`${upstream()}/down`)).text()));
      res.send('done');
    });
  });

  it('tells the tries, what they were answered and whether they helped', async () => {
    const [flaky] = (await ask('/try/flaky')).of('retried-call');
    expect(flaky).to.include({ label: 'retried', severity: 'warn', panel: 'http_client', anchor: 'c1' });
    expect(flaky?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/flaky was tried 3 times \(503, 503, 200\), the last one helped: \d/,
    );
    const [down] = (await ask('/try/down')).of('retried-call');
    expect(down?.sentence).to.contain(
      'was tried 3 times (503, 503, 503), none helped, and the answer was 200: ',
    );
  });

  it('says nothing of one try, nor of calls that failed side by side', async () => {
    for (const path of ['/try/fine', '/at-once']) expect((await ask(path)).of('retried-call'), path).to.deep.equal([]); // prettier-ignore
  });
});
