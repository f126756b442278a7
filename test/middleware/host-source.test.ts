import { expect } from 'chai';
import express from 'express';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createHostSource } from '../../app/middleware/host-source.ts';
import type { RequestSource } from '../../app/middleware/request-fact.ts';
import { listen } from '../support/listen.ts';

interface Told {
  source: RequestSource;
  express: { ip?: string; ips?: string[]; protocol?: string; host?: string };
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

describe('the source of a request in a host', () => {
  const sourceOf = createHostSource();
  const tell: Handler = (req, res) => {
    const { ip, ips, protocol, host } = req as Told['express'];
    res.end(JSON.stringify({ source: sourceOf(req), express: { ip, ips, protocol, host } }));
  };

  function createHost(trust: unknown, before?: (req: IncomingMessage) => void): express.Express {
    const app = express();
    if (trust !== undefined) app.set('trust proxy', trust);
    app.use((req, res) => {
      before?.(req);
      tell(req, res);
    });
    return app;
  }

  async function ask(handler: Handler, headers: Record<string, string>): Promise<Told> {
    const { server, port } = await listen(handler);
    const text = await new Promise<string>((resolve, reject) => {
      httpRequest({ port, host: '127.0.0.1', headers, agent: false }, (res) => {
        let body = '';
        res.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        res.on('end', () => {
          resolve(body);
        });
      })
        .on('error', reject)
        .end();
    });
    server.close();
    return JSON.parse(text) as Told;
  }

  const forwarded = {
    'x-forwarded-for': '203.0.113.9, 10.0.0.2',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'shop.example',
  };
  const hosts = [
    'a.example',
    'A.example:81',
    'a.example:80',
    '[::1]:9',
    'a b',
    'a.example:0',
    'a.example:99999',
  ];

  it('says what Express says, whoever is trusted', async () => {
    for (const trust of [undefined, false, true, 1, 'loopback', () => false]) {
      const app = createHost(trust);
      for (const host of hosts) {
        for (const extra of [{}, forwarded]) {
          const { source, express: told } = await ask(app, { host, ...extra });
          const { origin } = source;
          const about = JSON.stringify([String(trust), host, extra]);
          expect(origin.clientAddress, about).to.equal(told.ip);
          expect(origin.chain, about).to.deep.equal(told.ips);
          expect(origin.trusted, about).to.equal((told.ips ?? []).length > 0);
          expect(origin.scheme, about).to.equal(told.protocol);
          const named = (told.host ?? '').replace(/:\d+$/, '');
          if (origin.host !== null) expect(origin.host, about).to.equal(named);
          expect(origin.origin === null, about).to.equal(origin.host === null);
        }
      }
    }
  });

  it('reads host and port as the service does, and refuses what is none', async () => {
    const app = createHost(undefined);
    const origins: (string | null)[] = [];
    for (const host of [...hosts, ...hosts]) origins.push((await ask(app, { host })).source.origin.origin);
    const expected = [
      'http://a.example',
      'http://a.example:81',
      'http://a.example',
      'http://[::1]:9',
      null,
      'http://a.example',
      'http://a.example',
    ];
    expect(origins).to.deep.equal([...expected, ...expected]);
  });

  it('asks the getters of an application, or of a request, that has its own', async () => {
    const app = createHost(undefined);
    Object.defineProperty(app.request, 'ip', { get: () => '198.51.100.1' });
    expect((await ask(app, { host: 'a' })).source.origin.clientAddress).to.equal('198.51.100.1');
    const other = createHost(undefined, (req) =>
      Object.defineProperty(req, 'ip', { value: '198.51.100.2', configurable: true }),
    );
    expect((await ask(other, { host: 'a' })).source.origin.clientAddress).to.equal('198.51.100.2');
  });

  it('takes the socket if a function of the application throws, which then does so in the application', () => {
    const source = createHostSource();
    const app = express();
    app.set('trust proxy', () => {
      throw new Error('no address');
    });
    const req = Object.assign(Object.create(app.request) as IncomingMessage, {
      app,
      headers: { host: 'a.example:81' },
      socket: { remoteAddress: '10.0.0.9' },
    });
    expect(source(req).origin).to.include({ scheme: 'http', host: 'a.example', clientAddress: '10.0.0.9' });
  });

  it('notices a setting that is made later', async () => {
    const app = createHost(undefined);
    expect((await ask(app, { host: 'a', ...forwarded })).source.origin.clientAddress).to.equal('127.0.0.1');
    app.set('trust proxy', true);
    expect((await ask(app, { host: 'a', ...forwarded })).source.origin.clientAddress).to.equal('203.0.113.9');
  });

  it('takes the socket where there is no Express', async () => {
    const { origin } = (await ask(tell, { host: 'a.example:8080', ...forwarded })).source;
    expect(origin).to.deep.include({
      scheme: 'http',
      host: 'a.example',
      port: 8080,
      origin: 'http://a.example:8080',
      clientAddress: '127.0.0.1',
      chain: [],
      trusted: false,
    });
  });

  it('keeps a well-formed id, and makes one otherwise', async () => {
    const app = createHost(undefined);
    const kept = (await ask(app, { host: 'a', 'x-request-id': 'abc-1' })).source;
    expect(kept).to.include({ requestId: 'abc-1', receivedRequestId: null });
    const made = (await ask(app, { host: 'a', 'x-request-id': 'a b' })).source;
    expect(made.receivedRequestId).to.equal('a b');
    const ids = await Promise.all(
      Array.from({ length: 200 }, async () => (await ask(app, { host: 'a' })).source.requestId),
    );
    expect(new Set([...ids, made.requestId]).size).to.equal(201);
    for (const id of ids)
      expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
