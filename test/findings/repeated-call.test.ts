import { expect } from 'chai';
import { get } from 'node:http';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('finding repeated-call', () => {
  let asked = 0;
  const upstream = withUpstream((req, res) => {
    if (/typed|counted/.test(req.url ?? '')) res.setHeader('content-type', 'application/json');
    const body = req.url === '/counted' ? JSON.stringify({ asked: ++asked }) : '{}';
    if (req.url === '/longer') setTimeout(() => res.end('.'.repeat(++asked)), 5);
    else setTimeout(() => res.end(body), 5);
  });
  const ask = withFindingsApp((app) => {
    const call = async (path: string, init: RequestInit = {}): Promise<string> =>
      (await fetch(`${upstream()}${path}`, init)).text();
    app.get('/twice', async (_req, res) => {
      await call('/rates?in=EUR');
      await call('/rates?in=EUR');
      res.send('done');
    });
    app.get('/at-once', async (_req, res) => {
      await Promise.all([call('/rates'), call('/rates'), call('/rates')]);
      res.send('done');
    });
    const read = (path: string): Promise<void> =>
      new Promise((resolve, reject) => {
        get(`${upstream()}${path}`, (response) => response.resume().once('end', resolve)).once(
          'error',
          reject,
        );
      });
    app.post('/notify/:times', async (req, res) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
      const body = (n: number): string =>
        JSON.stringify({ to: 'a', n: req.query.other === undefined ? 0 : n });
      await Promise.all(
        Array.from({ length: Number(req.params.times) }, (_, n) =>
          call('/messages', { ...init, body: body(n) }),
        ),
      );
      res.send('sent');
    });
    app.get('/same', async (_req, res) => {
      for (let index = 0; index < 3; index++) await read('/typed');
      res.send('done');
    });
    app.get('/other', async (_req, res) => {
      for (let index = 0; index < 3; index++) await read('/counted');
      res.send('done');
    });
    app.get('/longer', async (_req, res) => {
      for (let index = 0; index < 3; index++) await read('/longer');
      res.send('done');
    });
    app.get('/changed', async (_req, res) => {
      await call('/cart');
      await call('/cart/items', { method: 'POST' });
      await call('/cart');
      res.send('done');
    });
    app.get('/as-others', async (_req, res) => {
      await call('/me', { headers: { authorization: 'Bearer one' } });
      await call('/me', { headers: { authorization: 'Bearer two' } });
      await call('/me?page=2', { headers: { authorization: 'Bearer two' } });
      res.send('done');
    });
  });

  it('reports a repeated call', async () => {
    const [finding] = (await ask('/twice')).of('repeated-call');
    expect(finding).to.include({ label: 'repeated call', severity: 'warn', anchor: 'c2' });
    expect(finding?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/rates was called 2 times with the same address; the repeats took /,
    );
    expect((await ask('/at-once')).of('repeated-call')[0]?.sentence).to.contain('3 times with the same address at the same time'); // prettier-ignore
  });

  it('says that the responses were the same, and reports nothing where they differ', async () => {
    expect((await ask('/same')).of('repeated-call')[0]?.sentence).to.contain(
      '3 times with the same address and got the same response; the repeats',
    );
    // The body of the second has no type, and is not recorded.
    for (const path of ['/other', '/longer']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.http_client?.summary?.count).to.equal(3);
      expect(of('repeated-call')).to.deep.equal([]);
    }
  });

  it('reports nothing if something was sent in between, or credentials or address differ', async () => {
    for (const path of ['/changed', '/as-others']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.http_client?.summary?.count).to.equal(3);
      expect(of('repeated-call'), path).to.deep.equal([]);
    }
  });

  it('tells of what was sent three times with the same body', async () => {
    const ask3 = (path: string) => ask(path, { method: 'POST' });
    const [finding, ...others] = (await ask3('/notify/3')).of('sent-repeatedly');
    expect(others).to.deep.equal([]);
    expect(finding).to.include({ label: 'sent repeatedly', severity: 'bad', anchor: 'c2' });
    expect(finding?.sentence).to.match(
      /^POST 127\.0\.0\.1:\d+\/messages was sent 3 times with the same body(?: at the same time)?, and succeeded each time$/,
    );
    expect((await ask3('/notify/2')).of('sent-repeatedly'), 'twice').to.deep.equal([]);
    expect((await ask3('/notify/3?other')).of('sent-repeatedly'), 'other bodies').to.deep.equal([]);
  });
});
