import { expect } from 'chai';
import { createRuntimePanel } from '../../app/panels/runtime.ts';
import { Context } from '../../app/profiler/context.ts';
import type { RuntimeReading } from '../../app/observe/runtime.ts';
import { lasting, reading } from '../support/observed-samples.ts';
import { dataOf } from '../support/panel-data.ts';

const panel = createRuntimePanel();

function contextOf(given: Partial<RuntimeReading>) {
  const context = lasting(new Context({ token: '000001', kind: 'request' }), 300);
  context.add('runtime', { read: () => reading(given) });
  return context;
}

function collect(given: Partial<RuntimeReading>) {
  const data = dataOf(panel, contextOf(given));
  if (data === null) throw new Error('Nothing was collected.');
  return data;
}

describe('the panel of the process', () => {
  it('has nothing to say where the process was not watched', () => {
    expect(panel.collect(new Context({ token: '000001', kind: 'request' }))).to.equal(null);
  });

  it('sums what held the loop and what was collected', () => {
    const data = collect({});
    expect(data.totals).to.deep.equal({ heldMs: 7.1, collectionMs: 2.2 });
    expect(panel.summary?.(data)).to.deep.equal({ text: '41.3 ms CPU', tone: 'plain' });
  });
});
