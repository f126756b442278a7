/** Loggers as they are, the libraries themselves, in a request: each line once, with level, channel, message, context, place. */
import { Console } from 'node:console';
import { PassThrough, Writable } from 'node:stream';
import { format } from 'node:util';
import { expect } from 'chai';
import debug from 'debug';
import express from 'express';
import morgan from 'morgan';
import pino from 'pino';
import winston, { type transport as Transport } from 'winston';
import { createResponseWatch } from '../../app/middleware/watched-response.ts';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { observeConsole } from '../../app/observe/logs/console.ts';
import { createLogGate, type LogFact } from '../../app/observe/logs/logs.ts';
import { observeOutput } from '../../app/observe/logs/output.ts';
import { observePino } from '../../app/observe/logs/pino.ts';
import { observeWinston } from '../../app/observe/logs/winston.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { listen } from '../support/listen.ts';

/** A stream that keeps what it is given, as standard output would. */
class Output extends Writable {
  text = '';
  override _write(chunk: unknown, _encoding: string, done: () => void): void {
    this.text += String(chunk);
    done();
  }
}

/** A transport of winston that writes to a stream. */
function transportTo(stream: Writable): Transport {
  return new winston.transports.Stream({ stream });
}

describe('loggers as they are observed', () => {
  const tracker = new ContextTracker();
  const findCaller = createCallerFinder();

  /** What `run` logs in a request, and what reached the two streams. */
  function observed(
    run: (streams: { stdout: Output; stderr: Output }) => void,
    { withWinston = false } = {},
  ): { lines: readonly LogFact[]; stdout: string; stderr: string } {
    const gate = createLogGate();
    const stdout = new Output();
    const stderr = new Output();
    const observers = [
      observeConsole({ tracker, gate, findCaller }),
      observePino({ tracker, gate, findCaller }),
      observeOutput({ tracker, gate, findCaller, stdout, stderr }),
      ...(withWinston ? [observeWinston(winston, { tracker, gate, findCaller })] : []),
    ];
    const context = new Context({ token: '000001', kind: 'request' });
    try {
      tracker.run(context, () => {
        run({ stdout, stderr });
      });
    } finally {
      for (const observer of observers) observer.close();
    }
    return { lines: context.all('log'), stdout: stdout.text, stderr: stderr.text };
  }

  const HERE = /^test\/observe\/loggers\.test\.ts:\d+$/;
  const shortly = ({ level, channel, message }: LogFact): string => `${level} ${channel}: ${message}`;

  it('pino: level, name, placeholders filled, children, what it redacts itself', () => {
    const { lines, stdout } = observed((streams) => {
      const logger = pino({ level: 'trace', redact: ['password'] }, streams.stdout);
      logger.info('order %s of %d', 'A1', 7);
      logger.child({ name: 'tax', orderId: 4712 }).warn({ tookMs: 148, password: 'hunter22' }, 'slow');
      logger.error(new TypeError('no such thing'));
      logger.trace('deep');
    });
    expect(lines.map(shortly)).to.deep.equal([
      'info pino: order A1 of 7',
      'warn tax: slow',
      'error pino: no such thing',
      'debug pino: deep',
    ]);
    expect(lines[1]?.context).to.deep.equal({ orderId: 4712, tookMs: 148, password: '[Redacted]' });
    expect(JSON.stringify(lines[2]?.context)).to.contain('loggers.test.ts');
    for (const { caller } of lines) expect(caller).to.match(HERE);
    expect(stdout.trim().split('\n'), 'and still written').to.have.length(4);
  });

  it('winston, handed over: level, label, placeholders filled, meta, also where it writes to no console', () => {
    const { lines } = observed(
      () => {
        const logger = winston.createLogger({
          level: 'info',
          transports: transportTo(new PassThrough()),
        });
        logger.info('order %s of %d', 'A1', 7);
        logger.warn('slow', { tookMs: 148 });
        logger.child({ label: 'tax' }).error('no rates');
        logger.debug('below the level of the logger');
      },
      { withWinston: true },
    );
    expect(lines.map(shortly)).to.deep.equal([
      'info winston: order A1 of 7',
      'warn winston: slow',
      'error tax: no rates',
    ]);
    expect(lines[1]?.context).to.deep.equal({ tookMs: 148 });
    for (const { caller } of lines) expect(caller).to.match(HERE);
  });

  it('a line of JSON that is long, of bytes, or one of several', () => {
    const long = { level: 'error', message: 'payment failed', ctx: 'x'.repeat(200_000) };
    const { lines } = observed(({ stdout }) => {
      stdout.write(`${JSON.stringify(long)}\n`);
      stdout.write('{"level":50,"msg":"a"}\n{"level":30,"msg":"b"}\n');
      stdout.write(Buffer.from('{"level":50,"msg":"of bytes"}\n'));
      stdout.write(new Uint8Array(Buffer.from('plain bytes\n')));
      stdout.write(`${'y'.repeat(20_000)}\n`);
      stdout.write('{ not: json\n}\n');
    });
    expect(lines.map(shortly).map((line) => line.slice(0, 40))).to.deep.equal([
      'error stdout: payment failed',
      'error stdout: a',
      'info stdout: b',
      'error stdout: of bytes',
      'info stdout: plain bytes',
      `info stdout: ${'y'.repeat(27)}`,
      'info stdout: { not: json\n}',
    ]);
    expect(lines[5]?.message).to.match(/y… \(11808 more characters\)$/);
  });

  it('winston, not handed over: by what its console transport writes', () => {
    const { lines } = observed(({ stdout }) => {
      for (const style of [winston.format.json(), winston.format.simple()]) {
        const transports = transportTo(stdout);
        const logger = winston.createLogger({ format: style, transports });
        logger.warn('slow', { tookMs: 148 });
      }
    });
    expect(lines.map(shortly)).to.deep.equal(['warn stdout: slow', 'warn stdout: warn: slow {"tookMs":148}']);
    expect(lines[0]?.context).to.deep.equal({ tookMs: 148 });
  });

  for (const colours of [false, true]) {
    it(`debug: its namespace, ${colours ? 'without its colours' : 'without its date'}`, () => {
      const { lines, stderr } = observed(({ stderr: stream }) => {
        const log = debug('shop:orders');
        log.enabled = true;
        (log as unknown as { useColors: boolean }).useColors = colours;
        log.log = (...args: unknown[]) => void stream.write(`${format(...args)}\n`);
        log('order %s of %d', 'A1', 7);
      });
      expect(lines.map(shortly)).to.deep.equal(['debug shop:orders: order A1 of 7']);
      expect(stderr.includes('\u001b')).to.equal(colours);
      expect(lines[0]?.caller).to.match(HERE);
    });
  }

  it('morgan: the line of the answer, though it is over by then', async () => {
    const gate = createLogGate();
    const stdout = new Output();
    const observer = observeOutput({ tracker, gate, findCaller, stdout, stderr: new Output() });
    const contexts: Context[] = [];
    const responses = createResponseWatch({
      tracker,
      previewBytes: 0,
      onHeaders: () => undefined,
      onClose: (context) => {
        context.end();
      },
    });
    const app = express();
    app.use((_req, res, next) => {
      const context = new Context({ token: '000001', kind: 'request' });
      contexts.push(context);
      responses.watch(res, context);
      tracker.run(context, next);
    });
    app.use(morgan(':method :url :status', { stream: stdout }));
    app.get('/orders/:id', (_req, res) => void res.send('here'));
    const { server, origin: address } = await listen(app);
    for (const id of [1, 2]) await (await fetch(`${address}/orders/${id}`)).text();
    server.close();
    observer.close();
    const lines = contexts.flatMap((context) => [...context.all('log')]);
    expect(lines.map(shortly)).to.deep.equal([
      'info morgan: GET /orders/1 200',
      'info morgan: GET /orders/2 200',
    ]);
    expect(lines.map(({ caller }) => caller)).to.deep.equal([null, null]);
  });

  it('console: one line is one fact, though it passes standard output', () => {
    const { lines } = observed(({ stdout, stderr }) => {
      const target = new Console(stdout, stderr);
      const observer = observeConsole({ tracker, console: target });
      target.log('100%%');
      target.log('\u001b[31mred\u001b[0m %s', 'fish');
      observer.close();
    });
    // The gate is another's here: both see the line.
    expect(lines.map(shortly)).to.deep.equal([
      'info console.log: 100%%',
      'info stdout: 100%%',
      'info console.log: red fish',
      'info stdout: red fish',
    ]);
    const shared = createLogGate();
    const stdout = new Output();
    const target = new Console(stdout);
    const observers = [
      observeConsole({ tracker, gate: shared, console: target }),
      observeOutput({ tracker, gate: shared, stdout, stderr: new Output() }),
    ];
    const context = new Context({ token: '000001', kind: 'request' });
    tracker.run(context, () => {
      target.log('once');
    });
    for (const observer of observers) observer.close();
    expect(context.all('log').map(shortly)).to.deep.equal(['info console.log: once']);
  });

  it('leave the streams as they were, and never take in what the profiler itself says', () => {
    const stdout = new Output();
    const { write } = stdout;
    const observer = observeOutput({ tracker, gate: createLogGate(), stdout, stderr: new Output() });
    expect([stdout.write.name, stdout.write.length]).to.deep.equal([write.name, write.length]);
    const context = new Context({ token: '000001', kind: 'request' });
    tracker.run(context, () => {
      stdout.write('hindsight: a profile was not written\n');
      stdout.write(Buffer.from([0xff, 0xfe]));
      stdout.write('\n');
    });
    stdout.write('outside of a request');
    expect(context.all('log')).to.have.length(0);
    expect(stdout.text).to.equal('hindsight: a profile was not written\n\ufffd\ufffd\noutside of a request');
    observer.close();
    expect(stdout.write).to.equal(write);
  });
});
