import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { sessionOf, sessions } from '../support/sessions.ts';

const MONTH_S = 30 * 24 * 60 * 60;

describe('finding cookie-too-short', () => {
  const ask = withFindingsApp((app) => {
    app.get('/basket', (_req, res) => {
      res.cookie('basket', 'b1', { maxAge: MONTH_S });
      res.send('kept');
    });
    app.use('/seconds', sessions({ cookie: { maxAge: 86_400 } }));
    app.use('/day', sessions({ cookie: { maxAge: 86_400_000 } }));
    app.get(['/seconds', '/day'], (req, res) => {
      sessionOf(req).userId = 7;
      res.send('in');
    });
    app.use('/half-hour', sessions({ name: 'claims.sid', cookie: { maxAge: 30 * 60 } }));
    app.get('/half-hour', (req, res) => {
      sessionOf(req).userId = 7;
      res.send('in');
    });
    app.get('/own', (_req, res) => {
      res.cookie('sid', 'a1', { maxAge: 30_000 });
      res.cookie('session', 'b2', { expires: new Date(Date.now() + 20_000) });
      res.cookie('oauth_state', 'c3', { maxAge: 30_000 });
      res.cookie('old.sid', '', { maxAge: 0 });
      res.clearCookie('connect.sid');
      res.send('in');
    });
    app.get('/healthy', (_req, res) => {
      res.cookie('basket', 'b1', { maxAge: MONTH_S * 1000 });
      res.cookie('flash', 'saved', { maxAge: 3000 });
      res.cookie('step', '2', { maxAge: 600_000 });
      res.cookie('plain', '1');
      res.clearCookie('old');
      res.send('kept');
    });
  });

  it('names the line that gave seconds', async () => {
    const [finding] = (await ask('/basket')).of('cookie-too-short');
    expect(finding).to.include({
      label: 'cookie too short',
      severity: 'bad',
      sentence:
        'The cookie “basket” lives for 43 min 12 s (Max-Age), a thousandth of 30 days: its maxAge seems to have been given in seconds',
    });
    expect(finding?.place).to.match(/cookie-too-short\.test\.ts:10$/);
  });

  it('names the registration of a session, which sends Expires', async () => {
    const [finding] = (await ask('/seconds')).of('cookie-too-short');
    expect(finding?.sentence).to.contain('lives for 1 min 26 s (Expires), a thousandth of 1 day');
    expect(finding?.place).to.match(/cookie-too-short\.test\.ts:13$/);
  });

  it('names a session that lives for seconds, and the line of its middleware', async () => {
    const [finding] = (await ask('/half-hour')).of('cookie-too-short');
    expect(finding).to.include({
      severity: 'warn',
      sentence:
        'The session’s cookie “claims.sid” lives for 1.80 s: its maxAge may have been given in seconds, and milliseconds are expected',
    });
    expect(finding?.place).to.match(/cookie-too-short\.test\.ts:19$/);
  });

  it('ignores the rest of a life, a message, and a cookie that is deleted', async () => {
    const found = (await ask('/own')).of('cookie-too-short');
    expect(found.map(({ sentence }) => sentence.split(':', 1)[0])).to.deep.equal([
      'The session’s cookie “sid” lives for 30.00 s',
    ]);
  });

  it('ignores lifetimes in milliseconds, messages, and cookies without one', async () => {
    for (const path of ['/healthy', '/day'])
      expect((await ask(path)).of('cookie-too-short'), path).to.deep.equal([]);
  });
});
