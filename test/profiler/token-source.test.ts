import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { counterOf, LEASE_SIZE, LEASED_COUNTERS, tokensOf } from '../../app/profiler/token.ts';
import { createTokenReserve } from '../../app/profiler/token-reserve.ts';
import { createTokenSource } from '../../app/profiler/token-source.ts';
import type { TokenLease } from '../../app/profiler/storage.ts';

/** A storage of leases; its key is the first one proposed, unless it has one. */
function createLeases(given?: Buffer): {
  lease: (key: Buffer) => Promise<TokenLease>;
  key(): Buffer | undefined;
} {
  let key = given;
  let next = 0;
  return {
    lease(proposed) {
      key ??= proposed;
      return Promise.resolve({ start: next++ * LEASE_SIZE, count: LEASE_SIZE, key });
    },
    key: () => key,
  };
}

describe('the source of tokens', () => {
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

  it('are not given twice where the storage begins its numbers anew: its schema was dropped', async () => {
    let next = 0;
    let dropped = 0;
    const lease = (key: Buffer, skip = 0): Promise<TokenLease> => {
      if (++dropped === 40) next = 0;
      const start = (next + skip) * LEASE_SIZE;
      next += skip + 1;
      return Promise.resolve({ start, count: LEASE_SIZE, key });
    };
    const source = createTokenSource({ lease });
    await source.refill();
    const tokens = new Set<string>();
    const count = LEASE_SIZE * 100;
    for (let i = 0; i < count; i++) {
      tokens.add(source.next());
      await Promise.resolve();
    }
    expect(dropped).to.be.greaterThan(40);
    expect(tokens.size).to.equal(count);
  });

  it('go on while the storage is away', async () => {
    const source = createTokenSource({ lease: () => Promise.reject(new Error('away')) });
    await source.refill().catch(() => undefined);
    const tokens = new Set(Array.from({ length: 2000 }, () => source.next()));
    expect(tokens.size).to.equal(2000);
    expect(LEASED_COUNTERS).to.equal(2 ** 23);
  });

  it('has its key taken over by a storage without one: what it gave before is no token of a later lease', async () => {
    const storage = createLeases();
    const source = createTokenSource({ lease: storage.lease });
    const early = Array.from({ length: 100 }, () => source.next());
    await source.refill();
    for (const token of early) expect(counterOf(token, storage.key()!)).to.be.at.least(LEASED_COUNTERS);
  });

  it('passes over leased tokens that it gave before the storage had answered with another key', async () => {
    const key = randomBytes(16);
    const count = 40_000;
    const storage = createLeases(key);
    let away = true;
    const source = createTokenSource({
      lease: (proposed) => (away ? Promise.reject(new Error('away')) : storage.lease(proposed)),
    });
    await source.refill().catch(() => undefined);
    const given = new Set(Array.from({ length: count }, () => source.next()));
    away = false;
    await source.refill();
    let repeated = 0;
    for (let i = 0; i < count; i++) {
      if (i % 100 === 0) await source.refill();
      if (given.has(source.next())) repeated++;
    }
    // Of as many tokens about a hundred would be the same otherwise.
    expect(repeated).to.equal(0);
  });

  it('asks ahead for more where its tokens ran out before the next lease came', async () => {
    const key = randomBytes(16);
    const storage = createLeases(key);
    const source = createTokenSource({
      lease: async (proposed) => {
        await sleep(1);
        return storage.lease(proposed);
      },
    });
    await source.refill();
    let own = 0;
    for (let i = 0; i < 30_000; i++) {
      if (i % 200 === 0) await sleep(1);
      const guessed = counterOf(source.next(), key) >= LEASED_COUNTERS;
      if (guessed && i > 10_000) own++;
    }
    expect(own).to.equal(0);
  });

  it('tells tokens that another process has leased from its own, and from those of nobody', async () => {
    const storage = createLeases();
    const [a, b] = [createTokenSource({ lease: storage.lease }), createTokenSource({ lease: storage.lease })];
    expect(a.leasedElsewhere('abcdef')).to.equal(null);
    await a.refill();
    await b.refill();
    const [ofA, ofB] = [a.next(), b.next()];
    expect(a.leasedElsewhere(ofA)).to.equal(null);
    expect(a.leasedElsewhere(ofB)).to.equal(counterOf(ofB, storage.key()!));
    expect(a.leasedElsewhere(a.nextSampledOut())).to.equal(null);
  });
});

describe('the reserve of tokens', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'tokens-')), 'tokens');
  });
  afterEach(() => {
    rmSync(join(folder, '..'), { recursive: true });
  });

  async function leave(storage: ReturnType<typeof createLeases>): Promise<void> {
    const source = createTokenSource({ lease: storage.lease, reserve: createTokenReserve(folder) });
    const before = existsSync(folder)
      ? readdirSync(folder).filter((name) => name.endsWith('.json')).length
      : 0;
    await source.refill();
    const deadline = Date.now() + 5000;
    while (
      !existsSync(folder) ||
      readdirSync(folder).filter((name) => name.endsWith('.json')).length <= before
    )
      if (Date.now() > deadline) throw new Error('No reserve was left.');
      else await sleep(5);
  }

  it('gives the next process leased tokens before any storage has answered, and no two the same', async () => {
    const storage = createLeases();
    await leave(storage);
    const away = (): Promise<TokenLease> => Promise.reject(new Error('away'));
    const sources = Array.from({ length: 3 }, () =>
      createTokenSource({ lease: away, reserve: createTokenReserve(folder) }),
    );
    const tokens = sources.flatMap((source) => Array.from({ length: 1000 }, () => source.next()));
    expect(new Set(tokens).size).to.equal(3000);
    const leased = tokens.map((token) => counterOf(token, storage.key()!) < LEASED_COUNTERS);
    // The first has taken it; the others have the key, and their own half.
    expect(leased.slice(0, 1000)).to.not.include(false);
    expect(leased.slice(1000)).to.not.include(true);
  });

  it('is the owner’s alone to read, and gone when it is taken', async () => {
    await leave(createLeases());
    const names = readdirSync(folder);
    expect(names).to.have.length(2);
    for (const name of names) expect(statSync(join(folder, name)).mode & 0o777, name).to.equal(0o600);
    expect(createTokenReserve(folder).take()?.starts).to.have.length(16);
    expect(readdirSync(folder)).to.deep.equal(['key']);
    expect(createTokenReserve(folder).take()?.starts).to.deep.equal([]);
  });

  it('has one key from the start for all that start together, and none where it can not be written', () => {
    const keys = [1, 2, 3].map(() => createTokenReserve(folder).take()?.key.toString('hex'));
    expect(keys[0]).to.match(/^[0-9a-f]{32}$/);
    expect(new Set(keys).size).to.equal(1);
    writeFileSync(join(folder, 'file'), '');
    expect(createTokenReserve(join(folder, 'file')).take()).to.equal(null);
  });

  it('is not used where it is damaged, of another key, or old', () => {
    const reserve = createTokenReserve(folder);
    mkdirSync(folder);
    writeFileSync(join(folder, 'key'), 'no key');
    expect(reserve.take()).to.equal(null);
    const key = randomBytes(16).toString('hex');
    writeFileSync(join(folder, 'key'), key);
    writeFileSync(join(folder, '1.json'), 'nothing');
    writeFileSync(
      join(folder, '2.json'),
      JSON.stringify({ at: Date.now(), key: 'f'.repeat(32), starts: [1] }),
    );
    writeFileSync(join(folder, '3.json'), JSON.stringify({ at: 0, key, starts: [1] }));
    expect(reserve.take()?.starts).to.deep.equal([]);
  });
});
