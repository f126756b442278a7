import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { counterOf, tokensOf } from '../../app/profiler/token.ts';

describe('tokens', () => {
  it('are six lower-case hexadecimal digits', () => {
    const tokens = tokensOf({ start: 0, count: 1000, key: randomBytes(16) });
    for (const token of tokens) expect(token).to.match(/^[0-9a-f]{6}$/);
  });

  it('never clash: four million of them differ', () => {
    const key = randomBytes(16);
    const seen = new Uint8Array(1 << 24);
    let clashes = 0;
    for (let start = 0; start < 1 << 22; start += 1 << 16) {
      for (const token of tokensOf({ start, count: 1 << 16, key })) {
        const index = parseInt(token, 16);
        if (seen[index] === 1) clashes++;
        seen[index] = 1;
      }
    }
    expect(clashes).to.equal(0);
  }).timeout(60_000);

  it('do not follow one another: neighbouring counters differ in about half of their bits', () => {
    const tokens = tokensOf({ start: 0, count: 4096, key: randomBytes(16) }).map((token) =>
      parseInt(token, 16),
    );
    let flipped = 0;
    for (let i = 1; i < tokens.length; i++) {
      let difference = (tokens[i] ?? 0) ^ (tokens[i - 1] ?? 0);
      for (; difference !== 0; difference >>= 1) flipped += difference & 1;
    }
    expect(flipped / (tokens.length - 1)).to.be.within(11, 13);
  });

  it('turn back into their counters', () => {
    const key = randomBytes(16);
    const tokens = tokensOf({ start: 0xfff00, count: 512, key });
    expect(tokens.map((token) => counterOf(token, key))).to.deep.equal(tokens.map((_, i) => 0xfff00 + i));
  });
});
