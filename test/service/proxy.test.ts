/** Behind a real nginx with TLS and the ingress header set; and from a peer that is none of the trusted ones. */
import { expect } from 'chai';
import { request as httpsRequest } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import type { Profile } from '../../app/index.ts';
import { createService, readConfig, type Service } from '../../app/service.ts';
import { startTlsProxy, type TlsProxy } from '../support/nginx.ts';
import { type RunningShop, startShop } from '../support/shop.ts';
import type { AddressInfo } from 'node:net';

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

describe('the service behind a TLS proxy', () => {
  let shop: RunningShop;
  let proxy: TlsProxy;

  before(async function () {
    shop = await startShop({ APP_DOMAIN: 'shop.example.com' });
    proxy = await startTlsProxy(this, shop.port);
  });
  after(async () => {
    await proxy?.close();
    await shop?.close();
  });

  function ask(
    path: string,
    options: { method?: string; host?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const { method = 'GET', host = `shop.example.com:${proxy.port}`, headers = {} } = options;
    return new Promise((resolve, reject) => {
      const request = httpsRequest(
        {
          host: '127.0.0.1',
          port: proxy.port,
          path,
          method,
          rejectUnauthorized: false,
          headers: { host, ...headers },
        },
        (response) => {
          let body = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
          });
        },
      );
      request.on('error', reject).end();
    });
  }

  async function profileOf({ headers }: Answer): Promise<Profile> {
    const link = new URL(String(headers['x-debug-token-link']));
    const { body } = await ask(`${link.pathname}.json`);
    return (JSON.parse(body) as { profile: Profile }).profile;
  }

  it('links with the public scheme, host and port, on every kind of answer', async () => {
    const cases: [string, string, number][] = [
      ['GET', '/', 200],
      ['GET', '/robots.txt', 404],
      ['DELETE', '/products/1', 405],
      ['HEAD', '/', 200],
      ['OPTIONS', '/', 405],
      ['PROPFIND', '/', 405],
    ];
    for (const [method, path, status] of cases) {
      const answer = await ask(path, { method });
      expect(answer.status, `${method} ${path}`).to.equal(status);
      expect(answer.headers['x-debug-token-link']).to.equal(
        `https://shop.example.com:${proxy.port}/_profiler/${String(answer.headers['x-debug-token'])}`,
      );
      expect(answer.headers['x-robots-tag']).to.equal('noindex');
      const profile = await profileOf(answer);
      expect(profile).to.include({ method, status, origin: `https://shop.example.com:${proxy.port}` });
    }
  });

  it('redirects to the public address', async () => {
    const { status, headers } = await ask('/_profiler?x=1');
    expect(status).to.equal(301);
    expect(headers.location).to.equal(`https://shop.example.com:${proxy.port}/_profiler/?x=1`);
  });

  it('keeps the request id that the proxy gives', async () => {
    const { headers } = await ask('/', { headers: { 'x-request-id': 'abc-123' } });
    expect(headers['x-request-id']).to.equal('abc-123');
  });

  it('opens the linked profile in the page of a client', async () => {
    const answer = await ask('/orders');
    const { pathname } = new URL(String(answer.headers['x-debug-token-link']));
    const page = await ask(pathname);
    expect(page.status).to.equal(200);
    expect(page.body).to.contain('/orders');
  });
});

describe('a peer that is no trusted proxy', () => {
  let service: Service;
  let base: string;

  before(async () => {
    service = createService({
      config: readConfig({ APP_ENV: 'dev' }),
      routes: [],
      log: () => undefined,
      writeAccess: () => undefined,
    });
    service.server.listen(0, '::1');
    await once(service.server, 'listening');
    base = `http://[::1]:${(service.server.address() as AddressInfo).port}`;
  });
  after(() => service.close());

  it('is believed in none of the eight headers', async () => {
    const response = await fetch(`${base}/nope`, {
      headers: {
        'x-forwarded-for': '198.51.100.7',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-port': '8443',
        'x-forwarded-proto': 'https',
        'x-forwarded-scheme': 'https',
        'x-real-ip': '198.51.100.7',
        'x-scheme': 'https',
        'x-request-id': 'mine',
      },
    });
    const token = response.headers.get('x-debug-token') ?? '';
    expect(response.headers.get('x-debug-token-link')).to.equal(`${base}/_profiler/${token}`);
    expect(response.headers.get('x-request-id')).to.not.equal('mine');
    const { profile } = (await (await fetch(`${base}/_profiler/${token}.json`)).json()) as {
      profile: Profile;
    };
    expect(profile).to.include({ clientAddress: '::1', origin: base });
  });
});
