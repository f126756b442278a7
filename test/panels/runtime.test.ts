import { expect } from 'chai';
import { createRuntimePanel } from '../../app/panels/runtime.ts';
import { Context } from '../../app/profiler/context.ts';
import type { RuntimeReading } from '../../app/observe/runtime.ts';
import { lasting, reading } from '../support/observed-samples.ts';
import { dataOf, profileOf } from '../support/panel-data.ts';

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

function findingsOf(given: Partial<RuntimeReading>) {
  return profileOf(contextOf(given), [panel]).findings;
}

describe('the panel of the process', () => {
  it('has nothing to say where the process was not watched', () => {
    expect(panel.collect(new Context({ token: '000001', kind: 'request' }))).to.equal(null);
  });

  it('sums what held the loop and what was collected', () => {
    const data = collect({});
    expect(data.totals).to.deep.equal({ heldMs: 7.1, collectionMs: 2.2 });
    expect(panel.summary?.(data)).to.deep.equal({ text: '41.3 ms CPU', tone: 'plain' });
    expect(findingsOf({})).to.have.length(0);
  });

  it('says who may have held the loop: never more than it knows', () => {
    const held = [{ startMs: 10, durationMs: 20 }, { startMs: 100, durationMs: 80 }]; // prettier-ignore
    const [alone] = findingsOf({ held, concurrent: 1 });
    expect(alone?.sentence).to.equal(
      'The event loop was held for 100 ms of 300 ms, by this request or work beside it',
    );
    expect(alone).to.include({ anchor: 'h2', severity: 'warn' });
    expect(findingsOf({ held, concurrent: 3 })[0]?.sentence).to.contain('one of the 2 others that ran');
  });

  it('finds long collections', () => {
    const collections = [{ startMs: 1, durationMs: 60, kind: 'major' }];
    expect(findingsOf({ collections }).map(({ label }) => label)).to.deep.equal(['garbage collection']);
  });
});
