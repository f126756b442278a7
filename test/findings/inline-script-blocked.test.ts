import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding inline-script-blocked', () => {
  const ask = withFindingsApp((app) => {
    app.use(function setPolicy(req, res, next) {
      if (typeof req.query.policy === 'string') res.set('content-security-policy', req.query.policy);
      next();
    });
    app.get('/page', (req, res) => res.send(`<h1>Hi</h1>${req.query.html as string}`));
    app.get('/json', (_req, res) => res.json({ html: '<script>go()</script>' }));
  });
  const of = async (html: string, policy?: string, path = '/page') => {
    const query = new URLSearchParams({ html, ...(policy === undefined ? {} : { policy }) });
    return (await ask(`${path}?${query.toString()}`)).of('inline-script-blocked');
  };
  const SCRIPT = '<script>go()</script>';

  it('counts the scripts, and names who set the policy', async () => {
    const [one] = await of(SCRIPT, "default-src 'self'; script-src 'self'");
    expect(one).to.include({
      label: 'script blocked',
      broke: 'unseen',
      sentence:
        'Browsers don’t run 1 inline script of this page: the Content-Security-Policy that setPolicy set does not allow it',
    });
    expect(one?.place).to.match(/inline-script-blocked\.test\.ts:6$/);
    const [two] = await of(`${SCRIPT}<script type="module">go()</script>`, "default-src 'self'");
    expect(two?.sentence).to.contain('2 inline scripts of this page').and.to.contain('allow them');
    expect(await of('<script nonce="old">go()</script>', "script-src 'nonce-new'")).to.have.length(1);
  });

  it('ignores scripts that may run, and what is no script', async () => {
    expect(await of(SCRIPT)).to.deep.equal([]);
    for (const policy of [
      "script-src 'self' 'unsafe-inline'",
      "img-src 'self'",
      "script-src 'sha256-abc='",
      "script-src 'none'; script-src-elem 'unsafe-inline'",
    ])
      // prettier-ignore
      expect(await of(SCRIPT, policy), policy).to.deep.equal([]);
    for (const html of [
      '<script src="/a.js"></script>',
      '<script type="application/ld+json">{}</script>',
      '<script nonce="bm9uY2U">go()</script>',
      'none',
    ])
      // prettier-ignore
      expect(await of(html, "script-src 'self' 'nonce-bm9uY2U'"), html).to.deep.equal([]);
    expect(await of('', "script-src 'self'", '/json')).to.deep.equal([]);
  });
});
