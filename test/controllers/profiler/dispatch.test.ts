import { expect } from 'chai';
import { request as httpRequest } from 'node:http';
import { createDispatch, type DispatchOptions } from '../../../app/controllers/profiler/dispatch.ts';
import { createProfilerRoutes } from '../../../app/routes/profiler.ts';
import { createProfilerControllers } from '../../../app/controllers/profiler/index.ts';
import type { HindsightError } from '../../../app/errors.ts';
import { servePages, type PageServer, withPages } from '../../support/page-client.ts';
import { createPageFixture, ORIGIN } from '../../support/page-fixture.ts';
import { samplePanels, sampleRule } from '../../support/page-samples.ts';

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** A request with the target exactly as given. */
function ask(
  server: PageServer,
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const url = new URL(server.address);
    const req = httpRequest({ host: url.hostname, port: url.port, method, path, headers }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () =>
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    req.on('error', reject);
    req.end();
  });
}

describe('addresses of the profiler', () => {
  const fixture = createPageFixture(samplePanels(), { rules: [sampleRule] });
  let server: PageServer;
  let token = '';

  before(async () => {
    server = await servePages(fixture.pages);
    ({ token } = await fixture.record());
  });
  after(() => server.close());

  const lastError = (): HindsightError => server.errors.at(-1) as HindsightError;

  it('leave alone what is not below the prefix', async () => {
    for (const path of ['/', '/_profilerx', '/shop/_profiler/', '*'])
      expect((await ask(server, path === '*' ? 'OPTIONS' : 'GET', path)).body, path).to.equal('went on');
  });

  for (const [from, to] of [
    ['/_profiler', '/_profiler/'],
    ['/_profiler?a=%2f+b&&c', '/_profiler/?a=%2f+b&&c'],
    ['/_profiler//', '/_profiler/'],
    ['/_profiler/search/', '/_profiler/search'],
    ['/_profiler/latest/?x=1', '/_profiler/latest?x=1'],
    ['/_profiler/abcdef/', '/_profiler/abcdef'],
    ['/_profiler/abcdef/exception/', '/_profiler/abcdef/exception'],
  ] as const) {
    it(`redirect ${from} to its other spelling, query byte for byte`, async () => {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers, body } = await ask(server, method, from);
        expect([status, headers.location]).to.deep.equal([301, `${ORIGIN}${to}`]);
        expect(headers['cache-control']).to.equal('no-cache, private');
        if (method === 'HEAD') expect(body).to.equal('');
      }
    });
  }

  it('redirect relatively where the host is invalid', async () => {
    const pages = createPageFixture([], { originOf: () => null }).pages;
    await withPages(pages, async (lost) => {
      expect((await ask(lost, 'GET', '/_profiler')).headers.location).to.equal('/_profiler/');
    });
  });

  for (const path of [
    '/_profiler/zz!!',
    '/_profiler/abcdef/nothing',
    '/_profiler/abcdef%2f',
    '/_profiler/-/nothing',
    '/_profiler/-/pin/',
    '/_profiler/../secret',
  ]) {
    it(`know nothing of ${path}`, async () => {
      expect((await ask(server, 'GET', path)).status).to.equal(404);
      expect(lastError().message).to.equal(`No route found for "GET ${path}"`);
      expect((lastError().cause as Error).message).to.match(/^No routes found for "/);
    });
  }

  it('read a token in capitals, and name one with a character too many', async () => {
    const { status, headers } = await ask(server, 'GET', '/_profiler/ABCDEF?panel=logs');
    expect([status, headers.location]).to.deep.equal([302, '/_profiler/abcdef?panel=logs']);
    expect((await ask(server, 'GET', '/_profiler/abcdef0')).status).to.equal(404);
    expect(lastError().message).to.equal('Token "abcdef0" not found.');
  });

  it('name the referer where nothing was found', async () => {
    await ask(server, 'GET', '/_profiler/nothing', {
      referer: 'https://shop.example.com/a?password=hunter22',
    });
    expect(lastError().message).to.equal(
      'No route found for "GET /_profiler/nothing" (from "https://shop.example.com/a?password=[masked]")',
    );
  });

  it('answer other methods by 405 with Allow, and find no other spelling for them', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const { status, headers } = await ask(server, method, '/_profiler/search?x=1');
      expect([status, headers.allow], method).to.deep.equal([405, 'GET']);
      expect(lastError().message).to.equal(
        `No route found for "${method} /_profiler/search": Method Not Allowed (Allow: GET)`,
      );
    }
    expect((await ask(server, 'POST', '/_profiler')).status).to.equal(404);
  });

  it('answer HEAD like GET, without a body', async () => {
    const get = await ask(server, 'GET', `/_profiler/${token}`);
    const head = await ask(server, 'HEAD', `/_profiler/${token}`);
    expect(head.status).to.equal(200);
    expect(head.body).to.equal('');
    expect(head.headers['content-length']).to.equal(get.headers['content-length']);
  });

  it('take the absolute form of a target', async () => {
    expect((await ask(server, 'GET', `http://shop.example.com/_profiler/${token}`)).status).to.equal(200);
  });

  it('ask the guard first', async () => {
    const { services } = fixture;
    const options: DispatchOptions = {
      routes: createProfilerRoutes(createProfilerControllers(services)),
      originOf: () => ORIGIN,
      securityHeaders: services.securityHeaders,
      redactText: services.redactText,
      guard: () => Promise.reject(new Error('not you')),
    };
    await withPages(createDispatch(options), async (guarded) => {
      for (const path of [
        '/_profiler/',
        '/_profiler',
        `/_profiler/${token}.json`,
        '/_profiler/nothing',
        '/_profiler/live',
      ])
        expect((await ask(guarded, 'GET', path)).body, path).to.equal('not you');
    });
  });

  it('have a name each, and none that looks like a token', () => {
    const routes = createProfilerRoutes(createProfilerControllers(fixture.services));
    const named = new Set(routes.map(({ name }) => name));
    expect([...named].filter((name) => !/^_profiler(_[a-z]+)*$/.test(name))).to.deep.equal([]);
    expect([...named]).to.include.members(['_profiler', '_profiler_home', '_profiler_live', '_profiler_pin']);
    for (const { path } of routes) expect(path.source).to.not.match(/\/[0-9a-f]{6}\$/);
  });
});
