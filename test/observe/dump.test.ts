import { expect } from 'chai';
import { createCallerFinder } from '../../app/observe/caller.ts';
import { createDump } from '../../app/observe/dump.ts';
import { Context, ContextTracker } from '../../app/profiler/context.ts';

describe('dump', () => {
  const tracker = new ContextTracker();
  const dump = createDump({ tracker, findCaller: createCallerFinder() });

  it('keeps a copy with label and caller, and gives the value back', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    const order = { id: 7, lines: [1] };
    const back = tracker.run(context, () => dump(order, 'order'));
    order.id = 8;
    expect(back).to.equal(order);
    const [fact] = context.all('dump');
    expect(JSON.stringify(fact?.value)).to.equal('{"id":7,"lines":[1]}');
    expect(fact).to.include({ label: 'order', type: 'object' });
    expect(fact?.caller).to.match(/^test\/observe\/dump\.test\.ts:\d+$/);
  });

  it('does nothing outside of a request', () => {
    expect(dump(3)).to.equal(3);
  });
});
