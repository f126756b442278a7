import { expect } from 'chai';
import type { NamedValue } from '../../app/profiler/record/raw-headers.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { sentencesOf } from '../support/find-by-rule.ts';

describe('finding cookie-rejected', () => {
  const ask = withFindingsApp((app) => {
    const answer = (path: string, ...cookies: string[]): void => {
      app.get(path, (_req, res) => res.setHeader('Set-Cookie', cookies).end());
    };
    answer('/none', 'a=1; SameSite=None', 'b=1; Secure; SameSite=None');
    answer('/odd', '__Secure-a=1', '__Host-b=1; Secure; Path=/; Domain=shop.example');
    answer('/good', 'sid=1; HttpOnly; SameSite=Lax');
  });

  it('names the cookie and why browsers reject it', async () => {
    const found = (await ask('/none')).of('cookie-rejected');
    expect(found.map(({ sentence, anchor }) => [sentence, anchor])).to.deep.equal([
      ['Browsers reject 1 of 2 cookies, “a”: SameSite=None needs Secure', 'rh-4'],
    ]);
  });

  it('names the untrusted proxy as the reason if its client used https', () => {
    const response = { headers: [{ name: 'Set-Cookie', value: 'sid=1; Secure' }] };
    const find = (headers: NamedValue[], trusted?: true, origin = 'http://shop.example') =>
      sentencesOf(
        'cookie-rejected',
        { request: { headers, client: { scheme: 'http', trusted }, response } },
        { origin },
      );
    const plain = 'Browsers reject 1 of 1 cookie, “sid”: it is Secure, and the response was sent over http';
    const https = [{ name: 'X-Forwarded-Proto', value: 'https' }];
    expect(find([])).to.deep.equal([plain]);
    expect(find(https)).to.deep.equal([`${plain}; the proxy says https, but is not trusted`]);
    expect(find(https, true)).to.deep.equal([plain]);
    for (const safe of [
      'https://shop.example',
      'http://localhost:3000',
      'http://app.localhost',
      'http://127.0.0.1',
      'http://[::1]:80',
    ])
      // prettier-ignore
      expect(find([], undefined, safe), safe).to.deep.equal([]);
  });

  it('checks prefixes', async () => {
    const reasons = (await ask('/odd'))
      .of('cookie-rejected')
      .map(({ sentence }) => sentence.replace(/.*: /, ''));
    expect(reasons).to.deep.equal(['its prefix needs Secure', '__Host- needs Path=/ and no Domain']);
  });

  it('ignores cookies that browsers accept', async () => {
    expect((await ask('/good')).of('cookie-rejected')).to.deep.equal([]);
  });
});
