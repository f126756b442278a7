/** What policies say about the toolbar's script; that Chromium says the same is shown by in-chromium.test.ts. */
import { expect } from 'chai';
import { judge } from '../../../app/middleware/toolbar/tag.ts';

const ORIGIN = 'https://shop.example:8443';

type Said = string | { nonce?: string; connects?: boolean };

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
  ["SCRIPT-SRC 'NONCE-a1B2' 'SELF'", { nonce: 'a1B2' }],
  ["script-src 'nonce-a\"b'", 'script-src'],
  ["script-src 'nonce-a1' 'strict-dynamic' 'self'", { nonce: 'a1' }],
  ["script-src 'strict-dynamic' 'self' https:", 'script-src'],
  ["script-src 'sha256-abc='", 'script-src'],
  ["script-src 'unsafe-inline' 'unsafe-eval'", 'script-src'],
  ['script-src *', {}],
  ['script-src data: blob:', 'script-src'],
  ['script-src https://SHOP.example:8443', {}],
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
      const verdict = judge([policies].flat(), ORIGIN);
      if (typeof said === 'string') expect(verdict).to.deep.equal({ allowed: false, directive: said });
      else
        expect({ ...verdict, inline: undefined }).to.deep.equal({
          inline: undefined,
          allowed: true,
          nonce: null,
          connects: true,
          ...said,
        });
    });
  }

  it('name the origin of the page only if it is known', () => {
    expect(judge(["script-src 'self'"], null)).to.include({ allowed: true });
    expect(judge([`script-src ${ORIGIN}`], null)).to.include({ allowed: false });
  });
});
