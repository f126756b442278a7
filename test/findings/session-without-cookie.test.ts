import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { sessionOf, sessions } from '../support/sessions.ts';

describe('finding session-without-cookie', () => {
  const ask = withFindingsApp((app) => {
    app.use('/secure', sessions({ saveUninitialized: false, cookie: { secure: true } }));
    app.use('/plain', sessions({ saveUninitialized: false }));
    app.get('/:kind/login', (req, res) => {
      sessionOf(req).userId = 7;
      res.send('in');
    });
    app.get('/:kind/look', (_req, res) => res.send('nothing'));
  });

  it('names what the next request will not find', async () => {
    const [finding] = (await ask('/secure/login')).of('session-without-cookie');
    expect(finding).to.include({
      label: 'session without cookie',
      sentence:
        'The new session has req.session.userId, but no session cookie was sent: it is secure, and this request came over http. The next request may not find it',
    });
    // Where the session’s middleware is registered.
    expect(finding?.place).to.match(/session-without-cookie\.test\.ts:7$/);
  });

  it('ignores a session with a cookie, and an empty one', async () => {
    for (const path of ['/plain/login', '/secure/look'])
      expect((await ask(path)).of('session-without-cookie'), path).to.deep.equal([]);
  });
});
