import { expect } from 'chai';
import { load } from 'cheerio';
import { dumpPanel } from '../../app/panels/dump/index.ts';
import { Context } from '../../app/profiler/record/context.ts';
import { addBusyPage } from '../support/observed-samples.ts';
import { createPageFixture } from '../support/page-fixture.ts';
import { panelHtml, profileOf, recordedBy, summaryOf } from '../support/panel-data.ts';

const panel = dumpPanel;

describe('the panel of dumps', () => {
  it('keeps values with label, type, line and time', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    addBusyPage(context);
    const data = recordedBy(panel, context);
    expect(data.items).to.have.length(2);
    expect(data.items[0]).to.include({
      label: 'order',
      type: 'object',
      caller: 'src/orders/order-view.ts:50',
      atMs: 200,
    });
    expect(summaryOf(panel, data)).to.deep.equal({ text: '2', tone: 'plain', count: 2 });
  });

  it('finds values by label, place and content, and shows the first of very many', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    for (let i = 0; i < 700; i++)
      context.add('dump', { value: { id: i, text: `value ${i}`.repeat(20) }, label: `row ${i}`, type: 'object', caller: `src/a.ts:${i}`, atMs: i }); // prettier-ignore
    const profile = profileOf(context, [panel]);
    const { services } = createPageFixture([panel]);
    const ids = (query: Record<string, string>): (string | undefined)[] =>
      load(panelHtml(services.renderPage, panel, { profile, query }))('#dumps tbody tr')
        .get()
        .map(({ attribs }) => attribs.id);
    expect(ids({})).to.have.length(500);
    expect(ids({ all: '1' })).to.have.length(700);
    for (const find of ['ROW 299', 'src/a.ts:299', 'value 299'])
      expect(ids({ find }), find).to.deep.equal(['d300']);
    expect(ids({ find: 'nothing like it' })).to.deep.equal([]);
  });
});
