/** The tools of the browser and proxy tests, tried on pages whose faults are known: a silent tool proves nothing. */
import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { useBrowser } from '../support/browser.ts';
import { startTlsProxy, type TlsProxy } from '../support/nginx.ts';

const FAULTY = `<!doctype html><title>faulty</title><script>document.title = 'ran'</script><script src="/throws.js"></script>`;

describe('the tools of browser tests', () => {
  let server: Server;
  const browser = useBrowser();
  let proxy: TlsProxy;
  let seen: IncomingHttpHeaders = {};

  before(async function () {
    server = createServer((request, response) => {
      seen = request.headers;
      if (request.url === '/throws.js') {
        response.setHeader('content-type', 'text/javascript');
        response.end('console.error("said"); throw new Error("thrown");');
      } else if (request.url === '/faulty') {
        response.setHeader('content-type', 'text/html');
        response.setHeader('content-security-policy', "default-src 'none'; script-src 'self'");
        response.end(FAULTY);
      } else {
        response.statusCode = request.url === '/missing' ? 404 : 200;
        response.setHeader('content-type', 'text/html');
        response.end('<!doctype html><title>quiet</title><link rel="icon" href="data:,">');
      }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await startTlsProxy(this, (server.address() as AddressInfo).port);
  });

  after(async () => {
    await proxy?.close();
    server?.close();
    server?.closeAllConnections();
  });

  it('collect console errors, exceptions and policy violations', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${proxy.origin}/faulty`);
    await page.waitForLoadState('load');
    expect(await page.title()).to.equal('faulty');
    const kinds = problems.map((problem) => problem.split(':')[0]);
    expect(kinds).to.include.members(['console', 'exception', 'policy']);
  });

  it('report nothing on a page without fault, whatever its status', async () => {
    const { page, problems } = await browser.open();
    const response = await page.goto(`${proxy.origin}/missing`);
    expect(response?.status()).to.equal(404);
    expect(problems).to.deep.equal([]);
  });

  it('pass the header set of an ingress', async () => {
    const { page } = await browser.open();
    await page.goto(`${proxy.origin}/`);
    expect(seen).to.include({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': `127.0.0.1:${proxy.port}`,
      'x-forwarded-port': String(proxy.port),
      'x-forwarded-proto': 'https',
      'x-forwarded-scheme': 'https',
      'x-real-ip': '127.0.0.1',
      'x-scheme': 'https',
    });
    expect(seen['x-request-id']).to.match(/^[0-9a-f]{32}$/);
  });
});
