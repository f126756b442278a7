/** Front ends of other origins: who may read what the toolbar asks, and which calls are theirs. */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProfiler } from '../../../app/compose/create-profiler.ts';
import { createMemoryStore } from '../../support/memory-store.ts';
import { servePages, type PageServer } from '../../support/page-client.ts';
import { createPageFixture, type PageFixture } from '../../support/page-fixture.ts';
import { samplePanels, sampleRule } from '../../support/page-samples.ts';

const FRONT_END = 'http://localhost:5173';
const BAR = { 'x-hindsight-toolbar': '1' };
const GRANT = ['access-control-allow-origin', 'access-control-allow-credentials', 'vary'] as const;

function grantOf({ headers }: Response): (string | null)[] {
  // All that the pages send says `accept-encoding` too.
  return GRANT.map((name) => headers.get(name)?.replace(/(?:, )?accept-encoding$/, '') || null);
}

describe('a separate front end', () => {
  let fixture: PageFixture;
  let server: PageServer;

  async function open(frontEnds: readonly string[]): Promise<string> {
    fixture = createPageFixture(samplePanels(), { rules: [sampleRule], frontEnds });
    server = await servePages(fixture.pages);
    return (await fixture.record({ headers: ['Accept', 'text/html'] })).token;
  }
  afterEach(() => server.close());

  function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
    return fetch(`${server.address}/_profiler/${path}`, { method, headers });
  }

  const shared = (token: string): string[] => [
    `${token}/toolbar.json`,
    `${token}/calls.json`,
    'toolbar.js',
    'calls.json',
  ];

  it('that was set up may read what the toolbar asks, and no page', async () => {
    const token = await open([FRONT_END]);
    for (const path of shared(token)) {
      const answer = await get(path, { ...BAR, origin: FRONT_END });
      expect([answer.status, ...grantOf(answer)], path).to.deep.equal([200, FRONT_END, 'true', 'origin']);
      expect(answer.headers.get('access-control-expose-headers')).to.contain('x-debug-token-link');
    }
    for (const path of ['', token, `${token}.json`, 'search.json', 'live', `${token}/toolbar`])
      expect(
        (await get(path, { origin: FRONT_END })).headers.get('access-control-allow-origin'),
        path,
      ).to.equal(null);
  });

  it('that was not set up may read nothing; caches are told that it differs', async () => {
    const token = await open([FRONT_END]);
    for (const origin of [
      'http://localhost:5174',
      'https://localhost:5173',
      'null',
      `${FRONT_END}.evil.example`,
    ])
      for (const path of shared(token))
        expect(grantOf(await get(path, { ...BAR, origin })), `${path} ${origin}`).to.deep.equal([
          null,
          null,
          'origin',
        ]);
  });

  it('is answered nothing of the kind where none was set up', async () => {
    const token = await open([]);
    for (const path of shared(token))
      expect(grantOf(await get(path, { ...BAR, origin: FRONT_END })), path).to.deep.equal([null, null, null]);
    const script = await get('toolbar.js');
    expect(script.headers.get('cross-origin-resource-policy')).not.to.equal('cross-origin');
  });

  it('loads the script across origins', async () => {
    await open([FRONT_END]);
    expect((await get('toolbar.js')).headers.get('cross-origin-resource-policy')).to.equal('cross-origin');
  });

  it('may ask whether it may send the toolbar’s header, at these addresses only', async () => {
    const token = await open([FRONT_END]);
    const ask = (path: string, origin: string): Promise<Response> =>
      get(
        path,
        {
          origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'x-hindsight-toolbar',
        },
        'OPTIONS',
      );
    for (const [path, methods] of [
      [`${token}/toolbar.json`, 'GET'],
      [`${token}/calls.json`, 'GET'],
      ['calls.json', 'GET'],
    ] as const) {
      const answer = await ask(path, FRONT_END);
      expect([answer.status, ...grantOf(answer)], path).to.deep.equal([204, FRONT_END, 'true', 'origin']);
      expect(answer.headers.get('access-control-allow-methods')).to.equal(methods);
      expect(answer.headers.get('access-control-allow-headers')).to.equal(
        'x-hindsight-toolbar, content-type',
      );
      expect((await ask(path, 'https://evil.example')).status, path).to.equal(405);
    }
    for (const path of [token, 'search.json', '-/clear', '-/pin', '-/report'])
      expect((await ask(path, FRONT_END)).status, path).to.equal(405);
    expect((await get(`${token}/calls.json`, { origin: FRONT_END }, 'OPTIONS')).status).to.equal(405);
  });

  it('lists its own calls of this client without a page of ours', async () => {
    await open([FRONT_END, 'http://other.example']);
    const from = (origin: string, url: string): Promise<unknown> =>
      fixture.record({
        url,
        headers: ['Sec-Fetch-Site', 'cross-site', 'Sec-Fetch-Dest', 'empty', 'Origin', origin],
      });
    await from(FRONT_END, '/api/mine');
    await from('http://other.example', '/api/theirs');
    await from('https://evil.example', '/api/evil');
    await fixture.record({ url: '/api/by-hand' });
    await fixture.record({
      url: '/api/of-another-client',
      headers: ['Sec-Fetch-Site', 'cross-site', 'Sec-Fetch-Dest', 'empty', 'Origin', FRONT_END],
      request: {
        origin: {
          scheme: 'https', host: 'shop.example.com', port: 443, origin: 'https://shop.example.com', clientAddress: '198.51.100.7',
          chain: [], trusted: true, hostError: null,
        },
      },
    }); // prettier-ignore
    const urls = async (origin: string, query = ''): Promise<string[]> => {
      const answer = await get(`calls.json${query}`, { ...BAR, origin });
      return ((await answer.json()) as { calls: { url: string }[] }).calls.map(({ url }) => url);
    };
    expect(await urls(FRONT_END)).to.deep.equal(['/api/mine']);
    expect(await urls('http://other.example', '?age=10000')).to.deep.equal(['/api/theirs']);
    expect(await urls(FRONT_END, '?age=0')).to.deep.equal([]);
    for (const headers of [BAR, { ...BAR, origin: 'https://evil.example' }])
      expect((await get('calls.json', headers)).status).to.equal(403);
    expect((await get('calls.json?age=old', { ...BAR, origin: FRONT_END })).status).to.equal(400);
  });
});

