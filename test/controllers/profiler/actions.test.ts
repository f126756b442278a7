/** What changes state: who may ask for it, and what it does. */
import { expect } from 'chai';
import type { ServerResponse } from 'node:http';
import { type CheerioAPI, load } from 'cheerio';
import { createMemoryStore } from '../../support/memory-store.ts';
import { createProfiler } from '../../../app/compose/create-profiler.ts';
import type { HindsightError } from '../../../app/errors.ts';
import { servePages, type PageServer, usePagesEach } from '../../support/page-client.ts';
import { createPageFixture, ORIGIN, type PageFixture } from '../../support/page-fixture.ts';
import { samplePanels, sampleRule } from '../../support/page-samples.ts';
import { exchange } from '../../support/raw-http.ts';
import { until } from '../../support/waiting.ts';

const FORM = 'application/x-www-form-urlencoded';
const SAME = { 'sec-fetch-site': 'same-origin' };

describe('actions of the profiler', () => {
  let fixture: PageFixture;
  const server = usePagesEach(() => (fixture = createPageFixture(samplePanels(), { rules: [sampleRule] })));

  async function post(
    action: string,
    fields: Record<string, string> = {},
    headers: Record<string, string> = SAME,
  ): Promise<Response> {
    const csrf = await fixture.services.forms.sign();
    return fetch(`${server.address}/_profiler/-/${action}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': FORM, ...headers },
      body: new URLSearchParams({ csrf, ...fields }).toString(),
    });
  }
  async function page(path: string): Promise<CheerioAPI> {
    return load(await (await fetch(`${server.address}${path}`)).text());
  }
  const lastCode = (): string | undefined => (server.errors.at(-1) as HindsightError | undefined)?.code;
  const isPinned = async (token: string): Promise<boolean> =>
    (await fixture.profiles.read(token))?.amendments.pin === true;

  describe('are refused', () => {
    for (const [title, headers] of [
      ['from another site', { 'sec-fetch-site': 'cross-site', origin: ORIGIN }],
      ['from another host of the same site', { 'sec-fetch-site': 'same-site', origin: ORIGIN }],
      ['typed by hand', { 'sec-fetch-site': 'none' }],
      ['without a word about where from', {}],
      ['from another origin', { origin: 'https://evil.example' }],
      ['from a hidden origin', { origin: 'null' }],
    ] as const)
      it(title, async () => {
        const { token } = await fixture.record();
        expect((await post('pin', { token }, headers)).status).to.equal(403);
        expect(lastCode()).to.equal('CROSS_SITE');
        expect(await isPinned(token)).to.equal(false);
      });

    it('without a signed form', async () => {
      const { token } = await fixture.record();
      for (const csrf of ['', 'x', `mi7yyyyy.${'A'.repeat(43)}`]) {
        expect((await post('pin', { token, csrf })).status, csrf).to.equal(403);
        expect(lastCode()).to.equal('FORM_EXPIRED');
      }
      expect(await isPinned(token)).to.equal(false);
    });

    it('by any method but POST', async () => {
      for (const action of ['pin', 'unpin', 'clear', 'cpu', 'full', 'pause', 'resume'])
        for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
          const response = await fetch(`${server.address}/_profiler/-/${action}`, { method });
          expect([response.status, response.headers.get('allow')], action).to.deep.equal([405, 'POST']);
        }
    });

    it('with a body that is no form, or too large a one', async () => {
      const send = (body: string, type: string): Promise<Response> =>
        fetch(`${server.address}/_profiler/-/pause`, {
          method: 'POST',
          headers: { ...SAME, 'content-type': type },
          body,
        });
      expect((await send('{"csrf":"x"}', 'application/json')).status).to.equal(400);
      expect((await send('', 'text/plain')).status).to.equal(400);
      expect((await send(`csrf=${'x'.repeat(70_000)}`, FORM)).status).to.equal(413);
      expect((await send(`csrf=${'x'.repeat(60_000)}`, FORM)).status).to.equal(403);
    });

    it('with a much too large body, and then responds on the same connection', async () => {
      const { hostname, port } = new URL(server.address);
      const body = 'x'.repeat(5_000_000);
      const head = `POST /_profiler/-/pause HTTP/1.1\r\nhost: ${hostname}\r\nsec-fetch-site: same-origin\r\n`;
      const first = `${head}content-type: ${FORM}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      const { responses } = await exchange(
        Number(port),
        [first, `GET /nowhere HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`],
        { count: 2 },
      );
      expect(responses.map(({ status }) => status)).to.deep.equal([413, 404]);
    });

    it('for a token that names nothing', async () => {
      expect((await post('pin', { token: 'abcdef' })).status).to.equal(404);
      expect((await post('pin', { token: '../secret' })).status).to.equal(400);
      expect((await post('pin')).status).to.equal(400);
      expect((await post('nothing')).status).to.equal(404);
    });
  });

  it('are taken from the own origin where the browser says nothing else', async () => {
    const { token } = await fixture.record();
    expect((await post('pin', { token }, { origin: ORIGIN })).status).to.equal(303);
    expect(await isPinned(token)).to.equal(true);
  });

  it('lead back to a page of ours, and nowhere else', async () => {
    const { token } = await fixture.record();
    const backTo = async (back: string): Promise<string | null> =>
      (await post('pin', { token, back })).headers.get('location');
    expect(await backTo(`/_profiler/${token}?panel=logs#x`)).to.equal(`/_profiler/${token}?panel=logs#x`);
    for (const back of [
      '',
      'https://evil.example/_profiler/',
      '//evil.example/_profiler/',
      '/\\evil.example/_profiler/',
      '/elsewhere',
      '/_profiler/../admin',
      '/_profilerx/',
      'javascript:alert(1)',
      '/_profiler/-/clear',
      '/_profiler/./-/clear',
      '/_profiler/%2e%2e/admin',
      '\t//evil.example/_profiler/',
      '//profiler@evil.example/_profiler/',
      `/_profiler/${'x'.repeat(30_000)}`,
      '/_profiler/%0d%0aset-cookie:a=b\r\nx: y',
    ]) /* prettier-ignore */ {
      const location = await backTo(back);
      expect(location, back).to.match(/^\/_profiler\/(?:%0d%0a[^\r\n]*)?$/);
    }
  });

  it('set no cookie and are not cached', async () => {
    const response = await post('pause');
    expect(response.headers.get('set-cookie')).to.equal(null);
    expect(response.headers.get('cache-control')).to.equal('no-cache, private');
    expect(response.headers.get('content-security-policy')).to.contain("default-src 'none'");
  });

  it('pin and unpin a profile by the form on its page, and the list tells', async () => {
    const { token } = await fixture.record();
    const form = (await page(`/_profiler/${token}`))('form[action$="/-/pin"]');
    const fields = Object.fromEntries(new URLSearchParams(form.serialize()));
    expect((await post('pin', fields)).headers.get('location')).to.equal(`/_profiler/${token}`);
    const list = await page('/_profiler/search?has=pin');
    expect(list(`#r-${token} .badge.accent`).text()).to.equal('pinned');
    expect(list('#views [aria-current]').text()).to.equal('Pinned 1');
    expect((await page(`/_profiler/${token}`))('form[action$="/-/unpin"] button').text()).to.equal('Pinned');
    await post('unpin', { token });
    expect(await isPinned(token)).to.equal(false);
    expect((await page('/_profiler/search?has=pin'))('.empty')).to.have.length(1);
  });

  it('clear all but the pinned, once somebody is sure', async () => {
    const kept = await fixture.record({ status: 500, errorPage: true });
    await fixture.record();
    await post('pin', { token: kept.token });
    const asked = await post('clear');
    expect(asked.status).to.equal(200);
    const question = load(await asked.text());
    expect(question('h1').text()).to.equal('Delete all profiles except pinned ones?');
    expect((await fixture.profiles.find({ limit: 9, offset: 0 })).total).to.equal(2);
    const fields = Object.fromEntries(new URLSearchParams(question('main form').serialize()));
    expect((await post('clear', fields)).status).to.equal(303);
    const { rows } = await fixture.profiles.find({ kinds: ['request', 'error_page'], limit: 9, offset: 0 });
    expect(rows.map(({ token }) => token)).to.have.members([kept.token, kept.child]);
  });

  it('pause and resume, which the list says', async () => {
    await post('pause');
    const paused = await page('/_profiler/');
    expect(paused('.paused').text()).to.contain('Recording is paused in all processes since');
    expect(paused('form[action$="/-/pause"]')).to.have.length(0);
    expect(paused('form[action$="/-/resume"]')).to.have.length(1);
    await post('resume');
    expect((await page('/_profiler/'))('.paused')).to.have.length(0);
  });

  it('take what a host’s parser has left of the body', async () => {
    const { token } = await fixture.record();
    const csrf = await fixture.services.forms.sign();
    const parsed: PageFixture['pages'] = (req, res, next) => {
      fixture.pages(Object.assign(req, { body: { csrf, token, more: { a: 1 } } }), res, next);
    };
    const other = await servePages(parsed);
    const response = await fetch(`${other.address}/_profiler/-/pin`, {
      method: 'POST',
      headers: SAME,
      redirect: 'manual',
    });
    await other.close();
    expect(response.status).to.equal(303);
    expect(await isPinned(token)).to.equal(true);
  });
});

