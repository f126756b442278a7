import { expect } from 'chai';
import { barsOf } from '../../app/view-helpers/time-bars.ts';

describe('the bars of a request’s time', () => {
  it('merge where they touch, and keep their kinds apart', () => {
    const spans = [
      { kind: 'db', startMs: 10, durationMs: 5 },
      { kind: 'db', startMs: 15.05, durationMs: 5 },
      { kind: 'out', startMs: 20, durationMs: 2 },
      { kind: 'db', startMs: 40, durationMs: 5 },
    ];
    const bars = barsOf(spans, 100);
    expect(bars.map(({ kind, startMs }) => [kind, startMs])).to.deep.equal([
      ['db', 10],
      ['out', 20],
      ['db', 40],
    ]);
    expect(bars[0]?.durationMs).to.be.closeTo(10.05, 0.001);
    expect(spans[0]?.durationMs).to.equal(5);
  });

  it('are few, however many spans there are', () => {
    const spans = Array.from({ length: 5000 }, (_, i) => ({ kind: 'db', startMs: i * 2, durationMs: 0.5 }));
    const bars = barsOf(spans, 10_000);
    expect(bars.length).to.be.at.most(150);
    const last = bars.at(-1);
    expect((last?.startMs ?? 0) + (last?.durationMs ?? 0), 'drawn to the end').to.be.closeTo(9998.5, 0.01);
  });
});
