import { expect } from 'chai';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';

/** As jsonwebtoken makes it; nobody checks its signature here. */
function tokenOf(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: 'nora-4711', ...claims })}.c2lnbmF0dXJlLW9mLWE`;
}

/** Asked in the test: a file may be loaded long before. */
const now = (): number => Math.floor(Date.now() / 1000);
const bearer = (claims: object) => ({ headers: { authorization: `Bearer ${tokenOf(claims)}` } });

describe('finding token-expired', () => {
  const ask = withFindingsApp((app) => {
    app.get('/refused', (_req, res) => res.sendStatus(401));
    app.get('/public', (_req, res) => res.send('hello'));
  });

  it('says when the token expired and how long it was valid, and records nothing else of it', async () => {
    const { of, profile } = await ask('/refused', bearer({ iat: now() - 10, exp: now() - 7 }));
    const [finding] = of('token-expired');
    expect(finding?.sentence).to.match(
      /^The bearer token had expired [\d.]+ s before; it was valid for 3\.00 s: as text without a unit, such as expiresIn: '3600', jsonwebtoken reads milliseconds$/,
    );
    expect(finding).to.include({ severity: 'warn', broke: 'response' });
    expect(finding?.place).to.match(/token-expired\.test\.ts:17$/);
    const stored = await ask.page(urls.profileJson(profile.token));
    expect(stored)
      .to.contain('expiresAt')
      .and.not.match(/nora-4711|bm9yYS00NzEx|eyJ/);
  });

  it('says it of a cookie, and of a usual lifetime without a reproach', async () => {
    const cookie = `theme=dark; ticket=${tokenOf({ iat: now() - 7200, exp: now() - 3600 })}`;
    const [finding] = (await ask('/refused', { headers: { cookie } })).of('token-expired');
    expect(finding?.severity).to.equal('info');
    expect(finding?.sentence).to.match(
      /^The token in the cookie “ticket” had expired [^;]+; it was valid for [^:]+$/,
    );
  });

  it('ignores a token that is valid or says nothing, another one that is, and a request that was answered', async () => {
    const expired = bearer({ iat: now() - 10, exp: now() - 7 });
    const cookie = `ticket=${tokenOf({ exp: now() + 3600 })}`;
    for (const [path, init] of [
      ['/refused', bearer({ exp: now() + 3600 })],
      ['/refused', bearer({})],
      ['/refused', { headers: { authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJleHAi.x' } }],
      ['/refused', { headers: { ...expired.headers, cookie } }],
      ['/public', expired],
    ] as const)
      expect((await ask(path, init)).of('token-expired')).to.deep.equal([]);
  });
});
