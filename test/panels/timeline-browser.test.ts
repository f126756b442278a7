/** What a browser measured, on the page of the timeline: where the server's part is drawn, and what is said of the clocks. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { createDatabasePanel } from '../../app/panels/database/index.ts';
import { requestPanel } from '../../app/panels/request/index.ts';
import { createRoutingPanel } from '../../app/panels/routing/index.ts';
import { rowsMarkdown } from '../../app/render/rows-markdown.ts';
import { presentTimeline } from '../../app/panels/timeline/present.ts';
import { type BrowserRow, browserView, isDocument } from '../../app/panels/timeline/browser.ts';
import type { TimelineData } from '../../app/panels/shared/timeline-data.ts';
import { timelinePanel } from '../../app/panels/timeline/index.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { addBusyPage, addCrowd, query } from '../support/observed-samples.ts';
import { createPageFixture, type PageFixture } from '../support/page-fixture.ts';
import { withPages } from '../support/page-client.ts';

const data: TimelineData = {
  totalMs: 40,
  headersMs: 30,
  spans: [
    { kind: 'app', label: 'GET /', startMs: 0, durationMs: 40, depth: 0, parent: null },
    { kind: 'db', label: 'select … from orders', startMs: 5, durationMs: 10, depth: 1, parent: 0 },
  ],
  slices: [
    { kind: 'app', startMs: 0, durationMs: 5 },
    { kind: 'db', startMs: 5, durationMs: 10 },
    { kind: 'app', startMs: 15, durationMs: 25 },
  ],
  shares: [],
};
const TIMING = {
  navigation: 'reload',
  redirects: 2,
  requestStart: 20,
  ttfb: 100,
  responseEnd: 110,
  domInteractive: 150,
  domContentLoaded: 160,
  load: 400,
  fcp: 180,
  lcp: 390,
  lcpKind: 'image',
  cls: 0.0812,
  longTasks: [{ start: 200, duration: 120 }],
  moreLongTasks: 2,
};

function rowOf(timing: object, id: string): BrowserRow | undefined {
  return browserView(data, timing)?.rows.find((row) => row.id === id);
}

function said(timing: object): string {
  return browserView(data, timing)?.said.join(' ') ?? '';
}

describe('the browser’s timing on the timeline', () => {
  it('ends the server’s headers where the browser got the first byte, with the bars of its strip', () => {
    const server = rowOf(TIMING, 'b-server');
    expect(server).to.include({ startMs: 70, durationMs: 40, depth: 1 });
    expect(server?.bars).to.deep.equal([
      { kind: 'app', startMs: 70, durationMs: 5 },
      { kind: 'db', startMs: 75, durationMs: 10 },
      { kind: 'app', startMs: 85, durationMs: 25 },
    ]);
  });

  it('says how the clocks were joined, and by how much the server’s part may lie earlier', () => {
    expect(said(TIMING)).to.contain('The page was reloaded.');
    expect(said(TIMING)).to.contain('sent 30.0 ms after the request began, received at 100.0 ms');
    expect(said(TIMING)).to.contain('50.0 ms of the wait was network time');
    const { requestStart: _unknown, ...others } = TIMING;
    expect(said(others)).to.contain('The network time is unknown');
    expect(said({ load: 400 })).to.contain('can’t be placed');
    expect(rowOf({ load: 400 }, 'b-server')).to.equal(undefined);
  });

  it('draws no server’s part before the request was sent', () => {
    expect(rowOf({ ...TIMING, ttfb: 40 }, 'b-server')?.startMs).to.equal(20);
    expect(said({ ...TIMING, ttfb: 40 })).to.contain('took longer than the browser waited');
  });

  it('has the stretches in their order, moments as moments, and only what was measured', () => {
    expect(browserView(data, TIMING)?.rows.map(({ id }) => id)).to.deep.equal([
      'b-before', 'b-wait', 'b-server', 'b-receive', 'b-parse', 'b-ready', 'b-load', 'b-fcp', 'b-lcp', 'b-tasks',
    ]); // prettier-ignore
    expect(rowOf(TIMING, 'b-lcp')).to.include({ startMs: 390, durationMs: null, note: 'of an image' });
    expect(rowOf(TIMING, 'b-tasks')).to.include({ label: '3 long tasks', note: 'the 1 longest drawn' });
    expect(rowOf(TIMING, 'b-before')?.label).to.equal('before the request, with 2 redirects');
    expect(browserView(data, { ttfb: 50 })?.rows.map(({ id }) => id)).to.deep.equal(['b-wait', 'b-server']);
  });

  it('ends its scale where the last of all ends', () => {
    expect(browserView(data, TIMING)?.wholeMs).to.equal(400);
    expect(browserView(data, { ttfb: 50 })?.wholeMs).to.equal(60);
  });

  for (const timing of [
    null,
    undefined,
    7,
    'x',
    [],
    {},
    { ttfb: '5' },
    { ttfb: -1, load: null, longTasks: { length: 3 } },
  ])
    it(`is not there of ${JSON.stringify(timing)}`, () => {
      expect(browserView(data, timing)).to.equal(null);
    });

  it('stands in the Markdown of the panel', () => {
    const markdown = (amendments: Record<string, unknown>): string =>
      rowsMarkdown(presentTimeline(data, { amendments }));
    const text = markdown({ timing: TIMING });
    expect(text)
      .to.contain('### In the browser')
      .and.to.contain('| 40.0 ms | `· this request, on the server` | +70.0 ms |');
    expect(markdown({})).not.to.contain('In the browser');
  });

  it('is asked for of documents only', () => {
    const of = (contentType: string | null): boolean =>
      isDocument({
        panels: { request: { data: { response: { contentType } }, summary: null, error: null } },
      } as unknown as Profile);
    expect([
      of('text/html; charset=utf-8'),
      of('application/xhtml+xml'),
      of('application/json'),
      of(null),
    ]).to.deep.equal([true, true, false, false]);
  });
});

describe('the page of the timeline', () => {
  const panels = [requestPanel, timelinePanel, createRoutingPanel(), createDatabasePanel()] as Panel[];

  async function page(fixture: PageFixture, token: string, more = ''): Promise<string> {
    let html = '';
    await withPages(fixture.pages, async ({ address }) => {
      html = await (await fetch(`${address}/_profiler/${token}?panel=timeline${more}`)).text();
    });
    return html;
  }

  it('says of work that repeats how long any of it ran, as the overview does', async () => {
    const fixture = createPageFixture(panels);
    const { token } = await fixture.record({
      more(context) {
        for (let at = 0; at < 4; at++)
          context.add('query', query({ bindings: [at], startMs: 30 + at * 5, durationMs: 2 }));
      },
    });
    const $ = load(await page(fixture, token));
    const row = $('#wf tr').filter((_at, one) => $(one).text().includes('4 × '));
    expect(row.find('.w-d').text()).to.equal('8.0 ms');
    expect(row.find('.w-o').text()).to.equal('');
  });

  it('draws of a row what lies in the chosen part', async () => {
    const fixture = createPageFixture(panels);
    const { token } = await fixture.record({ more: addBusyPage });
    const $ = load(await page(fixture, token, '&from=10&to=30'));
    const bars = $('#wf .track rect').toArray();
    expect(bars).to.have.length.above(1);
    for (const bar of bars) {
      const [from, width] = [
        Number.parseFloat($(bar).attr('x') ?? ''),
        Number.parseFloat($(bar).attr('width') ?? ''),
      ];
      expect(from).to.be.within(0, 100);
      expect(from + width).to.be.at.most(100.5);
    }
  });

  it('shows what the browser measured, readable without script', async () => {
    const fixture = createPageFixture(panels);
    const { token } = await fixture.record({ more: addBusyPage });
    await fixture.profiles.amend(token, 'timing', TIMING);
    const html = await page(fixture, token);
    const $ = load(html);
    expect($('#browser h3').text()).to.contain('In the browser');
    expect($('#b-lcp th').text().replace(/\s+/g, ' ')).to.contain('largest contentful paint of an image');
    expect($('#browser .metrics dt').first().text()).to.equal('First byte');
    expect($('#b-server rect')).to.have.length.above(3);
    expect(html).not.to.match(/ style=|<img/);
  });

  it('draws fifty long tasks beside very many spans', async () => {
    const fixture = createPageFixture(panels);
    const { token } = await fixture.record({
      more: (context) => {
        addCrowd(context, { queries: 200, lines: 500 });
      },
    });
    const task = (_: unknown, i: number): object => ({ start: i * 10, duration: 60 });
    const longTasks = Array.from({ length: 50 }, task);
    await fixture.profiles.amend(token, 'timing', { ...TIMING, longTasks });
    expect(load(await page(fixture, token))('#b-tasks rect')).to.have.length(50);
  });

  it('says how to get it where a document has none, and nothing where it is no document', async () => {
    const fixture = createPageFixture(panels);
    const document = await fixture.record({ more: addBusyPage });
    expect(load(await page(fixture, document.token))('#browser').text()).to.contain(
      'the toolbar sends them once',
    );
    const api = await fixture.record({
      more: addBusyPage,
      responseHeaders: ['Content-Type', 'application/json'],
    });
    expect(load(await page(fixture, api.token))('#browser')).to.have.length(0);
  });
});