describe('actions behind a password', () => {
  it('need it, whatever else is right', async () => {
    const profiler = createProfiler({ storage: createMemoryStore(), password: 'let me in please' });
    const server = await servePages((req, res, next) => {
      profiler.pages(req, res, next);
    });
    const authorization = `Basic ${Buffer.from('me:let me in please').toString('base64')}`;
    const list = await (await fetch(`${server.address}/_profiler/`, { headers: { authorization } })).text();
    const csrf = /name="csrf" value="([^"]+)"/.exec(list)?.[1] ?? '';
    const pause = async (headers: Record<string, string>): Promise<number> => {
      const answer = await fetch(`${server.address}/_profiler/-/pause`, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...SAME, 'content-type': FORM, ...headers },
        body: new URLSearchParams({ csrf }).toString(),
      });
      return answer.status;
    };
    expect(await pause({})).to.equal(401);
    expect((await fetch(`${server.address}/_profiler/live`)).status).to.equal(401);
    expect(await pause({ authorization })).to.equal(303);
    await server.close();
    await profiler.close();
  });
});

describe('a pause', () => {
  it('keeps nothing of any request, in every process of the storage, and its links say so', async () => {
    const storage = createMemoryStore();
    const open = (name: string): ReturnType<typeof createProfiler> =>
      createProfiler({ storage, process: name });
    const [one, other] = [open('one'), open('other')];
    let slow: ServerResponse | null = null as ServerResponse | null;
    const serve = (profiler: typeof one): Promise<PageServer> =>
      servePages((req, res, next) => {
        profiler.watch(req, res, () => {
          profiler.pages(req, res, (error) => {
            if (error !== undefined) next(error);
            else if (req.url === '/fail') profiler.errors(new Error('no'), req as never, res as never, next);
            else if (req.url === '/slow') slow = res;
            else res.end('answered');
          });
        });
      });
    const servers = await Promise.all([serve(one), serve(other)]);
    const [first, second] = servers.map(({ address }) => address) as [string, string];
    const csrf =
      /name="csrf" value="([^"]+)"/.exec(await (await fetch(`${first}/_profiler/`)).text())?.[1] ?? '';
    const act = (action: string): Promise<Response> =>
      fetch(`${first}/_profiler/-/${action}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...SAME, 'content-type': FORM },
        body: new URLSearchParams({ csrf }).toString(),
      });
    const recorded = async (): Promise<string[]> =>
      (await one.profiles.find({ kinds: ['request', 'error_page'], limit: 9, offset: 0 })).rows.map(
        ({ url }) => url,
      );
    await fetch(`${second}/before`);
    const underWay = fetch(`${first}/slow`);
    await until(() => slow !== null, 'the slow request under way');
    expect((await act('pause')).status).to.equal(303);
    await other.profiles.find({ limit: 1, offset: 0 });
    // The other process reads the setting beside its next request.
    await fetch(`${second}/_profiler/`);
    const answers = await Promise.all([
      fetch(`${first}/paused`),
      fetch(`${second}/paused`),
      fetch(`${second}/fail`),
    ]);
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 500]);
    for (const answer of answers)
      for (const name of ['x-debug-token', 'x-previous-debug-token']) {
        const token = answer.headers.get(name);
        if (token === null) continue;
        const page = await fetch(new URL(`/_profiler/${token}`, answer.url));
        expect(page.status, name).to.equal(200);
        expect(await page.text()).to.contain('not recorded: recording has been paused since');
      }
    slow?.end('answered late');
    expect((await underWay).status).to.equal(200);
    expect(await recorded()).to.have.members(['/before', '/slow']);
    expect((await act('resume')).status).to.equal(303);
    await fetch(`${first}/after`);
    await one.profiles.find({ limit: 1, offset: 0 });
    expect(await recorded()).to.have.members(['/before', '/slow', '/after']);
    await Promise.all(servers.map((server) => server.close()));
    await one.close();
    await other.close();
  });
});
