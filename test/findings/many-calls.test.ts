import type { HttpClientData } from '../../app/panels/http-client/data.ts';
import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('finding many-calls', () => {
  const upstream = withUpstream((_req, res) => setTimeout(() => res.end('{}'), 5));
  const ask = withFindingsApp((app) => {
    const price = async (id: number): Promise<string> =>
      (await fetch(`${upstream()}/prices/${id}?in=EUR`)).text();
    const ids = [1, 2, 3, 4, 5, 6];
    app.get('/in-turn', async (_req, res) => {
      for (const id of ids) await price(id);
      res.send('done');
    });
    app.get('/at-once', async (_req, res) => {
      await Promise.all(ids.map(price));
      res.send('done');
    });
    app.get('/few', async (_req, res) => {
      for (const id of ids.slice(0, 4)) await price(id);
      res.send('done');
    });
    app.get('/different', async (_req, res) => {
      for (const path of ['/users', '/orders', '/prices', '/news', '/rates', '/stock'])
        await (await fetch(`${upstream()}${path}`)).text();
      res.send('done');
    });
  });

  it('reports a loop of calls, as bad if each waits for the previous one', async () => {
    const { of, profile } = await ask('/in-turn');
    const [inTurn] = of('many-calls');
    expect(inTurn).to.include({ label: 'many calls', severity: 'bad', panel: 'http_client', anchor: 'c1' });
    expect(inTurn?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/prices\/1 and 5 similar calls ran one after the other and took \d+\.\d+ m?s \(<?\d+ % of the request\)$/,
    );
    const [first] = (profile.panels.http_client?.data as HttpClientData).calls;
    expect(inTurn)
      .to.deep.include({ place: first?.caller, path: first?.path })
      .and.have.property('path')
      .of.length(1);
    const [atOnce] = (await ask('/at-once')).of('many-calls');
    expect(atOnce?.severity).to.equal('warn');
    expect(atOnce?.sentence).not.to.contain('one after the other');
  });

  it('ignores four calls, and many calls to different endpoints', async () => {
    for (const path of ['/few', '/different']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.http_client?.summary?.count).to.be.above(3);
      expect(of('many-calls'), path).to.deep.equal([]);
    }
  });
});
