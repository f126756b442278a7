import { expect } from 'chai';
import { asksForDocument } from '../../../app/middleware/toolbar/eligible.ts';
import { makeTag } from '../../../app/middleware/toolbar/tag.ts';

const NAVIGATION = {
  'sec-fetch-dest': 'document',
  'sec-fetch-mode': 'navigate',
  accept: 'text/html,*/*;q=0.8',
};

describe('requests for documents', () => {
  const YES: Record<string, string>[] = [
    NAVIGATION,
    { 'sec-fetch-dest': 'document' },
    { ...NAVIGATION, 'sec-purpose': 'prefetch;prerender' },
    { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'navigate' },
    { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    { accept: 'application/xml, text/html;q=0.5' },
  ];
  const NO: Record<string, string>[] = [
    {},
    { accept: '*/*' },
    { accept: 'text/html;q=0' },
    { accept: 'text/html-fragment, application/json' },
    { accept: 'text/html', 'sec-fetch-mode': 'cors' },
    { accept: 'text/html', 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' },
    ...['iframe', 'frame', 'object', 'embed', 'image', 'script'].map((dest) => ({ ...NAVIGATION, 'sec-fetch-dest': dest })),
    ...['x-requested-with', 'hx-request', 'turbo-frame', 'x-pjax', 'x-inertia', 'range'].map((name) => ({ ...NAVIGATION, [name]: 'x' })),
  ]; // prettier-ignore

  for (const headers of YES)
    it(`is one: ${JSON.stringify(headers)}`, () => {
      expect(asksForDocument({ method: 'GET', headers })).to.equal(true);
    });
  for (const headers of NO)
    it(`is none: ${JSON.stringify(headers)}`, () => {
      expect(asksForDocument({ method: 'GET', headers })).to.equal(false);
    });

  it('have any method but those without a body in the response', () => {
    const asks = (method: string): boolean => asksForDocument({ method, headers: NAVIGATION });
    expect(['GET', 'POST', 'PUT', 'DELETE'].map(asks)).to.deep.equal([true, true, true, true]);
    expect(['HEAD', 'OPTIONS'].map(asks)).to.deep.equal([false, false]);
  });
});

describe('the tag of the toolbar', () => {
  const OPTIONS = {
    token: 'abcdef',
    url: '/_profiler/toolbar.js?v=1',
    policies: [],
    origin: 'https://shop.example',
  };

  function scriptsOf(policies: readonly string[]): string[] {
    const made = makeTag({ ...OPTIONS, policies });
    return 'tag' in made ? made.tag.split(/(?<=<\/script>)/) : [];
  }

  it('holds the address, the token and what the policy asks for, and nothing else', () => {
    const policies = ["script-src 'nonce-a/b=='; connect-src 'none'"];
    const [tag, early] = scriptsOf(policies);
    expect(tag).to.equal(
      '<script async src="/_profiler/toolbar.js?v=1" data-token="abcdef" nonce="a/b==" data-connect="no" data-hindsight></script>',
    );
    expect(early).to.match(/^<script nonce="a\/b==">[^<]*<\/script>$/);
  });

  it('has lines in the page itself only where the policies let them run', () => {
    for (const [policy, has] of [
      ["default-src 'self'", false],
      ["script-src 'self' 'unsafe-inline'", true],
      ["script-src 'self' 'unsafe-inline' 'nonce-a'", true],
      ["script-src 'self' 'unsafe-inline' 'sha256-abc='", false],
      ["script-src 'nonce-a', script-src 'self'", false],
      ["img-src 'none'", true],
    ] as const)
      expect(scriptsOf([policy]).length, policy).to.equal(has ? 2 : 1);
  });

  it('is none where a policy forbids it', () => {
    expect(makeTag({ ...OPTIONS, policies: ["script-src 'none'"] })).to.deep.equal({ against: 'script-src' });
  });
});
