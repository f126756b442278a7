/** The panel of the browser: what its rows say of each kind of report. */
import { expect } from 'chai';
import { summaryOf } from '../support/panel-data.ts';
import { browserPanel } from '../../app/panels/browser/index.ts';
import type { BrowserFact } from '../../app/profiler/read/browser-report.ts';
import type { Profile } from '../../app/profiler/profile.ts';

const FACT: BrowserFact = {
  kind: 'error',
  atMs: 38,
  page: 'http://shop.test/cart',
  name: 'TypeError',
  message: "Cannot read properties of undefined (reading 'total')",
  url: null,
  directive: null,
  frames: [
    {
      name: 'renderTotal',
      place: 'public/checkout.js:4',
      isOwn: true,
      code: {
        from: 1,
        lines: [
          'const a = 1;',
          '',
          'const data = await answer.json();',
          'total.textContent = data.order.total;',
        ],
      },
    },
    { name: '', place: '/vendor/lib.js:1', isOwn: false },
  ],
  calls: [{ request: '9be1a7', method: 'POST', path: '/checkout', status: 500 }],
};

function rowsOf(...items: BrowserFact[]) {
  const from = { profile: {} as Profile, amendments: {} };
  return browserPanel.rows?.({ items }, from).sections[0]?.rows ?? [];
}

describe('the panel of the browser', () => {
  it('says what failed, where in the sources, and after which request', () => {
    expect(summaryOf(browserPanel, { items: [FACT] })).to.deep.include({ text: '1', tone: 'bad' });
    expect(summaryOf(browserPanel, { items: [{ ...FACT, kind: 'console' }] })).to.include({ tone: 'warn' });
    const [row] = rowsOf(FACT);
    expect(row).to.include({
      id: 'b1',
      label: 'TypeError',
      text: FACT.message,
      number: 38,
      tone: 'bad',
      place: 'public/checkout.js:4',
    });
    expect(row?.block?.text).to.equal('at renderTotal (public/checkout.js:4)\nat /vendor/lib.js:1');
    const details = row?.detail?.() ?? [];
    expect(details.find(({ link }) => link !== undefined)?.link).to.deep.equal({
      label: 'POST /checkout (500)',
      token: '9be1a7',
    });
    const lines = details.find(({ title }) => title === 'public/checkout.js:4')?.block?.lines ?? [];
    expect(lines.map(({ number, mark }) => [number, mark])).to.deep.equal([
      [1, undefined],
      [2, undefined],
      [3, undefined],
      [4, 'hot'],
    ]);
  });

  it('shows of console.error the line that called it, and of the rest what was blocked or failed', () => {
    const rows = rowsOf(
      { ...FACT, kind: 'console', name: null, message: null },
      { ...FACT, kind: 'call', name: null, message: null, url: 'http://api.test/x' },
      {
        ...FACT,
        kind: 'policy',
        name: 'report',
        message: null,
        url: 'http://cdn.test/a.js',
        directive: 'script-src-elem',
      },
      { ...FACT, kind: 'file', name: 'script', message: null, url: 'http://shop.test/a.js' },
    );
    expect(rows.map(({ label, text, tone, badges = [] }) => [label, text, tone, ...badges])).to.deep.equal([
      ['console.error', 'total.textContent = data.order.total;', 'warn'],
      ['Request failed', 'http://api.test/x', 'bad'],
      ['script-src-elem', 'http://cdn.test/a.js', 'warn', 'report only'],
      ['<script> not loaded', 'http://shop.test/a.js', 'warn'],
    ]);
  });
});
