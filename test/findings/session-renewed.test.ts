import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { sessionOf, sessions } from '../support/sessions.ts';

describe('finding session-renewed', () => {
  const ask = withFindingsApp((app) => {
    app.use(sessions());
    app.post('/basket', (req, res) => {
      sessionOf(req).basket = ['eggs'];
      res.send('filled');
    });
    app.post('/visit', (req, res) => {
      sessionOf(req).returnTo = '/orders';
      res.send('seen');
    });
    app.post('/sign-in/:how', (req, res, next) => {
      const { basket } = sessionOf(req);
      const { session } = req as unknown as { session: { regenerate(done: (error: unknown) => void): void } };
      session.regenerate((error) => {
        if (req.params.how !== 'out') sessionOf(req).userId = 1;
        if (req.params.how === 'kept' && basket !== undefined) sessionOf(req).basket = basket;
        if (error !== undefined && error !== null) next(error);
        else res.send('done');
      });
    });
  });

  async function foundAfter(first: string, second: string) {
    const answer = await fetch(`${ask.origin()}${first}`, { method: 'POST' });
    await answer.text();
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
    const { of } = await ask(second, { method: 'POST', headers: { cookie } });
    return of('session-renewed');
  }

  it('names what the session had before the sign-in, and the request that shows it', async () => {
    const [finding] = await foundAfter('/basket', '/sign-in/plain');
    expect(finding?.sentence).to.match(
      /^The response began a new session without req\.session\.basket, which the session had before, at POST \/basket \([0-9a-f]{6}\)$/,
    );
    expect(finding).to.include({ severity: 'warn', broke: 'unseen', anchor: 'session' });
  });

  it('ignores what was taken over, an empty new session, and what is only for the sign-in', async () => {
    expect(await foundAfter('/basket', '/sign-in/kept')).to.deep.equal([]);
    expect(await foundAfter('/basket', '/sign-in/out')).to.deep.equal([]);
    expect(await foundAfter('/visit', '/sign-in/plain')).to.deep.equal([]);
  });
});
