/** Who sees what was recorded: the same guard stands before the profiler's pages and before what an error page shows. */
import { expect } from 'chai';
import type { IncomingMessage } from 'node:http';
import express from 'express';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';
import { createGuard, createPasswordGuesses } from '../../app/middleware/guard.ts';
import { createService, readConfig } from '../../app/service.ts';
import { close, listen } from '../support/listen.ts';
import { exchange } from '../support/raw-http.ts';

const PASSWORD = 'correct horse battery';
/** What the full page has, and the short one must not have. */
const INSIDE = /guard\.test\.ts|node_modules|the message inside|\/err\b|Express|cause of it/;

function basic(password: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`me:${password}`).toString('base64')}` };
}

interface Host {
  profiler: Profiler;
  port: number;
  warnings: string[];
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

const open: (() => Promise<unknown>)[] = [];

async function startHost(options: ProfilerOptions): Promise<Host> {
  const warnings: string[] = [];
  const profiler = createProfiler({ observe: false, warn: (line) => warnings.push(line), ...options });
  const app = express();
  app.use(profiler.watch, profiler.pages);
  app.get('/err', () => {
    throw new Error('the message inside', { cause: new Error('cause of it') });
  });
  app.use(profiler.notFound, profiler.errors);
  const { server, port } = await listen(app);
  open.push(() => close(server, profiler));
  return {
    profiler,
    port,
    warnings,
    get: (path, headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers }),
  };
}

async function expectShort(answer: Response, status: number): Promise<void> {
  const body = await answer.text();
  expect(answer.status).to.equal(status);
  expect(body).to.not.match(INSIDE);
  expect(body.length).to.be.below(400);
  expect(answer.headers.get('x-debug-token')).to.match(/^[0-9a-f]{6}$/);
  expect(answer.headers.get('x-debug-token-link')).to.match(/\/_profiler\/[0-9a-f]{6}$/);
  expect(answer.headers.get('x-previous-debug-token')).to.match(/^[0-9a-f]{6}$/);
}

async function expectFull(answer: Response): Promise<void> {
  expect(await answer.text())
    .to.contain('guard.test.ts')
    .and.contain('the message inside');
}

describe('the error page behind a guard', () => {
  afterEach(() => Promise.all(open.splice(0).map((end) => end())));

  it('is short without the password, and full with it; the owner opens its token', async () => {
    const { get } = await startHost({ password: PASSWORD });
    await expectShort(await get('/err'), 500);
    await expectShort(await get('/err', basic('wrong')), 500);
    await expectShort(await get('/_profiler/'), 401);
    await expectShort(await get('/_profiler/nothing/here'), 401);
    await expectFull(await get('/err', basic(PASSWORD)));
    const token = (await get('/err')).headers.get('x-debug-token') ?? '';
    const page = await get(`/_profiler/${token}/exception`, basic(PASSWORD));
    expect(await page.text()).to.contain('the message inside');
    await expectShort(await get('/no/such/place'), 404);
  });

  const rules: [name: string, rule: unknown, isIn: boolean][] = [
    ['says true', () => true, true],
    ['resolves to true', () => Promise.resolve(true), true],
    ['says false', () => false, false],
    ['says "no"', () => 'no', false],
    ['says 1', () => 1, false],
    [
      'throws',
      () => {
        throw new Error('authorize: the message inside');
      },
      false,
    ],
    ['rejects', () => Promise.reject(new Error('authorize: the message inside')), false],
    ['never settles', () => new Promise(() => undefined), false],
  ];
  for (const [name, authorize, isIn] of rules) {
    it(`obeys an authorize that ${name}`, async () => {
      const { get, warnings } = await startHost({ authorize: authorize as () => boolean });
      const [error, page] = await Promise.all([get('/err'), get('/_profiler/')]);
      if (isIn) {
        await expectFull(error);
        expect(page.status).to.equal(200);
      } else {
        await expectShort(error, 500);
        await expectShort(page, 403);
      }
      const said = warnings.filter((line) => line.startsWith('authorize failed'));
      // The second one is counted.
      expect(said.length).to.equal(/throws|rejects|never/.test(name) ? 1 : 0);
    });
  }

  it('asks authorize once per request', async () => {
    let asked = 0;
    const { get } = await startHost({ authorize: () => ++asked < 0 });
    await expectShort(await get('/_profiler/'), 403);
    expect(asked).to.equal(1);
  });

  it('is full where there is no guard', async () => {
    const { get } = await startHost({});
    await expectFull(await get('/err'));
  });

  it('is short for what the parser of the service refuses, and for its routes', async () => {
    const service = createService({
      config: readConfig({ APP_ENV: 'dev', PROFILER_PASSWORD: PASSWORD }),
      routes: [],
      log: () => undefined,
      writeAccess: () => undefined,
    });
    const { port } = await listen(service.server);
    open.push(() => service.close());
    await expectShort(await fetch(`http://127.0.0.1:${port}/nope`), 404);
    const { responses } = await exchange(port, ['GET /x HTTP/1.1\r\nbad header\r\n\r\n']);
    expect(responses[0]?.status).to.equal(400);
    expect(responses[0]?.body.length).to.be.below(400);
    expect(responses[0]?.headers['x-debug-token']).to.match(/^[0-9a-f]{6}$/);
    const full = await fetch(`http://127.0.0.1:${port}/nope`, { headers: basic(PASSWORD) });
    expect((await full.text()).length).to.be.above(5000);
  });

  it('does not start with an empty password', () => {
    expect(() => createProfiler({ password: '' })).to.throw('createProfiler: password is empty');
    for (const given of ['', '  '])
      expect(() => readConfig({ PROFILER_PASSWORD: given })).to.throw('PROFILER_PASSWORD is empty');
  });
});

