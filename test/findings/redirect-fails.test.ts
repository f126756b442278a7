import { expect } from 'chai';
import express from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding redirect-fails', () => {
  const ask = withFindingsApp((app) => {
    app.use(express.json());
    app.use('/secure', function forceHttps(req, res, next) {
      if (!req.secure) res.redirect(301, `https://${req.headers.host ?? ''}${req.originalUrl}`);
      else next();
    });
    app.use('/login', function requireLogin(req, res) {
      res.redirect(`/login?next=${encodeURIComponent(req.originalUrl)}`);
    });
    app.use('/cookie', (req, res) => {
      res.cookie('lang', 'de').redirect(req.originalUrl);
    });
    app.use(function noSlash(req, res, next) {
      if (!/.\/$/.test(req.path)) next();
      else res.redirect(req.query.keep === undefined ? 301 : 308, req.path.slice(0, -1));
    });
    app.get('/page', (_req, res) => {
      res.redirect('/page?sort=name');
    });
    app.post('/orders', (_req, res) => {
      res.redirect('/orders');
    });
  });
  const post = (path: string, body = '{"a":1}') =>
    ask(path, { method: 'POST', body, headers: { 'content-type': 'application/json' } });

  it('sees a loop behind a proxy that is not trusted', async () => {
    const [finding] = (await ask('/secure/a?b=1', { headers: { 'x-forwarded-proto': 'https' } })).of(
      'redirect-fails',
    );
    expect(finding).to.include({
      label: 'redirect loop',
      broke: 'response',
      sentence:
        'forceHttps redirected the request to its own address, which is a loop: the proxy says https, but is not trusted, so Express takes the request for http',
    });
    expect(finding?.place).to.match(/redirect-fails\.test\.ts:8$/);
  });

  it('sees a page that leads back to itself', async () => {
    const [finding] = (await ask('/login')).of('redirect-fails');
    expect(finding?.sentence).to.equal(
      'requireLogin redirected the request to its own address, which is a loop',
    );
  });

  it('sees a body that is lost on the way to another spelling', async () => {
    const [finding] = (await post('/orders/')).of('redirect-fails');
    expect(finding).to.include({
      label: 'body lost',
      sentence:
        'noSlash redirected POST with 301 to another spelling of its address: clients repeat it as GET, without the body',
    });
  });

  it('ignores redirects that lead on', async () => {
    for (const path of ['/secure/a', '/cookie', '/page', '/page/'])
      expect((await ask(path)).of('redirect-fails'), path).to.deep.equal([]);
    for (const path of ['/orders', '/orders/?keep=1'])
      expect((await post(path)).of('redirect-fails'), path).to.deep.equal([]);
  });
});
