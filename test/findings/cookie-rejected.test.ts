import { expect } from 'chai';
import { cookieRejected } from '../../app/findings/cookie-rejected.ts';
import { parseSetCookie } from '../../app/panels/security/set-cookie.ts';
import type { NamedValue } from '../../app/profiler/raw-headers.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { NOTHING_BESIDE } from '../support/beside.ts';

describe('finding cookie-rejected', () => {
  const ask = withFindingsApp((app) => {
    const answer = (path: string, ...cookies: string[]): void => {
      app.get(path, (_req, res) => res.setHeader('Set-Cookie', cookies).end());
    };
    answer('/none', 'a=1; SameSite=None', 'b=1; Secure; SameSite=None');
    answer('/good', 'sid=1; HttpOnly; SameSite=Lax');
  });

  it('names the cookie and why browsers reject it', async () => {
    const found = (await ask('/none')).of('cookie-rejected');
    expect(found.map(({ sentence, anchor }) => [sentence, anchor])).to.deep.equal([
      ['Browsers reject 1 of 2 cookies, “a”: SameSite=None needs Secure', 'c-1'],
    ]);
  });

  it('names the untrusted proxy as the reason if its client used https', () => {
    const [cookie] = [parseSetCookie('sid=1; Secure', { https: false, local: false })];
    const find = (headers: NamedValue[], trusted?: true) =>
      cookieRejected
        .find(
          { request: { headers, client: { scheme: 'http', trusted } }, security: { jar: [cookie] } } as never,
          {} as never,
          NOTHING_BESIDE,
        )
        .map(({ sentence }) => sentence);
    const plain = 'Browsers reject 1 of 1 cookie, “sid”: it is Secure, and the response was sent over http';
    const https = [{ name: 'X-Forwarded-Proto', value: 'https' }];
    expect(find([])).to.deep.equal([plain]);
    expect(find(https)).to.deep.equal([`${plain}; the proxy says https, but is not trusted`]);
    expect(find(https, true)).to.deep.equal([plain]);
  });

  it('ignores cookies that browsers accept', async () => {
    expect((await ask('/good')).of('cookie-rejected')).to.deep.equal([]);
  });
});
