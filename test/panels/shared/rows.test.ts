import { expect } from 'chai';
import { eachText } from '../../../app/panels/shared/rows.ts';

describe('what one of several took', () => {
  it('is its own time if they ran side by side, never their sum divided', () => {
    const parallel = [0, 1, 2].map((startMs) => ({ startMs, durationMs: 204 }));
    expect(eachText(parallel)).to.equal('in parallel, 204.0 ms each');
    const sequential = [0, 300, 600].map((startMs) => ({ startMs, durationMs: 204 }));
    expect(eachText(sequential)).to.equal('204.0 ms each');
  });
});
