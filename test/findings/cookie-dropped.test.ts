import { expect } from 'chai';
import { cookieDropped } from '../../app/findings/cookie-dropped.ts';
import { parseSetCookie } from '../../app/panels/security/set-cookie.ts';
import type { NamedValue } from '../../app/profiler/raw-headers.ts';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding cookie-dropped', () => {
  const ask = withFindingsApp((app) => {
    const answer = (path: string, ...cookies: string[]): void => {
      app.get(path, (_req, res) => res.setHeader('Set-Cookie', cookies).end());
    };
    answer('/none', 'a=1; SameSite=None', 'b=1; Secure; SameSite=None');
    answer('/good', 'sid=1; HttpOnly; SameSite=Lax');
  });

  it('names the cookie and why browsers drop it', async () => {
    const found = (await ask('/none')).of('cookie-dropped');
    expect(found.map(({ sentence, anchor }) => [sentence, anchor])).to.deep.equal([
      ['Browsers drop the cookie “a”, 1 of 2: SameSite=None needs Secure', 'c-1'],
    ]);
  });

  it('names a proxy that is not trusted as the reason, where its clients came by https', () => {
    const [cookie] = [parseSetCookie('sid=1; Secure', { https: false, local: false })];
    const find = (headers: NamedValue[], trusted?: true) =>
      cookieDropped
        .find(
          { request: { headers, client: { scheme: 'http', trusted } }, security: { jar: [cookie] } } as never,
          {} as never,
          {},
        )
        .map(({ sentence }) => sentence);
    const plain = 'Browsers drop the cookie “sid”, 1 of 1: it is Secure, and the answer went out over http';
    const https = [{ name: 'X-Forwarded-Proto', value: 'https' }];
    expect(find([])).to.deep.equal([plain]);
    expect(find(https)).to.deep.equal([`${plain}; its proxy says https, but is not trusted`]);
    expect(find(https, true)).to.deep.equal([plain]);
  });

  it('says nothing of cookies that are kept', async () => {
    expect((await ask('/good')).of('cookie-dropped')).to.deep.equal([]);
  });
});
