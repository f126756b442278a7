import { expect } from 'chai';
import { createDumpPanel } from '../../app/panels/dump.ts';
import { Context } from '../../app/profiler/context.ts';
import { addBusyPage } from '../support/observed-samples.ts';

const panel = createDumpPanel();

describe('the panel of dumps', () => {
  it('has nothing to say where nothing was dumped', () => {
    expect(panel.collect(new Context({ token: '000001', kind: 'request' }))).to.equal(null);
  });

  it('keeps values with label, type, line and time', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    addBusyPage(context);
    const data = panel.collect(context);
    expect(data?.dumps).to.have.length(2);
    expect(data?.dumps[0]).to.include({
      label: 'order',
      type: 'object',
      caller: 'src/orders/order-view.ts:50',
      atMs: 200,
    });
    expect(panel.summary?.(data as never)).to.deep.equal({ text: '2', tone: 'plain', count: 2 });
  });
});