describe('guesses at the password', () => {
  let waited: number[] = [];
  let warnings: string[] = [];

  function openGuard(): (given: string | null, address?: string, url?: string) => Promise<boolean> {
    [waited, warnings] = [[], []];
    const guard = createGuard({
      password: PASSWORD,
      hosts: [],
      isFromProxy: () => false,
      addressOf: ({ socket }) => String(socket.remoteAddress),
      warn: (line) => warnings.push(line),
      wait: (ms) => Promise.resolve(waited.push(ms)),
    });
    return async (given, address = '192.0.2.7', url = '/_profiler/') => {
      const headers = given === null ? {} : basic(given);
      const req = { url, headers, socket: { remoteAddress: address } } as unknown as IncomingMessage;
      const maySee = await guard.maySee(req);
      const passes = await guard.check(req).then(
        () => true,
        () => false,
      );
      expect(passes).to.equal(maySee);
      return passes;
    };
  }

  async function guess(
    times: number,
    ask: (given: string, address?: string) => Promise<boolean>,
    address?: string,
  ) {
    for (let at = 0; at < times; at++)
      expect(await ask(`guess ${at} at ${address}`, address)).to.equal(false);
  }

  it('wait longer and longer, to two seconds; the right one waits, too, and passes', async () => {
    const ask = openGuard();
    await guess(10, ask);
    expect(waited).to.deep.equal([]);
    await guess(5, ask, '192.0.2.7');
    expect(waited).to.deep.equal([250, 500, 1000, 2000, 2000]);
    expect(await ask(PASSWORD)).to.equal(true);
    expect(waited.at(-1)).to.equal(2000);
    expect(await ask(PASSWORD, '192.0.2.8'), 'another address').to.equal(true);
    expect(await ask(null), 'no password is no guess').to.equal(false);
    expect(waited).to.have.lengthOf(6);
    expect(warnings).to.have.lengthOf(1);
    expect(warnings[0]).to.match(/^10 wrong passwords .* 192\.0\.2\.7/);
  });

  it('are different passwords: one that a browser repeats counts once', async () => {
    const ask = openGuard();
    for (let at = 0; at < 50; at++) expect(await ask('an old password')).to.equal(false);
    expect(await ask(PASSWORD)).to.equal(true);
    expect(waited).to.deep.equal([]);
  });

  it('make error pages of the application short, and never late', async () => {
    const ask = openGuard();
    expect(await ask(PASSWORD, '192.0.2.7', '/err')).to.equal(true);
    for (let at = 0; at < 20; at++) await ask(`guess ${at}`, '192.0.2.7', '/err');
    expect(await ask(PASSWORD, '192.0.2.7', '/err')).to.equal(false);
    expect(waited).to.deep.equal([]);
    expect(await ask(PASSWORD)).to.equal(true);
  });

  it('from one network of IPv6, or from very many addresses, are counted together', async () => {
    const ask = openGuard();
    for (let at = 0; at < 12; at++) await ask(`guess ${at}`, `2001:db8::${at}`);
    expect(waited).to.deep.equal([250, 500]);
    for (let at = 0; at < 300; at++) await ask(`guess ${at}`, `10.0.${at >> 8}.${at & 255}`);
    expect(waited.length).to.be.greaterThan(30);
    expect(await ask(PASSWORD, '203.0.113.9')).to.equal(true);
    expect(waited.at(-1)).to.equal(2000);
  });

  it('are forgotten after a minute', () => {
    let clock = 0;
    const guesses = createPasswordGuesses(
      () => undefined,
      () => clock,
    );
    for (let at = 0; at < 20; at++) guesses.countWrong('192.0.2.7', `guess ${at}`);
    expect(guesses.delayMs('192.0.2.7')).to.equal(2000);
    clock = 60_001;
    expect(guesses.delayMs('192.0.2.7')).to.equal(0);
    guesses.countWrong('192.0.2.7', 'guess');
    expect(guesses.delayMs('192.0.2.7')).to.equal(0);
  });
});
