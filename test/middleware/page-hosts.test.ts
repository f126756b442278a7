/** For which hosts a profiler without a password serves its pages: a page of another site may have changed its DNS record to ours. */
import { expect } from 'chai';
import { once } from 'node:events';
import { type IncomingMessage, request, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import express from 'express';
import { createProfiler } from '../../app/index.ts';
import { createGuard } from '../../app/middleware/guard.ts';
import { createService, readConfig } from '../../app/service.ts';
import { close, listen } from '../support/listen.ts';

const ATTACKER = 'attacker.test';

interface Answer {
  status: number;
  token: string;
  body: string;
}

async function ask(
  port: number,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<Answer> {
  const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const token = String(answer.headers['x-debug-token'] ?? '');
  return { status: answer.statusCode ?? 0, token, body: await text(answer) };
}

const open: (() => Promise<unknown>)[] = [];

async function startService(
  env: Record<string, string>,
  prepare?: (server: Server) => void,
): Promise<number> {
  const service = createService({
    config: readConfig({ APP_ENV: 'dev', ...env }),
    routes: [],
    log: () => undefined,
    writeAccess: () => undefined,
  });
  open.push(() => service.close());
  prepare?.(service.server);
  return (await listen(service.server)).port;
}

async function startHost(hosts: readonly string[], prepare?: (server: Server) => void): Promise<number> {
  const profiler = createProfiler({ observe: false, hosts, warn: () => undefined });
  const app = express();
  app.set('trust proxy', true);
  app.use(profiler.watch, profiler.pages);
  app.get('/page', (_req, res) => void res.send('the page'));
  app.use(profiler.notFound, profiler.errors);
  const { server, port } = await listen(app);
  prepare?.(server);
  open.push(() => close(server, profiler));
  return port;
}

describe('the hosts of the profiler’s pages', () => {
  after(() => Promise.all(open.splice(0).map((end) => end())));

  const asked: [host: string, isServed: boolean][] = [
    ['localhost:3000', true],
    ['LOCALHOST', true],
    ['localhost.', true],
    ['shop.localhost:3000', true],
    ['127.0.0.1', true],
    ['192.168.1.7:80', true],
    ['[::1]:3000', true],
    ['dev.example.com', true],
    ['api.example.org', true],
    [ATTACKER, false],
    [`${ATTACKER}:3000`, false],
    ['notlocalhost', false],
    ['localhost.attacker.test', false],
    ['127.0.0.1.attacker.test', false],
    ['www.dev.example.com', false],
    ['[attacker]', false],
  ];
  for (const [host, isServed] of asked) {
    it(`${isServed ? 'include' : 'exclude'} ${host}`, async () => {
      const guard = createGuard({
        password: null,
        hosts: ['dev.example.com', '.example.org'],
        isFromProxy: () => false,
        addressOf: () => '',
        warn: () => undefined,
      });
      const req = { url: '/_profiler/', headers: { host }, socket: {} } as unknown as IncomingMessage;
      const refusal: unknown = await guard.check(req).then(
        () => null,
        (error: unknown) => error,
      );
      expect(refusal === null).to.equal(isServed);
      expect(guard.maySee(req)).to.equal(isServed);
    });
  }

  const peers: [peer: string, own: string, header: string, isServed: boolean][] = [
    ['10.1.2.3', '10.1.2.4', 'x-forwarded-for', true],
    ['10.1.2.3', '10.1.2.4', 'x-other', false],
    ['127.0.0.1', '127.0.0.1', 'x-forwarded-host', false],
    ['::ffff:127.0.0.1', '::ffff:127.0.0.1', 'x-forwarded-for', false],
    ['::1', '::1', 'x-forwarded-for', false],
    ['192.168.1.7', '192.168.1.7', 'x-forwarded-for', false],
  ];
  for (const [remoteAddress, localAddress, header, isServed] of peers) {
    it(`are ${isServed ? 'any' : 'the known ones'} with ${header} from ${remoteAddress} at ${localAddress}`, async () => {
      const guard = createGuard({
        password: null,
        hosts: [],
        isFromProxy: () => true,
        addressOf: () => '',
        warn: () => undefined,
      });
      const headers = { host: 'shop.example.com', [header]: 'localhost' };
      const req = { url: '/_profiler/', headers, socket: { remoteAddress, localAddress } };
      const error: unknown = await guard.check(req as unknown as IncomingMessage).catch((e: unknown) => e);
      expect(error === undefined).to.equal(isServed);
    });
  }

  it('are those of APP_DOMAIN and TRUSTED_HOSTS in the service; a page of another one reads nothing and changes nothing', async () => {
    const port = await startService({ APP_DOMAIN: 'shop.example.com' });
    for (const host of ['localhost', 'shop.example.com', 'www.shop.example.com:3000'])
      expect((await ask(port, '/_profiler/', { host })).status).to.equal(200);
    const { status, token, body } = await ask(port, '/nope', { host: ATTACKER });
    expect(status).to.equal(404);
    expect(body).to.contain('attacker.test');
    for (const path of ['/_profiler/', `/_profiler/${token}`, `/_profiler/${token}.json`, '/_profiler/x']) {
      const headers = { host: ATTACKER, 'x-forwarded-host': 'localhost', 'x-forwarded-for': '10.0.0.1' };
      const page = await ask(port, path, headers);
      expect(page.status).to.equal(403);
      expect(page.body)
        .to.contain('attacker.test')
        .and.contain('APP_DOMAIN')
        .and.contain('TRUSTED_HOSTS')
        .and.not.match(/node_modules|\.ts/);
    }
    const pause = { host: ATTACKER, 'sec-fetch-site': 'same-origin' };
    expect((await ask(port, '/_profiler/-/pause', pause, 'POST')).body).to.contain('TRUSTED_HOSTS');
    const trusting = await startService({ TRUSTED_HOSTS: '.example.net' });
    expect((await ask(trusting, '/_profiler/', { host: 'a.example.net' })).status).to.equal(200);
  });

  it('are the known ones in an application, and in a service with a name, whatever a proxy sends', async () => {
    // The gateway of a container network, through which the browser of this machine comes.
    const gateway = (server: Server): void => {
      server.prependListener('connection', (socket: object) => {
        Object.defineProperty(socket, 'remoteAddress', { value: '172.17.0.1' });
      });
    };
    const headers = { host: ATTACKER, 'x-forwarded-for': '9.9.9.9', 'x-forwarded-host': 'localhost' };
    const ports = [
      await startHost([], gateway),
      await startService({ APP_DOMAIN: 'shop.example.com' }, gateway),
      await startService({ TRUSTED_HOSTS: 'localhost' }, gateway),
      await startService({}, gateway),
    ];
    const statuses = await Promise.all(
      ports.map(async (port) => (await ask(port, '/_profiler/', headers)).status),
    );
    expect(statuses).to.deep.equal([403, 403, 403, 200]);
  });

  it('are any with a password', async () => {
    const port = await startService({ PROFILER_PASSWORD: 'correct horse' });
    const authorization = `Basic ${Buffer.from('me:correct horse').toString('base64')}`;
    expect((await ask(port, '/_profiler/', { host: ATTACKER, authorization })).status).to.equal(200);
  });

  it('are those of the option hosts in an application, whose own routes answer for any', async () => {
    const port = await startHost(['.example.org']);
    expect((await ask(port, '/_profiler/', { host: 'localhost' })).status).to.equal(200);
    expect((await ask(port, '/_profiler/', { host: 'api.example.org' })).status).to.equal(200);
    expect((await ask(port, '/page', { host: ATTACKER })).body).to.equal('the page');
    const page = await ask(port, '/_profiler/', { host: ATTACKER, 'x-forwarded-host': 'localhost' });
    expect(page.status).to.equal(403);
    expect(page.body).to.contain('PROFILER_HOSTS').and.contain('hosts');
  });
});
