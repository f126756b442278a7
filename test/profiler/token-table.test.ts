import { expect } from 'chai';
import { createTokenTable } from '../../app/profiler/token-table.ts';

/** Numbers in an order that repeats, however often the tests run. */
function createRandom(): (below: number) => number {
  let state = 12_345;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('table of tokens', () => {
  it('knows the place of each token, as a Map does, whoever comes and goes', () => {
    const tokens: string[] = [];
    const table = createTokenTable((place) => tokens[place] ?? '');
    const expected = new Map<string, number>();
    const random = createRandom();
    for (let turn = 0; turn < 20_000; turn++) {
      const token = random(3000).toString(16).padStart(6, '0');
      if (expected.delete(token)) table.delete(token);
      else {
        const place = tokens.push(token) - 1;
        expected.set(token, place);
        table.set(token, place);
      }
    }
    expect(expected.size).to.be.greaterThan(1000);
    for (let number = 0; number < 3000; number++) {
      const token = number.toString(16).padStart(6, '0');
      expect(table.find(token), token).to.equal(expected.get(token) ?? -1);
    }
    for (const token of expected.keys()) table.delete(token);
    for (const token of expected.keys()) expect(table.find(token)).to.equal(-1);
  });

  it('tells tokens apart that come to the same number', () => {
    // Of FNV-1a with 32 bits.
    const tokens = ['costarring', 'liquid'];
    const table = createTokenTable((place) => tokens[place] ?? '');
    for (const [place, token] of tokens.entries()) table.set(token, place);
    expect(tokens.map(table.find)).to.deep.equal([0, 1]);
    table.delete('costarring');
    expect(tokens.map(table.find)).to.deep.equal([-1, 1]);
  });

  it('holds places beyond 32 bits', () => {
    const table = createTokenTable(() => 'abcdef');
    table.set('abcdef', 2 ** 40);
    expect(table.find('abcdef')).to.equal(2 ** 40);
  });

  it('does nothing about a token that it does not have', () => {
    const table = createTokenTable(() => 'abcdef');
    table.set('abcdef', 0);
    table.delete('fedcba');
    expect(table.find('abcdef')).to.equal(0);
    expect(table.find('fedcba')).to.equal(-1);
  });
});
