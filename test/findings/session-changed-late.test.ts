import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { sessionOf, sessions } from '../support/sessions.ts';

describe('finding session-changed-late', () => {
  const ask = withFindingsApp((app) => {
    app.use(sessions());
    app.get('/late', (req, res) => {
      res.redirect('/');
      sessionOf(req).cart = 2;
    });
    app.get('/early', (req, res) => {
      sessionOf(req).cart = 2;
      res.redirect('/');
    });
  });

  it('names what changed after the session was saved', async () => {
    const [finding] = (await ask('/late')).of('session-changed-late');
    expect(finding).to.include({
      label: 'session lost',
      broke: 'unseen',
      panel: 'request',
      anchor: 'session',
    });
    expect(finding?.sentence).to.equal(
      'req.session.cart changed after the headers were sent, so this may not be saved',
    );
  });

  it('ignores what changed before', async () => {
    expect((await ask('/early')).of('session-changed-late')).to.deep.equal([]);
  });
});
