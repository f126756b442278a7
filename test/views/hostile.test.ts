/**
 * Hostile text in every field that a client or an application can fill gives a page of the same structure as its harmless
 * twin: the same elements with the same attributes, no more and no fewer.
 */
import { expect } from 'chai';
import { load } from 'cheerio';
import { createPageFixture, type PageFixture } from '../support/page-fixture.ts';
import { HOSTILE, hostileRequest, samplePanels } from '../support/page-samples.ts';

/** Attributes whose value is a sentence or an address that may hold foreign text. */
const FREE = new Set(['href', 'title', 'aria-label', 'value', 'datetime', 'width', 'x', 'id', 'data-fold', 'data-copy']);

/** Elements in order, each with its attributes; foreign text left out. */
function structureOf(html: string): string[] {
  const $ = load(html);
  return $('*')
    .toArray()
    .map((element) => {
      const attributes = Object.entries($(element).attr() ?? {}).map(([name, value]) =>
        FREE.has(name) ? name : `${name}=${value}`,
      );
      return `${$(element).prop('tagName') ?? ''} ${attributes.sort().join(' ')}`;
    });
}

/** Text of the same length and the same words, without anything special. */
function twinOf(text: string): string {
  return text.replace(/[^A-Za-z0-9 ]/g, 'z');
}

async function pagesOf(fixture: PageFixture, text: string): Promise<Record<string, string>> {
  const context = await fixture.record(hostileRequest(text));
  const { profiles, services } = fixture;
  const found = await profiles.read(context.token);
  if (found === null) throw new Error('not stored');
  const { profile } = found;
  const html: Record<string, string> = {};
  for (const panel of services.panels)
    html[panel.name] = services.renderPage('partials/panel-body', { panel, profile, query: {} });
  html.subject = services.renderPage('partials/subject', { profile, children: await profiles.children(context.token) });
  html.toolbar = services.renderPage('profiler/toolbar', { profile });
  const { rows } = await profiles.find({ limit: 10, offset: 0, token: context.token });
  html.row = services.renderPage('partials/request-row', { row: rows[0] ?? {} });
  html.table = services.renderPage('partials/request-table', { rows, label: 'x' });
  html.form = services.renderPage('partials/search-form', {
    values: { url: text, method: text, status: text, ip: text, token: text, from: text, process: text, kind: text, has: text, over: text, sort: text },
  });
  html.top = services.renderPage('partials/top', { current: '', search: text });
  html.end = services.renderPage('partials/document-end', { foot: [text] });
  html.start = services.renderPage('partials/document-start', { title: text });
  html.unknown = services.renderPage('errors/unknown-token', { title: text, token: text, retention: text, newest: rows, foot: [text] });
  return html;
}

describe('hostile text', () => {
  for (const [kind, text] of Object.entries(HOSTILE)) {
    it(`of kind "${kind}" changes no page's structure`, async () => {
      const fixture = createPageFixture(samplePanels());
      const hostile = await pagesOf(fixture, text);
      const twin = await pagesOf(fixture, twinOf(text));
      expect(Object.keys(hostile)).to.deep.equal(Object.keys(twin));
      for (const name of Object.keys(hostile))
        expect(structureOf(hostile[name] ?? ''), name).to.deep.equal(structureOf(twin[name] ?? ''));
    });
  }

  it('never stands unescaped in a page, and holds no character that HTML forbids', async () => {
    const fixture = createPageFixture(samplePanels());
    for (const text of Object.values(HOSTILE)) {
      for (const [name, html] of Object.entries(await pagesOf(fixture, text))) {
        expect(html, name).to.not.contain('<img');
        expect(html, name).to.not.match(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]/);
        expect(load(html)('script:not([src]), [onerror], iframe'), name).to.have.length(0);
      }
    }
  });
});
