import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding header-overwritten', () => {
  const ask = withFindingsApp((app) => {
    app.use(function session(_req, res, next) {
      res.setHeader('Set-Cookie', 'sid=1; HttpOnly');
      res.setHeader('Vary', 'Origin');
      res.setHeader('Content-Security-Policy', "default-src 'none'");
      res.setHeader('X-Frame-Options', 'DENY');
      next();
    });
    app.use('/lost', function policies(_req, res, next) {
      res.setHeader('Content-Security-Policy', "default-src 'self'");
      next();
    });
    app.get('/lost', function showOrder(_req, res) {
      res.setHeader('Set-Cookie', 'seen=1');
      res.send('x');
    });
    app.get('/kept', function showOrder(_req, res) {
      res.cookie('seen', '1');
      res.vary('Accept');
      res.setHeader('X-Frame-Options', 'SAMEORIGIN');
      res.type('text').send('x');
    });
    app.get('/listed', function showOrder(_req, res) {
      res.setHeader('Vary', 'Accept, origin');
      res.send('x');
    });
    app.get('/error', () => {
      throw new Error('x');
    });
  });

  it('names the header, who set it and who overwrote it', async () => {
    const found = (await ask('/lost')).of('header-overwritten');
    expect(found.map(({ label, severity, sentence }) => [label, severity, sentence])).to.deep.equal([
      ['lost header', 'warn', 'showOrder overwrote Set-Cookie, set by session: 1 of 2 values was sent'],
      ['overwritten', 'info', 'policies overwrote Content-Security-Policy, set by session: 1 of 2 values was sent'],
    ]); // prettier-ignore
    expect(found[0]?.place).to.match(/^test\/findings\/header-overwritten\.test\.ts:\d+$/);
  });

  it('ignores headers that were appended to, set anew by a handler or the same, or replaced by an error page', async () => {
    for (const path of ['/kept', '/listed', '/error'])
      expect((await ask(path)).of('header-overwritten'), path).to.deep.equal([]);
  });
});
