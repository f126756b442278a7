import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { observeLeftovers } from '../../app/observe/leftovers.ts';
import { ContextTracker } from '../../app/profiler/record/context.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';

const HERE = /^test\/findings\/keeps-growing\.test\.ts:\d+$/;

describe('finding keeps-growing', () => {
  const timers: NodeJS.Timeout[] = [];
  const emitter = new EventEmitter();
  const ask = withFindingsApp((app) => {
    app.get('/left', (_req, res) => {
      timers.push(
        setInterval(function poll() {
          timers.at(0)?.hasRef();
        }, 60_000).unref(),
      );
      res.send('left');
    });
    app.get('/cleared', (_req, res) => {
      const timer = setInterval(() => undefined, 60_000).unref();
      clearInterval(timer);
      res.send('cleared');
    });
    app.get('/listens', (_req, res) => {
      emitter.on('done', () => undefined);
      res.send('listens');
    });
    app.get('/reminder', async (_req, res) => {
      await new Promise<void>((done) => setTimeout(done, 29 * 86_400_000));
      res.send('sent');
    });
    app.get('/silent', (_req, res) => res.send('silent'));
  });
  after(() => {
    timers.forEach(clearInterval);
  });

  async function last(path: string, times: number) {
    for (let asked = 1; asked < times; asked++) await ask(path);
    return (await ask(path)).of('keeps-growing');
  }

  it('counts the intervals that ended requests have left', async () => {
    expect(await last('/left', 5)).to.deep.equal([]);
    const [finding] = await last('/left', 1);
    expect(finding).to.include({
      label: 'timers grow',
      sentence:
        'This request set an interval (poll), and 5 that earlier requests set on the same line still run',
    });
    expect(finding?.place).to.match(HERE);
  });

  it('names a timer that Node.js could not hold', async () => {
    const [finding] = (await ask('/reminder')).of('timer-too-long');
    expect(finding).to.include({
      label: 'timer ran at once',
      sentence: 'A timer was set for 29.0 days and ran after 1 ms: Node.js can’t wait longer than 24.8 days',
    });
    expect(finding?.place).to.match(HERE);
  });

  it('names the listener of which Node.js warns, and each one after it', async () => {
    expect(await last('/listens', 10)).to.deep.equal([]);
    for (const count of [11, 12]) {
      const [finding] = await last('/listens', 1);
      expect(finding?.sentence).to.equal(
        `This request added a listener for “done”, which has ${count} now, more than its emitter expects`,
      );
      expect(finding?.place).to.match(HERE);
    }
  });

  it('is silent about what is cleared, and requests that add nothing', async () => {
    expect(await last('/cleared', 8)).to.deep.equal([]);
    expect(await last('/silent', 1)).to.deep.equal([]);
  });

  it('tells which interval ran while the event loop was blocked', async () => {
    const leftovers = observeLeftovers({ tracker: new ContextTracker(), findCaller: createCallerFinder() });
    let ran: [from: number, to: number] | undefined;
    const timer = setInterval(function prune() {
      const from = performance.now();
      while (performance.now() - from < 30);
      ran = [from, performance.now()];
    }, 5);
    await until(() => ran !== undefined, 'the interval ran');
    clearInterval(timer);
    await pause(1);
    const [from, to] = ran ?? [0, 0];
    const holder = leftovers.holder(from, to);
    expect(holder?.name).to.equal('prune');
    expect(holder?.place).to.match(HERE);
    expect(leftovers.holder(from - 300, to)).to.equal(null);
    leftovers.close();
  });
});
