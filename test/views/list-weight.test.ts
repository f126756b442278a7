/** The list at its fullest: as many rows as are shown by default, each long, with findings, an error and its error page. */
import { expect } from 'chai';
import { join } from 'node:path';
import { readFilters } from '../../app/controllers/profiler/filters.ts';
import { unfolded } from '../../app/controllers/profiler/visits.ts';
import { createListModel } from '../../app/controllers/profiler/list-model.ts';
import { createHistogram, histogramQuery } from '../../app/controllers/profiler/request-histogram.ts';
import { packageRoot } from '../../app/paths.ts';
import type { ProfileIndex } from '../../app/profiler/profile-index.ts';
import { createPageRenderer } from '../../app/render/render-page.ts';
import { profileIndex } from '../support/profile-index.ts';

const MOST_BYTES = 60_000;

function fullRow(number: number): ProfileIndex {
  return profileIndex({
    token: number.toString(16).padStart(6, '0'),
    child: (number + 1000).toString(16).padStart(6, '0'),
    method: 'DELETE',
    url: `/customers/${'a'.repeat(300)}?page=${'b'.repeat(2000)}`,
    origin: 'https://shop.example.com',
    status: 500,
    route: '/customers/:customer/orders/:order/lines/:line',
    clientAddress: '203.0.113.24',
    startedAt: Date.UTC(2026, 10, 1),
    durationMs: 1234.5,
    process: 'web.12, process 41210',
    error: `CheckoutError: ${'c'.repeat(1900)}`,
    queries: 1234,
    findings: 12,
    mark: 'repeated calls',
    marks: [
      { label: 'repeated calls', severity: 'bad' },
      { label: 'transaction over a call', severity: 'warn' },
      { label: 'flood of logs', severity: 'info' },
    ],
    bytes: 40_000,
  });
}

describe('the list', () => {
  it('stays below 60 KB when each of its rows is as long as it can be', () => {
    const filters = readFilters(new URLSearchParams());
    const rows = Array.from({ length: filters.query.limit }, (_, index) => fullRow(index));
    const children = new Map(
      rows.map((row) => [row.token, [{ ...row, kind: 'error_page' as const, token: row.child ?? '' }]]),
    );
    const found = { rows, total: 5000, totalIsExact: true, notice: null };
    const asked = histogramQuery(filters.query, rows, Date.UTC(2026, 10, 1) + 600_000);
    if (asked === undefined) throw new Error('Nothing to draw.');
    const renderPage = createPageRenderer({
      viewsFolder: join(packageRoot(), 'views'),
      assets: { url: (file) => `/_profiler/assets/${file.replace('.', '.0123456789ab.')}` },
    });
    const html = renderPage('profiler/list', createListModel({
        filters,
        found,
        visits: unfolded(rows),
        children,
        counts: Array.from({ length: 7 }, () => 2001),
        histogram: createHistogram(asked, {
          parts: Array.from({ length: asked.parts }, (_, i) => ({ count: 900 + i, errors: 400 - i })),
          since: asked.from + 1,
        }),
        titles: {},
        pausedAt: Date.UTC(2026, 10, 1),
        csrf: `mi7yyyyy.${'x'.repeat(43)}`,
        foot: ['a', 'b', 'c'],
      }));
    expect(html.match(/<tr /g)).to.have.length(2 * filters.query.limit);
    expect(Buffer.byteLength(html)).to.be.lessThan(MOST_BYTES);
  });
});
