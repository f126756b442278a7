import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { counterOf, tokensOf } from '../../app/profiler/token.ts';

describe('tokens', () => {
  it('are six lower-case hexadecimal digits', () => {
    const tokens = tokensOf({ start: 0, count: 1000, key: randomBytes(16) });
    for (const token of tokens) expect(token).to.match(/^[0-9a-f]{6}$/);
  });

  it('never clash: each turns back into its counter, so that no two counters can share one', () => {
    const key = randomBytes(16);
    for (const start of [0, 0x8_0000, 0xff_f000]) {
      const tokens = tokensOf({ start, count: 1 << 12, key });
      expect(tokens.findIndex((token, i) => counterOf(token, key) !== start + i)).to.equal(-1);
      expect(new Set(tokens)).to.have.property('size', tokens.length);
    }
  });

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
});
