import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { observeRuntime, type RuntimeObserver } from '../../app/observe/runtime.ts';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { layer } from '../support/observed-samples.ts';
import { requestFact } from '../support/page-fixture.ts';
import { findProgram, skipOrFail } from '../support/parts.ts';
import { until } from '../support/waiting.ts';

function holdLoop(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Works until the process has used that much CPU: by the clock alone, a busy machine may have given it none. */
function useCpu(ms: number): void {
  const before = process.cpuUsage();
  const giveUp = performance.now() + 5000;
  while (performance.now() < giveUp) {
    const { user, system } = process.cpuUsage(before);
    if (user + system >= ms * 1000) return;
  }
}

describe('the process as it is observed', () => {
  let observer: RuntimeObserver;
  beforeEach(() => {
    observer = observeRuntime({ tracker: new ContextTracker(), findCaller: createCallerFinder() });
  });
  afterEach(() => {
    observer.close();
  });

  function begin(): Context {
    const context = new Context({ token: '000001', kind: 'request' });
    observer.onRequest(context);
    return context;
  }

  it('tells CPU, loop, memory and how many requests ran', () => {
    const context = begin();
    begin();
    useCpu(30);
    context.end();
    const reading = context.first('runtime')?.read();
    expect((reading?.cpuUserMs ?? 0) + (reading?.cpuSystemMs ?? 0)).to.be.greaterThan(10);
    expect(reading?.concurrent).to.equal(2);
    expect(reading?.memory.heapUsed).to.be.greaterThan(1e6);
  });

  it('counts the requests that overlapped, also one that began later and ended before', () => {
    const before = begin();
    before.end();
    const first = begin();
    const inside = begin();
    inside.end();
    inside.first('runtime')?.read();
    const until = begin();
    first.end();
    const after = begin();
    const overlapping = [before, inside, first, until, after].map(
      (context) => context.first('runtime')?.read().concurrent,
    );
    expect(overlapping).to.deep.equal([1, 2, 3, 3, 2]);
  });

  it('finds blocks of the loop, also by the code that ends the request', async () => {
    const context = begin();
    /** Holds the loop; when that began and ended. */
    const hold = (): [number, number] => {
      const from = context.elapsedMs();
      useCpu(150);
      return [from, context.elapsedMs()];
    };
    await sleep(45);
    const first = hold();
    await sleep(30);
    const second = hold();
    context.end();
    // A busy machine may hold the loop for moments of its own, also right before and after.
    const blocks = context.first('runtime')?.read().blocks ?? [];
    const during = ([from, to]: [number, number]) =>
      blocks.find(
        ({ startMs, durationMs }) => Math.min(startMs + durationMs, to) - Math.max(startMs, from) >= 60,
      );
    const [one, other] = [during(first), during(second)];
    expect(one?.startMs).to.be.lessThan(other?.startMs ?? 0);
    expect((one?.startMs ?? 0) + (one?.durationMs ?? Infinity)).to.be.lessThan(second[0]);
    expect(other?.startMs).to.be.greaterThan(first[1]);
  });

  it('holds nobody to blame for a loop that had nothing to do and was woken late', async function () {
    if (process.platform === 'win32') this.skip();
    // As a laptop that sleeps, or a machine that has others to serve.
    const stop = `sleep 0.1; kill -STOP ${process.pid}; sleep 0.5; kill -CONT ${process.pid}`;
    const longestBlock = async (): Promise<number> => {
      const context = begin();
      const startedAt = performance.now();
      await once(spawn('sh', ['-c', stop], { stdio: 'ignore' }), 'exit');
      expect(performance.now() - startedAt).to.be.greaterThan(500);
      context.end();
      const { blocks = [] } = context.first('runtime')?.read() ?? {};
      return Math.max(0, ...blocks.map(({ durationMs }) => durationMs));
    };
    // On a busy machine the signal may meet a loop that is at work.
    for (let attempt = 1; attempt < 5; attempt++) if ((await longestBlock()) < 300) return;
    expect(await longestBlock()).to.be.lessThan(300);
  });

  it('does not count as a block what the thread waited for a CPU', async function () {
    if (process.platform !== 'linux') this.skip();
    if (findProgram(['taskset']) === null) skipOrFail(this, 'taskset');
    const script = new URL('../support/starved-process.ts', import.meta.url);
    // One CPU for both: whatever one of them uses, the other waits for.
    const command = ['-c', '0', process.execPath, '--import', 'tsx', fileURLToPath(script)];
    const child = spawn('taskset', command, { stdio: ['ignore', 'pipe', 'inherit'] });
    const output = await text(child.stdout);
    const { wallMs, cpuMs, waitedMs, blockedMs } = JSON.parse(output) as Record<string, number>;
    expect(waitedMs).to.be.above(0.3 * wallMs!);
    // More than its CPU time where the machine below Linux gave the processor to another.
    expect(blockedMs).to.be.within(0.25 * cpuMs!, wallMs! - waitedMs! + 0.2 * cpuMs!);
  });

  it('tells how little CPU was used while the process stood still at work', async function () {
    if (process.platform === 'win32') this.skip();
    const context = begin();
    await sleep(45);
    const stop = `kill -STOP ${process.pid}; sleep 0.5; kill -CONT ${process.pid}`;
    // Before the shell begins, which may stop this process at once.
    const from = performance.now();
    const child = spawn('sh', ['-c', stop], { stdio: 'ignore' });
    let longest = 0;
    for (let last = from; longest < 400 && last - from < 5000;) {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
    context.end();
    await once(child, 'exit');
    const [block] = (context.first('runtime')?.read().blocks ?? []).sort(
      (a, b) => b.durationMs - a.durationMs,
    );
    expect(block?.durationMs).to.be.above(400);
    expect(block?.cpuMs).to.be.below((block?.durationMs ?? 0) - 400);
  });

  it('names the request that blocked the loop where its own work shows it, to all that ran', async () => {
    const victim = begin();
    const holder = new Context({ token: 'abc123', kind: 'request' });
    holder.add('request', requestFact({ url: '/reports/daily?secret=1' }));
    observer.onRequest(holder);
    await sleep(45);
    const startMs = holder.elapsedMs();
    useCpu(150);
    const durationMs = holder.elapsedMs() - startMs;
    holder.add('layer', layer({ name: 'buildReport', startMs, durationMs }));
    await sleep(50);
    useCpu(150);
    await sleep(30);
    victim.end();
    const blocks = (victim.first('runtime')?.read().blocks ?? []).filter(({ durationMs: ms }) => ms >= 30);
    const known = blocks.filter(({ by }) => by !== undefined);
    expect(known.map(({ by }) => by)).to.deep.equal([
      { profile: 'abc123', what: 'GET /reports/daily', where: 'buildReport', place: 'src/app.ts:28' },
    ]);
    const endMs = (known[0]?.startMs ?? 0) + (known[0]?.durationMs ?? 0);
    expect(blocks.some(({ startMs: from, by }) => from > endMs && by === undefined)).to.equal(true);
  });

  it('says how long a request may have waited before it was read, and for whom', async () => {
    /** A busy machine lets the loop itself wait. */
    const afterPause = async (): Promise<Context> => {
      let context = begin();
      await until(async () => {
        context.end();
        await sleep(30);
        context = begin();
        return context.first('runtime')?.read().before === undefined;
      }, 'nothing has just blocked the loop');
      return context;
    };
    const waitBehindAnother = async () => {
      const blocking = await afterPause();
      blocking.add('request', requestFact({ url: '/reports/daily' }));
      // As a request that arrives meanwhile: it is read once the loop is free.
      const arrived = new Promise<Context>((done) => {
        setTimeout(() => {
          done(begin());
        }, 30);
      });
      const startMs = blocking.elapsedMs();
      useCpu(120);
      const durationMs = blocking.elapsedMs() - startMs;
      blocking.add('layer', layer({ name: 'buildReport', startMs, durationMs }));
      const waiting = await arrived;
      return { own: blocking.first('runtime')?.read().before, of: waiting.first('runtime')?.read().before };
    };
    let before = await waitBehindAnother();
    // Something else took the processor at its end.
    await until(async () => {
      if (before.of?.by === undefined) before = await waitBehindAnother();
      return before.of?.by !== undefined;
    }, 'the wait is of the request that blocked the loop');
    expect(before.of?.durationMs).to.be.above(60);
    expect(before.of?.by).to.deep.include({ profile: '000001', where: 'buildReport' });
    expect(before.own).to.equal(undefined);
    await afterPause();
  });

  it('counts no time of Hindsight’s own work', async () => {
    const context = begin();
    const goOn = context.stopClock('error page');
    expect(context.stopClock('snapshot'), 'work within work').to.be.a('function');
    const stoppedMs = context.elapsedMs();
    holdLoop(80);
    expect(context.elapsedMs()).to.equal(stoppedMs);
    goOn();
    await sleep(25);
    context.end();
    expect(context.durationMs).to.be.above(stoppedMs + 20);
    expect(performance.now() - context.startMark - context.durationMs!).to.be.above(79);
    const [own, ...others] = context.ownWork;
    expect(own!.to - own!.from).to.be.above(79);
    expect(others).to.deep.equal([]);
  });

  it('finds collections within the request', async () => {
    const context = begin();
    const kept: unknown[] = [];
    for (let round = 0; round < 60; round++) {
      kept.push(Array.from({ length: 20_000 }, (_, index) => ({ index })));
      if (kept.length > 5) kept.shift();
    }
    const found = () => context.first('runtime')?.read().collections ?? [];
    await until(() => found().length > 0, 'a collection is told');
    context.end();
    const collections = found();
    expect(collections[0]?.kind).to.be.a('string');
  });

  it('keeps its figures once the request has ended', () => {
    const context = begin();
    context.end();
    const first = context.first('runtime')?.read();
    holdLoop(20);
    expect(context.first('runtime')?.read()).to.equal(first);
  });
});
