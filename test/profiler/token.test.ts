import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import {
  counterOf,
  createTokenSource,
  LEASE_SIZE,
  LEASED_COUNTERS,
  tokensOf,
} from '../../app/profiler/token.ts';

describe('tokens', () => {
  it('are six lower-case hexadecimal digits', () => {
    const source = createTokenSource();
    for (let i = 0; i < 1000; i++) expect(source.next()).to.match(/^[0-9a-f]{6}$/);
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

  it('come from leases of the storage once it answers, and from the other half before', async () => {
    const key = randomBytes(16);
    let start = 0;
    const lease = () => {
      start += LEASE_SIZE;
      return Promise.resolve({ start: start - LEASE_SIZE, count: LEASE_SIZE, key });
    };
    const leasedHalf = new Set(tokensOf({ start: 0, count: LEASE_SIZE * 8, key }));
    const source = createTokenSource({ lease });
    expect(leasedHalf.has(source.next())).to.equal(false);
    await source.refill();
    const tokens = new Set<string>();
    for (let i = 0; i < LEASE_SIZE * 4; i++) {
      tokens.add(source.next());
      await Promise.resolve();
    }
    expect(tokens.size).to.equal(LEASE_SIZE * 4);
    for (const token of tokens) expect(leasedHalf.has(token)).to.equal(true);
  });

  it('of requests that are sampled out are known by every process with the key, and by no other', async () => {
    const key = randomBytes(16);
    let start = 0;
    const lease = () => Promise.resolve({ start: (start += LEASE_SIZE), count: LEASE_SIZE, key });
    const [a, b] = [createTokenSource({ lease }), createTokenSource({ lease })];
    await Promise.all([a.refill(), b.refill()]);
    for (let i = 0; i < 600; i++) {
      expect(b.isSampledOut(a.nextSampledOut())).to.equal(true);
      expect(b.isSampledOut(a.next())).to.equal(false);
    }
  });

  it('turn back into their counters', () => {
    const key = randomBytes(16);
    const tokens = tokensOf({ start: 0xfff00, count: 512, key });
    expect(tokens.map((token) => counterOf(token, key))).to.deep.equal(tokens.map((_, i) => 0xfff00 + i));
  });

  it('go on while the storage is away', async () => {
    const source = createTokenSource({ lease: () => Promise.reject(new Error('away')) });
    await source.refill().catch(() => undefined);
    const tokens = new Set(Array.from({ length: 2000 }, () => source.next()));
    expect(tokens.size).to.equal(2000);
    expect(LEASED_COUNTERS).to.equal(2 ** 23);
  });
});
