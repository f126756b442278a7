import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { sessionOf, sessions } from '../support/sessions.ts';

const LIFE_MS = 60;

describe('finding session-expired', () => {
  const ask = withFindingsApp((app) => {
    app.use(sessions({ saveUninitialized: false, cookie: { maxAge: LIFE_MS } }));
    app.post('/login', (req, res) => {
      sessionOf(req).userId = 7;
      res.redirect('/home');
    });
    app.post('/logout', (req, res) => {
      (req as unknown as { session: { destroy(done: () => void): void } }).session.destroy(() =>
        res.send('bye'),
      );
    });
    app.get('/account', (req, res) => {
      if (sessionOf(req).userId === undefined) res.redirect('/login');
      else res.send('yours');
    });
  });

  const from = (agent: string, cookie?: string) => ({
    headers: { 'user-agent': agent, ...(cookie === undefined ? {} : { cookie }) },
  });

  async function login(agent: string): Promise<string> {
    const answer = await fetch(`${ask.origin()}/login`, {
      method: 'POST',
      redirect: 'manual',
      ...from(agent),
    });
    await answer.text();
    return (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  }

  it('says how long the session lived, and which request used it last', async () => {
    const cookie = await login('curl');
    await sleep(LIFE_MS + 20);
    const { of, status } = await ask('/account', from('curl', cookie));
    expect(status).to.equal(302);
    const [finding] = of('session-expired');
    expect(finding?.sentence).to.match(
      /^The session of the cookie had run out: it lived for 60\.0 ms, and POST \/login \(\w{6}\) used it last, [\d.]+ m?s before$/,
    );
    expect(finding).to.include({ label: 'session expired', severity: 'warn', broke: 'response' });
    expect(finding?.place).to.match(/session-expired\.test\.ts:10$/);
  });

  it('says it of a browser that sends the cookie no more', async () => {
    await login('browser');
    await sleep(LIFE_MS + 20);
    const [finding] = (await ask('/account', from('browser', 'theme=dark'))).of('session-expired');
    expect(finding?.sentence).to.match(
      /^This request has no session cookie any more: it lived for 60\.0 ms, and POST /,
    );
  });

  it('ignores a session that was ended, an unknown one, and another client', async () => {
    const cookie = await login('other');
    const init = { method: 'POST', ...from('other', cookie) };
    await (await fetch(`${ask.origin()}/logout`, init)).text();
    for (const headers of [from('other', cookie), from('other', 'connect.sid=s%3Aabc.def'), from('nobody')])
      expect((await ask('/account', headers)).of('session-expired')).to.deep.equal([]);
  });
});

describe('finding session-expired, of a session that lives longer', () => {
  const ask = withFindingsApp((app) => {
    app.use(sessions({ saveUninitialized: false, cookie: { maxAge: 3_600_000 } }));
    app.post('/login', (req, res) => {
      sessionOf(req).userId = 7;
      res.redirect('/home');
    });
    app.get('/account', (_req, res) => {
      res.redirect('/login');
    });
  });

  it('is silent, also if the cookie is missing', async () => {
    const init = { method: 'POST', redirect: 'manual' as const, headers: { 'user-agent': 'browser' } };
    await (await fetch(`${ask.origin()}/login`, init)).text();
    const { of, status } = await ask('/account', { headers: { 'user-agent': 'browser' } });
    expect(status).to.equal(302);
    expect(of('session-expired')).to.deep.equal([]);
  });
});
