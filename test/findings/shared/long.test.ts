import { expect } from 'chai';
import { lengthOf, usualText } from '../../../app/findings/shared/time.ts';

describe('the length of work', () => {
  const of = (ms: number, wholeMs: number | null, usualMs: number | null) =>
    lengthOf(ms, wholeMs, { longMs: 100, usualMs });

  it('is long from a number of milliseconds on', () => {
    expect(of(100, 5000, null)).to.equal('always');
    expect(of(99, null, 1)).to.equal(null);
  });

  it('is unusual as half of a request that took three times as long as its route usually does', () => {
    expect(of(60, 120, 40)).to.equal('unusual');
    expect(of(59, 120, 40)).to.equal(null);
    expect(of(60, 120, 41)).to.equal(null);
    expect(of(60, 120, null)).to.equal(null);
    expect(of(49, 50, 1)).to.equal(null);
  });

  it('names the usual time if it is known', () => {
    expect(usualText(12)).to.equal('; requests to this route usually take 12.0 ms');
    expect(usualText(null)).to.equal('');
  });
});
