/** What policies say about the toolbar's script; that Chromium says the same is shown by in-chromium.test.ts. */
import { expect } from 'chai';
import { judge } from '../../../app/middleware/toolbar/policy.ts';

const SCRIPT = {
  origin: 'https://shop.example:8443',
  path: '/_profiler/toolbar.js',
  integrity: 'sha256-abc+/0=',
  localsNonce: null,
};

type Said = string | { nonce?: string; integrity?: string; connects?: boolean };

const CASES: readonly [policies: string | string[], said: Said][] = [
  [[], {}],
  ['', {}],
  ["img-src 'none'", {}],
  ["default-src 'self'", {}],
  ["script-src 'none'; default-src *", 'script-src'],
  ["default-src 'none'", 'default-src'],
  ["default-src 'none'; script-src 'self'", { connects: false }],
  ["script-src-elem 'none'; script-src 'self'", 'script-src-elem'],
  ["script-src-elem 'self'; script-src 'none'", {}],
  ["script-src-attr 'none'", {}],
  ["script-src 'nonce-a1B2'", { nonce: 'a1B2' }],
  ["SCRIPT-SRC 'NONCE-a1B2' 'self'", { nonce: 'a1B2' }],
  ["script-src 'nonce-a\"b'", 'script-src'],
  ["script-src 'nonce-a1' 'strict-dynamic' 'self'", { nonce: 'a1' }],
  ["script-src 'strict-dynamic' 'self' https:", 'script-src'],
  ["script-src 'strict-dynamic' 'sha256-abc+/0='", { integrity: 'sha256-abc+/0=' }],
  ["script-src 'sha256-other='", 'script-src'],
  ["script-src 'unsafe-inline' 'unsafe-eval'", 'script-src'],
  ['script-src *', {}],
  ['script-src https:', {}],
  ['script-src http:', {}],
  ['script-src data: blob:', 'script-src'],
  ['script-src shop.example:8443', {}],
  ['script-src https://shop.example:8443/_profiler/', {}],
  ['script-src https://shop.example:8443/_profiler/toolbar.js', {}],
  ['script-src https://shop.example:8443/assets/', 'script-src'],
  ['script-src shop.example', 'script-src'],
  ['script-src shop.example:*', {}],
  ['script-src *.example:8443', {}],
  ['script-src *.shop.example:8443', 'script-src'],
  ['script-src https://cdn.example', 'script-src'],
  ["script-src 'self', script-src 'none'", 'script-src'],
  [["script-src 'nonce-a'", "script-src 'self' 'nonce-b'"], { nonce: 'a' }],
  [["script-src 'nonce-a'", "script-src 'nonce-b'"], 'script-src'],
  [["script-src 'nonce-a' 'nonce-b'", "script-src 'nonce-b'"], { nonce: 'b' }],
  ['sandbox', 'sandbox'],
  ['sandbox allow-scripts', { connects: false }],
  ['sandbox allow-scripts allow-same-origin', {}],
  ["connect-src 'none'", { connects: false }],
  ["connect-src https://api.example; default-src 'self'", { connects: false }],
  ["connect-src 'self'", {}],
]; // prettier-ignore

describe('policies of a page and the toolbar', () => {
  for (const [policies, said] of CASES) {
    it(`${JSON.stringify(policies)}: ${JSON.stringify(said)}`, () => {
      const verdict = judge([policies].flat(), SCRIPT);
      if (typeof said === 'string') expect(verdict).to.deep.equal({ allowed: false, directive: said });
      else
        expect(verdict).to.deep.equal({
          allowed: true,
          nonce: null,
          integrity: null,
          connects: true,
          ...said,
        });
    });
  }

  it('know no host where the origin of the page is not known', () => {
    const unknown = { ...SCRIPT, origin: null };
    expect(judge(["script-src 'self'"], unknown)).to.include({ allowed: true });
    expect(judge(['script-src shop.example:8443'], unknown)).to.include({ allowed: false });
  });

  it('leave the nonce of res.locals where there are none, and only what is one', () => {
    expect(judge([], { ...SCRIPT, localsNonce: 'abc=' })).to.include({ nonce: 'abc=' });
    expect(judge([], { ...SCRIPT, localsNonce: '" onload="x' })).to.include({ nonce: null });
    expect(judge(["script-src 'nonce-x'"], { ...SCRIPT, localsNonce: 'abc' })).to.include({ nonce: 'x' });
    expect(judge(["script-src 'self'"], { ...SCRIPT, localsNonce: 'abc' })).to.include({ nonce: null });
  });
});
