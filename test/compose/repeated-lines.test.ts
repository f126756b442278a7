/** The same error or warning, again and again: printed once a minute, and counted. */
import { expect } from 'chai';
import express from 'express';
import request from 'supertest';
import { createErrorLog, createRepeatedLines, type Clock } from '../../app/compose/repeated-lines.ts';
import { createProfiler } from '../../app/index.ts';

const MINUTE = 60_000;

function createClock(): Clock & { pass(ms: number): void; waiting(): number } {
  let at = 0;
  const timers = new Set<{ due: number; run: () => void }>();
  return {
    now: () => at,
    after(ms, run) {
      const timer = { due: at + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(ms) {
      at += ms;
      for (const timer of timers) {
        if (timer.due > at) continue;
        timers.delete(timer);
        timer.run();
      }
    },
    waiting: () => timers.size,
  };
}

function broken(message = 'broken'): Error {
  return new Error(message);
}

function atLine(line: number, message = 'broken'): Error {
  const error = new Error(message);
  error.stack = `Error: ${message}\n    at f (/x/node_modules/y/z.js:1:2)\n    at g (/x/app.js:${line}:1)`;
  return error;
}

describe('repeated lines', () => {
  let printed: string[];
  let clock: ReturnType<typeof createClock>;
  let errors: ReturnType<typeof createErrorLog>;
  beforeEach(() => {
    printed = [];
    clock = createClock();
    const redactText = (text: string): string => text.replaceAll('hunter2', '***');
    errors = createErrorLog({ print: (line) => printed.push(line), redactText, clock });
  });

  it('are the first one with its stack, and a minute later how often it came again', () => {
    for (let at = 0; at < 1235; at++) errors.log(broken());
    expect(printed).to.have.length(1);
    expect(printed[0]).to.match(/^Error: broken\n {4}at broken \(.*repeated-lines\.test\.ts/);
    clock.pass(MINUTE);
    expect(printed.slice(1)).to.deep.equal(['the same error 1,234 times more within 60 s: Error: broken']);
    expect(clock.waiting(), 'nothing waits').to.equal(0);
    errors.log(broken());
    expect(printed).to.have.length(3);
    clock.pass(MINUTE);
    expect(printed, 'an error that came once has no second line').to.have.length(3);
  });

  it('are never those of different errors', () => {
    const same = [atLine(1), atLine(1)];
    const others = [atLine(2), atLine(1, 'other'), Object.assign(atLine(1), { stack: 'TypeError: broken' })];
    for (const error of [...same, ...others, 'text', 'other text']) errors.log(error);
    expect(printed).to.have.length(6);
    const [first, second] = ['one', 'two'].map((end) => broken(`x\n    at f (/x/app.js:1:1)\n${end}`));
    errors.log(first);
    errors.log(second);
    expect(printed, 'a message that looks like a stack').to.have.length(8);
    const libraries = ['y', 'z'].map((name) =>
      Object.assign(broken(), { stack: `Error: broken\n    at f (/x/node_modules/${name}/a.js:1:2)` }),
    );
    libraries.forEach(errors.log);
    expect(printed, 'no line of its own').to.have.length(10);
  });

  it('count what was counted so far where there are too many different ones', () => {
    errors.log('first');
    errors.log('first');
    for (let at = 0; at < 100; at++) errors.log(`another ${at}`);
    expect(printed).to.have.length(102);
    expect(printed.filter((line) => line.startsWith('the same'))).to.deep.equal([
      'the same error 1 time more within 60 s: first',
    ]);
    errors.log('first');
    expect(printed.at(-1), 'it was forgotten').to.equal('first');
  });

  it('are said at close, masked, and not held after it', () => {
    for (let at = 0; at < 3; at++) errors.log('password hunter2\nmore');
    errors.close();
    expect(printed).to.deep.equal([
      'password ***\nmore',
      'the same error 2 times more within 60 s: password ***',
    ]);
    expect(clock.waiting()).to.equal(0);
    errors.log('late');
    errors.log('late');
    expect(printed.slice(2)).to.deep.equal(['late', 'late']);
    expect(clock.waiting()).to.equal(0);
  });

  it('do not end the process where the host’s own function throws', () => {
    const said: string[] = [];
    const print = (line: string): void => {
      said.push(line);
      if (said.length > 1) throw new Error('no log');
    };
    const warnings = createRepeatedLines({ what: 'warning', print, clock });
    warnings.say('x', () => 'x');
    warnings.say('x', () => 'x');
    clock.pass(MINUTE);
    expect(said).to.deep.equal(['x', 'the same warning 1 time more within 60 s: x']);
  });

  it('of a host: its route throws in each request', async () => {
    const profiler = createProfiler({ enabled: true, observe: false, warn: (line) => printed.push(line) });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/broken', () => {
      throw new Error('the route is broken');
    });
    app.use(profiler.errors);
    for (let at = 0; at < 50; at++) await request(app).get('/broken').expect(500);
    expect(printed).to.have.length(1);
    expect(printed[0]).to.match(/^Error: the route is broken\n {4}at /);
    await profiler.close();
    expect(printed.slice(1)).to.deep.equal([
      'the same error 49 times more within 60 s: Error: the route is broken',
    ]);
  });

  it('of a host: its rule for the pages throws in each request', async () => {
    const authorize = (): never => {
      throw new Error('no session');
    };
    const profiler = createProfiler({
      enabled: true,
      observe: false,
      authorize,
      warn: (line) => printed.push(line),
    });
    const app = express().use(profiler.watch, profiler.pages, profiler.errors);
    for (let at = 0; at < 3; at++) await request(app).get('/_profiler/').expect(403);
    await profiler.close();
    expect(printed).to.have.length(2);
    expect(printed[1]).to.match(/^the same warning 2 times more within 60 s: authorize failed/);
  });
});
