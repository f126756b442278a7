/** Server-Timing over a socket: what is added when it is on, and that the application's own entries stay. */
import { expect } from 'chai';
import express from 'express';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProfiler } from '../../app/compose/create-profiler.ts';
import type { ProfilerOptions } from '../../app/compose/profiler-options.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import { createService, readConfig } from '../../app/service.ts';
import { close } from '../support/listen.ts';

type Respond = (req: IncomingMessage, res: ServerResponse, context: Context) => void;

const TOTAL = /^total;desc="until headers";dur=\d+\.\d$/;
const SQL = 'select secret from orders';

async function ask(server: Server, path = '/'): Promise<IncomingMessage> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: '127.0.0.1', port, path, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response;
}

async function respondWith(
  respond: Respond,
  options: ProfilerOptions = { serverTiming: true },
): Promise<IncomingMessage> {
  let context: Context;
  const onRequest = [(opened: Context): void => void (context = opened)];
  const profiler = createProfiler({ observe: false, onRequest, ...options, warn: () => undefined });
  const app = express();
  app.use(profiler.watch);
  app.use((req, res) => {
    respond(req, res, context);
  });
  app.use(profiler.errors);
  const server = createServer(app);
  try {
    return await ask(server);
  } finally {
    await close(server, profiler);
  }
}

/** The header as one text. */
function timingOf({ headers }: IncomingMessage): string | undefined {
  return headers['server-timing'] as string | undefined;
}

async function timing(...given: Parameters<typeof respondWith>): Promise<string[]> {
  return (timingOf(await respondWith(...given)) ?? '').split(', ');
}

/** Two that overlap, one cache command, and the time that they need. */
const working: Respond = (_req, res, context) => {
  const query = { sql: SQL, bindings: [], method: 'select', rows: 1, connection: null, transaction: null };
  const rest = { waitMs: 0, error: null, caller: null, instance: 'pg' };
  context.add('query', { ...query, ...rest, startMs: 0, durationMs: 0.6 });
  context.add('query', { ...query, ...rest, startMs: 0.2, durationMs: 0.6 });
  context.add('view', {
    ...{ name: 'orders/show', file: null, startMs: 1, durationMs: 0.5, depth: 0, parent: null },
    ...{ locals: {}, caller: null, error: null },
  });
  while (context.elapsedMs() < 2);
  res.end('{}');
};

