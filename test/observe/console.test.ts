import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { observeConsole } from '../../app/observe/logs/console.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

function createConsole(): { console: Console; written: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  return { console: new Console(stream, stream), written: () => text };
}

function newContext(): Context {
  return new Context({ token: '000001', kind: 'request' });
}

describe('console as it is observed', () => {
  const tracker = new ContextTracker();

  function observed(run: (target: Console) => void) {
    const plain = createConsole();
    run(plain.console);
    const watched = createConsole();
    const observation = observeConsole({
      tracker,
      findCaller: createCallerFinder(),
      console: watched.console,
    });
    const context = newContext();
    tracker.run(context, () => {
      run(watched.console);
    });
    observation.close();
    return { lines: context.all('log'), output: watched.written(), plain: plain.written() };
  }

  it('is left as it is where a host has frozen it', () => {
    const { console: target, written } = createConsole();
    const { log } = target;
    Object.freeze(target);
    const observation = observeConsole({ tracker, console: target });
    tracker.run(newContext(), () => {
      target.log('a line');
    });
    observation.close();
    expect(target.log).to.equal(log);
    expect(written()).to.equal('a line\n');
  });

  it('has what a mock has, as `expect(console.log)` reads it', () => {
    const { console: target } = createConsole();
    const calls: unknown[] = [];
    target.log = Object.assign((line: unknown) => void calls.push(line), { mock: { calls } });
    const observation = observeConsole({ tracker, console: target });
    target.log('a line');
    expect(target.log).to.have.deep.property('mock', { calls: ['a line'] });
    observation.close();
  });

  it('takes a warning of Node.js, which is written by console.error, for a warning', () => {
    const { lines } = observed((target) => {
      target.error('(node:17) [DEP0040] DeprecationWarning: The `punycode` module is deprecated.');
      target.error('(node:17) Warning: a listener was leaked');
      target.error('(node:17) broke');
    });
    expect(lines.map(({ level }) => level)).to.deep.equal(['warn', 'warn', 'error']);
  });

  it('keeps level, channel, message, context and caller, and leaves the output as it is', () => {
    const { lines, output, plain } = observed((target) => {
      target.log('order %s of %d: %o', 'A1', 7, { open: true }, 'extra', { total: 3 });
      target.warn('slow');
      target.error(new TypeError('no such thing'));
      target.debug({ only: 'data' });
      target.table([{ a: 1 }]);
    });
    const withoutStack = (text: string): string => text.replace(/^ +at .*\n/gm, '');
    expect(withoutStack(output)).to.equal(withoutStack(plain));
    expect(lines.map(({ level, channel }) => `${level} ${channel}`)).to.deep.equal([
      'info console.log',
      'warn console.warn',
      'error console.error',
      'debug console.debug',
      'info console.table',
    ]);
    expect(lines[0]?.message).to.equal('order A1 of 7: {"open":true} extra');
    expect({ ...(lines[0]?.context as object) }).to.deep.equal({ total: 3 });
    expect(lines[0]?.caller).to.match(/^test\/observe\/console\.test\.ts:\d+$/);
    expect(lines[2]?.message).to.equal('TypeError: no such thing');
    expect(JSON.stringify(lines[2]?.context)).to.contain('console.test.ts');
    expect(lines[3]?.message).to.equal('{"only":"data"}');
  });

  it('calls no code of what is logged, and survives what cannot be read', () => {
    let called = 0;
    const hostile = {
      get secret() {
        called++;
        return 1;
      },
      toJSON() {
        called++;
        return {};
      },
    };
    const context = newContext();
    const { console: target } = createConsole();
    const observation = observeConsole({ tracker, console: target });
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    tracker.run(context, () => {
      target.log('%s', Symbol('x'), hostile);
      target.info('bad %d', Symbol('y'), revoked.proxy);
    });
    observation.close();
    expect(called).to.equal(0);
    expect(context.all('log')).to.have.length(2);
    expect(context.first('log')?.message).to.equal('Symbol(x)');
  });

  it('is undone on close, and says nothing outside of a request', () => {
    const { console: target } = createConsole();
    const { log } = target;
    const observation = observeConsole({ tracker, console: target });
    expect(target.log).not.to.equal(log);
    target.log('nobody asks');
    observation.close();
    expect(target.log).to.equal(log);
  });

  it('keeps the first and the last lines of a flood, and its errors', () => {
    const { console: target } = createConsole();
    const at = { caller: 'src/loop.ts:3' };
    const findCaller = Object.assign(() => at.caller, { called: () => at, later: () => () => at });
    const observation = observeConsole({ tracker, console: target, findCaller });
    const context = newContext();
    tracker.run(context, () => {
      for (let line = 0; line < 20_000; line++)
        if (line === 12_345) target.error('line', line);
        else target.log('line', line);
    });
    observation.close();
    const kept = context.all('log').map(({ message }) => message);
    expect(kept).to.include.members(['line 0', 'line 12345', 'line 19900', 'line 19999']);
    expect(kept).to.not.include('line 12346');
    const { count = 0, byKey } = context.beyond('log') ?? {};
    expect(kept.length + count).to.equal(20_000);
    expect([...(byKey ?? [])].map(([key, counted]) => [key, counted.count])).to.deep.equal([
      ['src/loop.ts:3\ninfo', count],
    ]);
  });
});
