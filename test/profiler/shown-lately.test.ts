import { expect } from 'chai';
import { createShownLately, type Shown } from '../../app/profiler/shown-lately.ts';

function shown(token: string, length: number): Shown {
  return { token, version: '1', text: ' '.repeat(length), profile: null };
}

describe('profiles shown lately', () => {
  it('are the newest four, and small enough together', () => {
    const lately = createShownLately();
    const kept = (): string =>
      ['a', 'b', 'c', 'd', 'e', 'f'].filter((token) => lately.of(token) !== undefined).join('');
    for (const token of ['a', 'b', 'c', 'd', 'e']) lately.keep(shown(token, 1000));
    expect(kept()).to.equal('bcde');
    lately.keep(shown('f', 299_000));
    expect(kept()).to.equal('ef');
  });

  it('stay where one comes that is too large', () => {
    const lately = createShownLately();
    lately.keep(shown('a', 1000));
    lately.keep(shown('b', 400_000));
    expect([lately.of('a')?.text.length, lately.of('b')]).to.deep.equal([1000, undefined]);
    lately.keep(shown('a', 400_000));
    expect(lately.of('a')).to.equal(undefined);
  });
});
