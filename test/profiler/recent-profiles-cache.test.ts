import { expect } from 'chai';
import { type CachedProfile, createRecentProfilesCache } from '../../app/profiler/recent-profiles-cache.ts';

function cached(token: string, length: number): CachedProfile {
  return { token, version: '1', text: ' '.repeat(length), profile: null };
}

describe('the cache of recent profiles', () => {
  it('holds the newest four, within a limit of characters', () => {
    const cache = createRecentProfilesCache();
    const held = (): string =>
      ['a', 'b', 'c', 'd', 'e', 'f'].filter((token) => cache.get(token) !== undefined).join('');
    for (const token of ['a', 'b', 'c', 'd', 'e']) cache.set(cached(token, 1000));
    expect(held()).to.equal('bcde');
    cache.set(cached('f', 299_000));
    expect(held()).to.equal('ef');
  });

  it('leaves out a profile that is too large', () => {
    const cache = createRecentProfilesCache();
    cache.set(cached('a', 1000));
    cache.set(cached('b', 400_000));
    expect([cache.get('a')?.text.length, cache.get('b')]).to.deep.equal([1000, undefined]);
    cache.set(cached('a', 400_000));
    expect(cache.get('a')).to.equal(undefined);
  });
});
