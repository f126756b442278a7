import { expect } from 'chai';
import type { Profile } from '../../app/profiler/profile.ts';
import { createShownLately } from '../../app/profiler/shown-lately.ts';

type Shown = Parameters<ReturnType<typeof createShownLately>['keep']>[0];

function shown(token: string, length: number, state: Profile['state'] = 'final'): Shown {
  return { profile: { token, state }, length, version: '1' } as unknown as Shown;
}

describe('profiles shown lately', () => {
  it('are the newest four that are final, and small enough together', () => {
    const lately = createShownLately();
    const kept = (): string =>
      ['a', 'b', 'c', 'd', 'e', 'f'].filter((token) => lately.of(token) !== undefined).join('');
    for (const token of ['a', 'b', 'c', 'd', 'e']) lately.keep(shown(token, 1000));
    expect(kept()).to.equal('bcde');
    lately.keep(shown('f', 299_000));
    expect(kept()).to.equal('ef');
  });

  it('stay where one comes that is too large, or runs', () => {
    const lately = createShownLately();
    lately.keep(shown('a', 1000));
    lately.keep(shown('b', 400_000));
    lately.keep(shown('c', 1000, 'running'));
    expect([lately.of('a')?.length, lately.of('b'), lately.of('c')]).to.deep.equal([
      1000,
      undefined,
      undefined,
    ]);
    lately.keep(shown('a', 400_000));
    expect(lately.of('a')).to.equal(undefined);
  });
});