describe('the header server-timing', () => {
  it('is absent by default', async () => {
    expect(timingOf(await respondWith(working, {}))).to.equal(undefined);
  });

  it('has the total, then counts and times of what ran until then, and nothing else of it', async () => {
    const response = await respondWith(working);
    const [total, ...kinds] = timingOf(response)?.split(', ') ?? [];
    expect(total).to.match(TOTAL);
    expect(Number(total?.split('dur=')[1])).to.be.at.least(2);
    expect(kinds).to.deep.equal(['db;desc="2 queries";dur=0.8', 'view;desc="1 view";dur=0.5']);
    expect(response.headers).not.to.have.property('timing-allow-origin');
  });

  for (const [title, respond] of [
    ['set by name', (_req, res) => res.setHeader('Server-Timing', 'mine;desc="a, b", other').end()],
    ['set as a list', (_req, res) => res.setHeader('server-timing', ['mine;desc="a, b"', 'other']).end()],
    [
      'passed to writeHead',
      (_req, res) => res.writeHead(200, { 'Server-Timing': 'mine;desc="a, b", other' }).end(),
    ],
    [
      'passed as a flat list',
      (_req, res) =>
        res
          .writeHead(200, 'Fine', ['x-a', '1', 'Server-Timing', 'mine;desc="a, b"', 'server-timing', 'other'])
          .end(),
    ],
  ] as [string, Respond][])
    it(`is appended to what the application has ${title}`, async () => {
      const text = timingOf(await respondWith(respond)) ?? '';
      expect(text.startsWith('mine;desc="a, b", other, total;'), text).to.equal(true);
      expect(text.split('total;')).to.have.length(2);
    });

  it('counts outgoing calls, and cache commands with one that still runs', async () => {
    const upstream = createServer((_req, res) => setTimeout(() => res.end('{}'), 5)).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo;
    const calling: Respond = (_req, res, context) => {
      const get = {
        system: 'redis',
        client: 'ioredis',
        command: 'GET',
        key: 'user:1',
        asked: 1,
        hits: 1,
      } as const;
      const rest = { args: [], batch: null, error: null, caller: null, connection: null };
      void fetch(`http://127.0.0.1:${port}/rates?key=${SQL}`)
        .then((response) => response.text())
        .then(() => {
          context.add('cache', { ...get, ...rest, startMs: 0, durationMs: 0.4 });
          context.add('cache', { ...get, ...rest, startMs: 1, durationMs: null });
          res.end('{}');
        });
    };
    const [, ...kinds] = await timing(calling);
    await close(upstream);
    const [, callMs = '', cacheMs = ''] =
      /^http;desc="1 outgoing call";dur=(\d+\.\d), cache;desc="2 cache commands";dur=(\d+\.\d)$/.exec(
        kinds.join(', '),
      ) ?? [];
    expect(Number(callMs), kinds.join(', ')).to.be.at.least(4);
    expect(Number(cacheMs)).to.be.at.least(4);
  });

  it('has at most ten entries with those of the application', async () => {
    const own = Array.from({ length: 8 }, (_, i) => `a${i};desc="x, y"`);
    const entries = await timing((req, res, context) => {
      res.setHeader('server-timing', own);
      working(req, res, context);
    });
    expect(entries.slice(16)).to.have.length(2);
    expect(entries.at(-1)).to.equal('db;desc="2 queries";dur=0.8');
  });

  it('has at most 2 KB with those of the application, which are never cut', async () => {
    for (const [length, added] of [
      [2000, true],
      [2040, false],
      [5000, false],
    ] as const) {
      const own = 'a'.repeat(length);
      const text = timingOf(
        await respondWith((req, res, context) => {
          res.setHeader('server-timing', own);
          working(req, res, context);
        }),
      );
      expect(text?.startsWith(own)).to.equal(true);
      expect(text !== own).to.equal(added);
      if (added) expect(text?.length).to.be.at.most(2048);
    }
  });

  it('has only the total of a request of which only a summary is recorded', async () => {
    const entries = await timing((_req, res) => res.end(), { serverTiming: true, sampleRate: 0 });
    expect(entries).to.have.length(1);
    expect(entries[0]).to.match(TOTAL);
  });

  it('is on error pages, once, also after writeHead threw', async () => {
    const response = await respondWith((_req, res) => {
      res.writeHead(200, { 'bad name': 'x' });
    });
    expect(response.statusCode).to.equal(500);
    expect(timingOf(response)?.split('total;')).to.have.length(2);
  });

  it('leaves a response alone that can’t be asked', async () => {
    const response = await respondWith((_req, res) => {
      Object.defineProperty(res, 'getHeader', {
        value: () => {
          throw new Error('frozen');
        },
      });
      res.end('{}');
    });
    expect([response.statusCode, timingOf(response)]).to.deep.equal([200, undefined]);
  });

  it('is on responses of the service, and not on the profiler’s own pages', async () => {
    for (const [path, isThere] of [
      ['/missing', true],
      ['/_profiler', false],
    ] as const) {
      const config = readConfig({ APP_ENV: 'dev', PROFILER_SERVER_TIMING: 'on' });
      const service = createService({
        config,
        routes: [],
        log: () => undefined,
        writeAccess: () => undefined,
      });
      const text = timingOf(await ask(service.server, path));
      await service.close();
      expect(text?.startsWith('total;') === true, path).to.equal(isThere);
    }
  });
});
