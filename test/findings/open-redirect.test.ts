import { expect } from 'chai';
import express, { type Request } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding open-redirect', () => {
  const ask = withFindingsApp((app) => {
    app.use(express.urlencoded({ extended: false }));
    app.post('/login', (req: Request<object, unknown, { next: string }>, res) => {
      res.redirect(req.body.next.startsWith('/') ? req.body.next : '/products');
    });
    app.get('/out', (req: Request<object, unknown, unknown, Record<string, string>>, res) => {
      res.redirect(req.query.to ?? req.query.redirect_uri ?? '/');
    });
    app.get('/pay', (req: Request<object, unknown, unknown, Record<string, string>>, res) => {
      res.redirect(`https://pay.example/${req.query.order}`);
    });
  });
  const login = (next: string) => ask('/login', { method: 'POST', body: new URLSearchParams({ next }) });

  it('names the field that chose the other host', async () => {
    for (const next of ['//evil.example/login', '/\\evil.example/login']) {
      const [finding] = (await login(next)).of('open-redirect');
      expect(finding, next).to.include({
        label: 'open redirect',
        broke: 'unseen',
        sentence:
          'The redirect leads to another host, evil.example, which the form’s next names: a link to this address can send a visitor anywhere',
      });
      expect(finding?.place).to.match(/open-redirect\.test\.ts:\d+$/);
    }
    const [query] = (await ask('/out?to=https://evil.example/a')).of('open-redirect');
    expect(query?.sentence).to.contain('which the query’s to names');
  });

  it('ignores paths of its own, hosts that the application names, and addresses that it has to know', async () => {
    expect((await login('/orders?next=//evil.example')).of('open-redirect')).to.deep.equal([]);
    expect((await login('https://evil.example')).of('open-redirect')).to.deep.equal([]);
    for (const path of ['/pay?order=7', '/out?redirect_uri=https://app.example/done'])
      expect((await ask(path)).of('open-redirect'), path).to.deep.equal([]);
  });
});
