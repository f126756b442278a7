/** Who sees what was recorded: the same guard stands before the profiler's pages and before what an error page shows. */
import { expect } from 'chai';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';
import { createService, readConfig } from '../../app/service.ts';
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

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function startHost(options: ProfilerOptions): Promise<Host> {
  const warnings: string[] = [];
  const profiler = createProfiler({ observe: false, warn: (line) => warnings.push(line), ...options });
  const app = express();
  app.use(profiler.watch, profiler.pages);
  app.get('/err', () => {
    throw new Error('the message inside', { cause: new Error('cause of it') });
  });
  app.use(profiler.notFound);
  app.use(profiler.errors);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  open.push(async () => {
    server.closeAllConnections();
    server.close();
    await profiler.close();
  });
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
  afterEach(() => Promise.all(open.splice(0).map((close) => close())));

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
      expect(said.length).to.equal(/throws|rejects|never/.test(name) ? 2 : 0);
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
    });
    const port = await listen(service.server);
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
