import { expect } from 'chai';
import { createHistogram, histogramQuery } from '../../../app/controllers/profiler/list/request-histogram.ts';
import { readFilters } from '../../../app/controllers/profiler/list/filters.ts';
import { itemOf } from '../../storage/store-contract.ts';

const NOW = Date.UTC(2026, 10, 20, 14, 32, 7);
const MINUTE = 60_000;
const rowAt = (minutesAgo: number): ReturnType<typeof itemOf>['row'] =>
  itemOf(1, { startedAt: NOW - minutesAgo * MINUTE }).row;
const queryOf = (text: string): ReturnType<typeof readFilters>['query'] =>
  readFilters(new URLSearchParams(text), NOW).query;

describe('the request histogram', () => {
  it('holds all rows of the page, and ends now', () => {
    for (const [minutesAgo, span] of [[0, 15], [14, 15], [20, 60], [300, 360], [3000, 4320]] as const) {
      const asked = histogramQuery(queryOf(''), [rowAt(minutesAgo)], NOW);
      expect(asked?.until, String(minutesAgo)).to.be.within(NOW, NOW + (span * MINUTE) / 60);
      expect((asked?.until ?? 0) - (asked?.from ?? 0)).to.be.closeTo(span * MINUTE, MINUTE);
    } // prettier-ignore
  });

  it('shows the time that was asked for', () => {
    const asked = histogramQuery(queryOf('from=2026-11-20T14:00&until=2026-11-20T14:09'), [rowAt(25)], NOW);
    expect(asked?.from).to.be.closeTo(Date.UTC(2026, 10, 20, 14, 0), MINUTE);
    expect(asked?.until).to.be.closeTo(Date.UTC(2026, 10, 20, 14, 10), MINUTE);
  });

  it('stays on one grid while time goes on', () => {
    const [one, other] = [0, 1].map((ms) => histogramQuery(queryOf(''), [rowAt(1)], NOW + ms));
    expect(one?.from).to.equal(other?.from);
  });

  it('draws nothing without rows, and for a search of texts', () => {
    expect(histogramQuery(queryOf(''), [], NOW)).to.equal(undefined);
    expect(histogramQuery(queryOf('text=x'), [rowAt(1)], NOW)).to.equal(undefined);
  });

  it('draws bars on one scale, the smallest still visible, failed ones over them', () => {
    const asked = { query: queryOf(''), from: 0, until: 4000, parts: 4 };
    const parts = [
      { count: 0, errors: 0, full: 0 },
      { count: 1, errors: 1, full: 1 },
      { count: 400, errors: 0, full: 400 },
      { count: 200, errors: 0, full: 200 },
    ];
    const histogram = createHistogram(asked, { parts, since: 0 });
    expect(histogram?.all).to.equal('M10 40v-3h9v3zM20 40v-40h9v40zM30 40v-20h9v20z');
    expect(histogram?.failed).to.equal('M10 40v-3h9v3z');
    expect(histogram).to.include({ count: 601, errors: 1, most: 400, stepMs: 1000, since: null });
    expect(createHistogram(asked, { parts, since: 2000 })?.since).to.equal(2000);
    expect(createHistogram(asked, null)).to.equal(null);
    expect(histogram?.inFull).to.equal('');
    const some = parts.map(({ count, ...part }) => ({ ...part, count, full: count / 2 }));
    expect(createHistogram(asked, { parts: some, since: 0 })).to.include({
      inFull: 'M10 40v-3h9v3zM20 40v-20h9v20zM30 40v-10h9v10z',
      full: 300.5,
    });
  });
});
