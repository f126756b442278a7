import { expect } from 'chai';
import { pairHeaders, rawHeader } from '../../app/profiler/raw-headers.ts';

describe('raw headers', () => {
  it('are paired in order, also of an odd list', () => {
    expect(pairHeaders(['A', '1', 'a', '2', 'B'])).to.deep.equal([
      { name: 'A', value: '1' },
      { name: 'a', value: '2' },
    ]);
  });

  it('are found in any case, the first of several', () => {
    expect(rawHeader(['ETag', 'x', 'X-B', '1', 'x-b', '2'], 'x-b')).to.equal('1');
    expect(rawHeader(['X-B'], 'x-b')).to.equal(null);
  });
});
