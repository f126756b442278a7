import { expect } from 'chai';
import { createRecordingLimit } from '../../app/profiler/record/recording-limit.ts';

const NAVIGATION = { 'sec-fetch-mode': 'navigate' };

describe('the limit of full records', () => {
  function limited(fullPerSecond: number, sampleRate = 1) {
    let nowMs = 0;
    const limit = createRecordingLimit(
      { fullPerSecond, sampleRate },
      { now: () => nowMs, random: () => 0.5 },
    );
    return {
      /** How many of so many requests are recorded in full. */
      full: (count: number, headers = {}) =>
        Array.from({ length: count }, () => limit.summaryReason(headers)).filter((reason) => reason === null)
          .length,
      reason: (headers = {}, isAsked = false) => limit.summaryReason(headers, isAsked),
      pass: (ms: number) => (nowMs += ms),
    };
  }

  it('takes a burst of five seconds at once, and then so many a second', () => {
    const { full, pass, reason } = limited(10);
    expect(full(100)).to.equal(50);
    expect(reason()).to.equal('limit');
    pass(1000);
    expect(full(100)).to.equal(10);
    pass(60_000);
    expect(full(100)).to.equal(50);
  });

  it('is filled once a second, so that requests are recorded in full one after the other', () => {
    const { full, pass } = limited(10);
    expect(full(100)).to.equal(50);
    pass(999);
    expect(full(100)).to.equal(0);
    pass(1);
    expect(full(100)).to.equal(10);
    pass(1500);
    expect(full(5)).to.equal(5);
    pass(500);
    expect(full(100)).to.equal(15);
  });

  it('has a second one for who navigates or asks, so that neither uses up the other', () => {
    const { full, reason } = limited(10);
    expect(full(100)).to.equal(50);
    expect(full(100, NAVIGATION)).to.equal(50);
    expect(reason(NAVIGATION)).to.equal('limit');
    expect(reason({ 'x-debug-profile': '1' })).to.equal('limit');
    expect(limited(10).full(1, { 'x-debug-profile': '0' })).to.equal(1);
  });

  it('can be none at all, or none in full', () => {
    expect(limited(Infinity).full(10_000)).to.equal(10_000);
    const { reason, full } = limited(0);
    expect(full(10)).to.equal(0);
    expect(reason(NAVIGATION, true)).to.equal('limit');
  });

  it('comes after the sample rate, which does not count for who asks', () => {
    const { reason } = limited(10, 0.4);
    expect(reason()).to.equal('sampled');
    expect(reason(NAVIGATION)).to.equal(null);
    expect(reason({}, true)).to.equal(null);
    expect(limited(10, 0.6).reason()).to.equal(null);
  });

  it('is lifted while a test reads the profiles, and nothing is recorded while recording is paused', () => {
    const options = { fullPerSecond: 0, sampleRate: 0 };
    expect(createRecordingLimit({ ...options, isTested: () => true }).summaryReason({})).to.equal(null);
    const paused = createRecordingLimit({ ...options, isTested: () => true, isPaused: () => true });
    expect(paused.summaryReason({}, true)).to.equal('paused');
  });
});
