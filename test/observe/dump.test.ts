import { expect } from 'chai';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { createDump } from '../../app/observe/logs/dump.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

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

  it('names the class of a value, and survives what is hostile, cyclic or far too big, without running its code', () => {
    let ran = 0;
    const run = (): never => {
      ran++;
      throw new Error('ran');
    };
    const cyclic: Record<string, unknown> = { id: 1 };
    cyclic.self = cyclic;
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const getters = Object.defineProperties(
      {},
      { secret: { get: run, enumerable: true }, constructor: { get: run } },
    );
    const context = new Context({ token: '000001', kind: 'request' });
    tracker.run(context, () => {
      dump(new Map([['a', 1]]));
      dump(new TypeError('no such thing'));
      dump(cyclic);
      dump(revoked.proxy);
      dump(getters);
      dump(new Proxy({}, { ownKeys: run, getPrototypeOf: run, get: run }));
      dump('x'.repeat(10_000_000));
      dump(Array.from({ length: 1_000_000 }, (_, index) => index));
      dump(Object.create(null));
    });
    const facts = context.all('dump');
    expect(facts.map(({ type }) => type)).to.deep.equal(['Map', 'TypeError', 'object', 'object', 'object', 'object', 'string', 'list', 'object']); // prettier-ignore
    expect(JSON.stringify(facts[2]?.value)).to.equal('{"id":1,"self":"[circular]"}');
    expect(JSON.stringify(facts).length).to.be.lessThan(20_000);
    expect(ran).to.equal(0);
  });

  it('stores where a dumped error was made, also inside of another value', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    tracker.run(context, () => dump({ failed: new TypeError('no such thing') }));
    const [fact] = context.all('dump');
    const { failed } = fact?.value as { failed: { class: string; message: string; stack: string[] } };
    expect(failed).to.include({ class: 'TypeError', message: 'no such thing' });
    expect(failed.stack[0]).to.match(/^at .*dump\.test\.ts:\d+/);
  });

  it('does nothing outside of a request', () => {
    expect(dump(3)).to.equal(3);
  });
});
