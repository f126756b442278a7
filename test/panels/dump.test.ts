import { expect } from 'chai';
import { dumpPanel } from '../../app/panels/dump/index.ts';
import { Context } from '../../app/profiler/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { addBusyPage } from '../support/observed-samples.ts';
import { dataOf, recordedBy } from '../support/panel-data.ts';

const panel = dumpPanel;

describe('the panel of dumps', () => {
  it('has nothing to say where nothing was dumped', () => {
    expect(dataOf(panel, new Context({ token: '000001', kind: 'request' }))).to.equal(null);
  });

  it('keeps values with label, type, line and time', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    addBusyPage(context);
    const data = recordedBy(panel, context);
    expect(data.dumps).to.have.length(2);
    expect(data.dumps[0]).to.include({
      label: 'order',
      type: 'object',
      caller: 'src/orders/order-view.ts:50',
      atMs: 200,
    });
    expect(panel.summary?.(data)).to.deep.equal({ text: '2', tone: 'plain', count: 2 });
  });

  it('finds values by label, place and content, and shows the first of very many', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    for (let i = 0; i < 700; i++)
      context.add('dump', { value: { id: i, text: `value ${i}`.repeat(20) }, label: `row ${i}`, type: 'object', caller: `src/a.ts:${i}`, atMs: i }); // prettier-ignore
    const data = recordedBy(panel, context);
    const present = (query: Record<string, string>) =>
      panel.draw?.(data, { profile: {} as Profile, query, amendments: {} }) as {
        rows: { id: string }[];
        total: number;
      };
    expect(present({}).rows).to.have.length(500);
    expect(present({ all: '1' }).rows).to.have.length(700);
    for (const find of ['ROW 299', 'src/a.ts:299', 'value 299'])
      expect(
        present({ find }).rows.map(({ id }) => id),
        find,
      ).to.deep.equal(['d300']);
    expect(present({ find: 'nothing like it' }).total).to.equal(0);
  });
});