describe('the toolbar behind a password', () => {
  it('leaves nothing in the storage when it is refused, and its tokens open all the same', async () => {
    const storage = createMemoryStore();
    const profiler = createProfiler({ storage, password: 'let me in please', warn: () => undefined });
    const server = await servePages((req, res, next) => {
      profiler.watch(req, res, () => {
        profiler.pages(req, res, next);
      });
    });
    const ask = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${server.address}/_profiler/abcdef/toolbar.json`, { headers });
    const stored = async (): Promise<string[]> => {
      await sleep(50);
      await profiler.profiles.find({ limit: 1, offset: 0 });
      const kinds = ['request', 'error_page', 'profiler'] as const;
      return (await storage.find({ kinds, limit: 99, offset: 0 })).rows.map(({ kind }) => kind).sort();
    };
    const refused = await ask(BAR);
    expect(refused.status).to.equal(401);
    expect(await stored()).to.deep.equal([]);
    const found = await profiler.profiles.read(refused.headers.get('x-debug-token') ?? '');
    expect(found?.profile.status).to.equal(401);
    expect(refused.headers.get('x-previous-debug-token'), 'no page was rendered').to.equal(null);
    await ask({});
    expect(await stored()).to.deep.equal(['error_page', 'profiler']);
    await server.close();
    await profiler.close();
  });

  it('is refused without a challenge; a page and the script are as they were', async () => {
    const profiler = createProfiler({
      storage: createMemoryStore(),
      password: 'let me in please',
      toolbarOrigins: [FRONT_END],
      warn: () => undefined,
    });
    const server = await servePages((req, res, next) => {
      profiler.pages(req, res, next);
    });
    const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
      fetch(`${server.address}/_profiler/${path}`, { method, headers });
    for (const [path, method] of [
      ['abcdef/toolbar.json', 'GET'],
      ['abcdef/calls.json', 'GET'],
      ['calls.json', 'GET'],
    ] as const) {
      const refused = await get(path, BAR, method);
      expect([refused.status, refused.headers.get('www-authenticate')], path).to.deep.equal([401, null]);
      expect((await get(path, {}, method)).headers.get('www-authenticate')).to.contain('Basic realm');
    }
    const report = await get('-/report', {}, 'POST');
    expect([report.status, report.headers.get('www-authenticate')]).to.deep.equal([401, null]);
    // A front end learns that it is refused, and why its bar shows no more.
    const refused = await get('abcdef/toolbar.json', { ...BAR, origin: FRONT_END });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).to.deep.equal([
      401,
      FRONT_END,
    ]);
    const preflight = { origin: FRONT_END, 'access-control-request-method': 'GET' };
    expect((await get('abcdef/toolbar.json', preflight, 'OPTIONS')).status).to.equal(204);
    expect((await get('toolbar.js')).status).to.equal(200);
    expect((await get('', {})).status).to.equal(401);
    const authorization = `Basic ${Buffer.from('me:let me in please').toString('base64')}`;
    expect((await get('abcdef/toolbar.json', { ...BAR, authorization })).status).to.equal(404);
    await server.close();
    await profiler.close();
  });
});
