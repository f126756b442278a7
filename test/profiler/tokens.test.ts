import { expect } from 'chai';
import { createTokens } from '../../app/profiler/record/tokens.ts';
import type { Store } from '../../app/profiler/store/store.ts';
import { until } from '../support/waiting.ts';

describe('tokens', () => {
  let settings: Map<string, string>;
  const setting: Store['setting'] = (name, value, { onlyIfAbsent } = {}) => {
    if (value === null) settings.delete(name);
    else if (value !== undefined && !(onlyIfAbsent === true && settings.has(name))) settings.set(name, value);
    return Promise.resolve(settings.get(name) ?? null);
  };

  beforeEach(() => {
    settings = new Map();
  });

  it('are six digits, and no two of them are equal, in one process and in several', async () => {
    const sources = Array.from({ length: 4 }, () => createTokens(setting, 'web'));
    const tokens = new Set<string>();
    let given = 0;
    for (let round = 0; round < 10_000; round++) {
      for (const source of sources) {
        tokens.add(source.next());
        given++;
      }
      if (round % 100 === 0) await new Promise(setImmediate);
    }
    expect(tokens.size).to.equal(given);
    for (const token of tokens) expect(token).to.match(/^[0-9a-e][0-9a-f]{5}$/);
    expect(settings.size).to.be.within(8, 16);
  });

  it('say nothing about the next one', () => {
    const source = createTokens(setting, 'web');
    const steps = Array.from({ length: 100 }, () => parseInt(source.next(), 16)).map(
      (token, i, all) => token - (all[i - 1] ?? 0),
    );
    expect(new Set(steps).size).to.be.above(80);
  });

  it('leave a block that another process has', async () => {
    for (let block = 0; block < 0xf00; block++)
      if (block !== 0x123) settings.set(`tokens-${block.toString(16).padStart(3, '0')}`, 'other');
    const source = createTokens(setting, 'web');
    source.next();
    // Blocks are tried at random, so this one may not be found.
    await new Promise(setImmediate);
    const held = [...settings.values()].filter((holder) => holder !== 'other');
    expect(held.length).to.be.most(1);
    expect(settings.get('tokens-122')).to.equal('other');
  });

  it('go on without a store', async () => {
    const source = createTokens(() => Promise.reject(new Error('away')), 'web');
    const tokens = new Set(Array.from({ length: 10_000 }, () => source.next()));
    expect(tokens.size).to.be.above(9000);
    await new Promise(setImmediate);
    expect(source.next()).to.have.length(6);
  });

  it('of requests that are not stored are recognised by every process', () => {
    const [one, other] = [createTokens(setting, 'a'), createTokens(setting, 'b')];
    expect(other.isLeftOut(one.nextLeftOut())).to.equal(true);
    expect(other.isLeftOut(one.next())).to.equal(false);
  });

  it('of another process are known by its claim', async () => {
    const [one, other] = [createTokens(setting, 'a'), createTokens(setting, 'b')];
    const token = one.next();
    await until(() => settings.size === 1, 'the block is claimed');
    expect([await one.isOfOther(token), await other.isOfOther(token)]).to.deep.equal([false, true]);
  });
});
