import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { sessionOf, sessions } from '../support/sessions.ts';

describe('finding session-empty', () => {
  const ask = withFindingsApp((app) => {
    app.use(sessions());
    app.post('/login/:how', (req, res) => {
      const { how } = req.params;
      const { session } = req as unknown as {
        session: { regenerate: (done: () => void) => void };
      };
      if (how === 'before') sessionOf(req).userId = 7;
      session.regenerate(() => {
        if (how === 'after') sessionOf(req).userId = 7;
        res.redirect('/account');
      });
    });
    app.get('/account', (req, res) => {
      if (sessionOf(req).userId === undefined) res.redirect('/login');
      else res.json({ id: sessionOf(req).userId });
    });
  });

  /** The request after the redirect, with the cookie that was set. */
  async function followed(path: string) {
    const answer = await fetch(`${ask.origin()}${path}`, { method: 'POST', redirect: 'manual' });
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
    expect(cookie, path).not.to.equal('');
    return ask('/account', { headers: { cookie } });
  }

  it('names the login that left nothing in the session', async () => {
    const { of, status } = await followed('/login/before');
    expect(status).to.equal(302);
    const [finding] = of('session-empty');
    expect(finding?.sentence).to.match(
      /^The session is empty: POST \/login\/:how \(\w{6}\) set its cookie and redirected here, but left nothing in the session, /,
    );
    expect(finding?.place).to.match(/^test\/findings\/session-empty\.test\.ts:\d+$/);
  });

  it('ignores a login that works, and a visitor without a cookie', async () => {
    expect((await followed('/login/after')).of('session-empty')).to.deep.equal([]);
    expect((await ask('/account')).of('session-empty')).to.deep.equal([]);
  });
});

describe('finding session-empty after a logout', () => {
  const ask = withFindingsApp((app) => {
    app.use(sessions());
    app.post('/login', (req, res) => {
      sessionOf(req).userId = 7;
      res.redirect('/account');
    });
    app.post('/logout', (req, res) => {
      const { session } = req as unknown as { session: { regenerate: (done: () => void) => void } };
      session.regenerate(() => {
        res.redirect('/account');
      });
    });
    app.get('/account', (_req, res) => {
      res.redirect('/login');
    });
  });

  async function cookieOf(path: string, cookie = '') {
    const answer = await fetch(`${ask.origin()}${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie },
    });
    const [set = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
    expect(set, path).not.to.equal('');
    return set;
  }

  it('is silent', async () => {
    const cookie = await cookieOf('/logout');
    expect((await ask('/account', { headers: { cookie } })).of('session-empty')).to.deep.equal([]);
  });

  it('is silent if the visitor had signed in before', async () => {
    const cookie = await cookieOf('/logout', await cookieOf('/login'));
    expect((await ask('/account', { headers: { cookie } })).of('session-empty')).to.deep.equal([]);
  });
});
