import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { Script } from 'node:vm';
import { type CheerioAPI, load } from 'cheerio';
import type { Panel } from '../../../app/profiler/panel.ts';
import type { Profiles } from '../../../app/profiler/read/profiles.ts';
import { createPages } from '../../../app/routes/profiler.ts';
import { createProfilerControllers } from '../../../app/controllers/profiler/index.ts';
import { withPages, usePagesEach } from '../../support/page-client.ts';
import { createPageFixture, ORIGIN, type PageFixture } from '../../support/page-fixture.ts';
import { samplePanels, sampleRule } from '../../support/page-samples.ts';

const panels: Panel[] = [
  ...samplePanels(),
  { name: 'note', title: 'Note', collect: () => ({ kept: true }) },
  {
    name: 'late_failure',
    title: 'Late failure',
    collect: () => ({ kept: true }),
    data: () => ({
      kept: true,
      get worked(): never {
        throw new Error('not to be worked out');
      },
    }),
  },
  {
    name: 'exception',
    title: 'Exception',
    collect: (context) => (context.first('error') === undefined ? null : { thrown: true }),
  },
];

describe('pages of the profiler', () => {
  let fixture: PageFixture;
  const server = usePagesEach(() => (fixture = createPageFixture(panels, { rules: [sampleRule] })));

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${server.address}${path}`, { redirect: 'manual', headers });
  async function page(path: string): Promise<CheerioAPI> {
    const response = await get(path);
    expect(response.status, path).to.equal(200);
    return load(await response.text());
  }
  const urlsOf = ($: CheerioAPI): string[] =>
    $('#rows .go')
      .map((_i, link) => $(link).text())
      .get();

  describe('a profile', () => {
    it('shows the request for security, which was a panel', async () => {
      const { token } = await fixture.record();
      const $ = await page(`/_profiler/${token}?panel=security`);
      expect($('main h2').first().text()).to.equal('Request');
      expect((await get(`/_profiler/${token}.json?panel=security`)).status).to.equal(200);
    });

    it('opens with the exception where there is one, else with the request, if a host has no overview', async () => {
      const plain = await fixture.record();
      const failed = await fixture.record({
        status: 500,
        more: (context) => {
          context.add('error', { error: new Error('It broke'), atMs: 1, origin: 'handled', status: 500 });
        },
      });
      expect((await page(`/_profiler/${plain.token}`))('.panels [aria-current]').text()).to.equal('Request');
      const $ = await page(`/_profiler/${failed.token}`);
      expect($('.panels [aria-current]').text()).to.equal('Exception');
      expect($('title').text()).to.equal('It broke (500) · Hindsight');
      expect($('.subject').hasClass('s5')).to.equal(true);
    });

    it('shows each panel, the empty and the broken one too', async () => {
      const { token } = await fixture.record();
      for (const { name } of panels) await page(`/_profiler/${token}?panel=${name}`);
      expect((await page(`/_profiler/${token}?panel=mail`))('.empty').text()).to.contain(
        'Nothing was recorded.',
      );
      const broken = await page(`/_profiler/${token}?panel=broken`);
      expect(broken('.empty').text()).to.contain('Broken could not be recorded.').and.to.contain('it broke');
      expect(broken('.panels').text()).to.contain('failed');
    });

    it('shows a panel without a view as data', async () => {
      const { token } = await fixture.record();
      expect((await page(`/_profiler/${token}?panel=note`))('main').text()).to.contain('Kepttrue');
    });

    it('folds panels without data at the end of the menu', async () => {
      const { token } = await fixture.record();
      const $ = await page(`/_profiler/${token}`);
      expect($('.panels details summary').text()).to.equal('Nothing recorded (3)');
      expect($('.panels details a').first().text()).to.equal('Migrations');
    });

    it('says 404 for an unknown panel, and 400 for one that is given twice or as a list', async () => {
      const { token } = await fixture.record();
      for (const panel of ['nosuch', '', '../request', '__proto__', 'constructor']) {
        const response = await get(`/_profiler/${token}?panel=${panel}`);
        expect(response.status, panel).to.equal(404);
        expect(await response.text()).to.equal(`Panel "${panel}" is not available for token "${token}".`);
      }
      for (const query of ['panel[]=x', 'panel=request&panel=request', 'panel[a]=1'])
        expect((await get(`/_profiler/${token}?${query}`)).status, query).to.equal(400);
    });

    it('links a request and its error page both ways', async () => {
      const { token, child } = await fixture.record({ status: 404, errorPage: true });
      const parentPage = await page(`/_profiler/${token}`);
      expect(parentPage(`.facts a[href="/_profiler/${child ?? ''}"]`)).to.have.length(1);
      // Its time is shown once, where the time of the request is explained.
      expect(parentPage('.facts div:contains("Error page") dd').text()).to.equal(child);
      const childPage = await page(`/_profiler/${child ?? ''}`);
      expect(childPage(`.facts a[href="/_profiler/${token}"]`)).to.have.length(1);
      expect(childPage('.facts').text()).to.contain('error page');
    });

    it('asks for children only where it names one', async () => {
      const asked: string[] = [];
      const { children } = fixture.profiles;
      fixture.profiles.children = (token) => {
        asked.push(token);
        return children(token);
      };
      const plain = await fixture.record();
      const failed = await fixture.record({ status: 404, errorPage: true });
      for (const { token } of [plain, failed]) await page(`/_profiler/${token}`);
      expect(asked).to.deep.equal([failed.token]);
    });

    it('is shown while its request runs', async () => {
      const { token } = await fixture.record({ running: true, response: { outcome: 'running' } });
      expect((await page(`/_profiler/${token}`))('.facts').text()).to.contain('Timerunning');
    });

    it('draws the request in one line with attributes only', async () => {
      const { token } = await fixture.record();
      const $ = await page(`/_profiler/${token}`);
      expect($('.strip rect.k-db')).to.have.length(18);
      expect($('.strip rect.k-db').first().attr('x')).to.match(/^\d+\.\d\d%$/);
      expect($('[style]')).to.have.length(0);
      const database = await page(`/_profiler/${token}?panel=database`);
      expect(database('.strip rect.k-out')).to.have.length(0);
      expect(database('.strip rect.k-db')).to.have.length(18);
    });
  });

  describe('an unknown token', () => {
    it('is a 404 that says so and offers the search and the newest', async () => {
      const { token } = await fixture.record({ url: '/newest' });
      const response = await get('/_profiler/abcdef');
      expect(response.status).to.equal(404);
      const $ = load(await response.text());
      expect($('h1').text()).to.equal('No profile with token abcdef');
      expect($('form input[name=token]').attr('value')).to.equal('abcdef');
      expect($(`a[href="/_profiler/${token}?panel=overview"]`).text()).to.contain('/newest');
    });

    it('is a 404 on every address', async () => {
      for (const path of [
        '',
        '.json',
        '.har',
        '.otlp.json',
        '/exception',
        '/exception.css',
        '/toolbar',
        '?panel=request',
        '?panel=nosuch',
      ])
        expect((await get(`/_profiler/abcdef${path}`)).status, path).to.equal(404);
    });
  });

  describe('fragments', () => {
    it('give the body of the exception panel, empty where nothing was thrown', async () => {
      const { token } = await fixture.record();
      const response = await get(`/_profiler/${token}/exception`);
      expect(response.status).to.equal(200);
      const html = await response.text();
      expect(html).to.not.contain('<html');
      expect(html).to.contain('class="empty"');
    });

    it('give the toolbar from stored summaries', async () => {
      const { token } = await fixture.record({ status: 201 });
      const $ = await page(`/_profiler/${token}/toolbar`);
      expect($('.toolbar').text()).to.contain('201').and.to.contain('N+1 · 23').and.to.contain(token);
      expect($('script, style, [style]')).to.have.length(0);
    });

    it('give the search form, filled from the query', async () => {
      const $ = await page('/_profiler/search_bar?ip=1.2.3.4&method=post&status=4xx&url=%22%3E&panel=logs');
      expect($('[name=ip]').attr('value')).to.equal('1.2.3.4');
      expect($('[name=url]').attr('value')).to.equal('">');
      expect($('[name=method] [selected]').text()).to.equal('POST');
      expect($('form').attr('method')).to.equal(undefined);
      expect((await get('/_profiler/search_bar?panel[]=x')).status).to.equal(400);
    });
  });

  describe('the list', () => {
    it('says what to do before the first request', async () => {
      expect((await page('/_profiler/'))('.empty').text()).to.contain('Nothing has been recorded yet.');
    });

    it('leaves out the profiler’s own pages and folds error pages under their request', async () => {
      await fixture.record({ kind: 'profiler', url: '/_profiler/' });
      const { token, child } = await fixture.record({ url: '/boom', status: 500, errorPage: true });
      const $ = await page('/_profiler/');
      expect($('#rows > tbody')).to.have.length(2);
      expect($(`#k-${token} tr.kid a.go`).attr('href')).to.contain(`/_profiler/${child ?? ''}`);
      expect($(`#k-${token} tr.kid .badge`).text()).to.equal('error page');
      expect($(`.unfold[href="#k-${token}"]`).text()).to.equal('error page');
      expect(urlsOf(await page('/_profiler/search?kind=profiler'))).to.deep.equal(['/_profiler/']);
    });

    it('filters, counts and pages', async () => {
      for (let i = 0; i < 5; i++)
        await fixture.record({
          url: `/items/${i}`,
          method: i === 4 ? 'POST' : 'GET',
          status: i === 3 ? 404 : 200,
        });
      expect(urlsOf(await page('/_profiler/search?status=4xx'))).to.deep.equal(['/items/3']);
      expect(urlsOf(await page('/_profiler/search?method=post'))).to.deep.equal(['/items/4']);
      const first = await page('/_profiler/search?limit=2&sort=url&order=asc');
      expect(urlsOf(first)).to.deep.equal(['/items/0', '/items/1']);
      expect(first('.note').text()).to.contain('1 to 2 of 5 requests');
      const older = first('[rel=next]').attr('href') ?? '';
      expect(urlsOf(await page(older))).to.deep.equal(['/items/2', '/items/3']);
      expect((await page('/_profiler/search?page=9&limit=2'))('.empty').text()).to.contain(
        'past the end: 5 requests match',
      );
      expect((await page('/_profiler/search?url=nowhere'))('.empty').text()).to.contain(
        'No stored request matches',
      );
    });

    it('sorts by its columns, and back', async () => {
      for (const url of ['/b', '/a', '/c']) await fixture.record({ url });
      const $ = await page('/_profiler/search?url=/');
      const byUrl = $('thead th.url a').attr('href') ?? '';
      expect(byUrl).to.equal('/_profiler/search?url=%2F&sort=url&order=desc');
      const sorted = await page(byUrl);
      expect(urlsOf(sorted)).to.deep.equal(['/c', '/b', '/a']);
      expect(sorted('thead [aria-sort]').text()).to.equal('URL ↓');
      expect(urlsOf(await page(sorted('thead th.url a').attr('href') ?? ''))).to.deep.equal([
        '/a',
        '/b',
        '/c',
      ]);
    });

    it('leads to a profile where a token is all that is asked for', async () => {
      const { token } = await fixture.record();
      for (const query of [`token=${token}`, `token=${token.toUpperCase()}`, `q=${token}`, 'token=abcdef']) {
        const response = await get(`/_profiler/search?${query}`);
        expect(response.status, query).to.equal(302);
        expect(response.headers.get('location')).to.match(/^\/_profiler\/[0-9a-f]{6}$/);
      }
      expect((await get('/_profiler/search?q=decade')).status).to.equal(200);
      expect((await get('/_profiler/search?token=zz')).status).to.equal(200);
    });

    it('leads from latest to the newest that matches, or to the list', async () => {
      const first = await fixture.record({ url: '/first' });
      await fixture.record({ url: '/second' });
      await fixture.record({ kind: 'profiler', url: '/_profiler/' });
      const latest = async (query: string): Promise<string | null> => {
        const response = await get(`/_profiler/latest${query}`);
        expect(response.status).to.equal(302);
        return response.headers.get('location');
      };
      expect(await latest('?url=first')).to.equal(`/_profiler/${first.token}`);
      expect(await latest('?url=first&panel=logs')).to.equal(`/_profiler/${first.token}?panel=logs`);
      expect(await latest('?url=nothing')).to.equal('/_profiler/search?url=nothing');
    });

    it('says where it is not whole', async () => {
      const failing: Profiles = {
        ...fixture.profiles,
        find: () =>
          Promise.resolve({
            rows: [],
            total: 0,
            totalIsExact: true,
            notice: 'The stored profiles can’t be read now.',
            isAway: true,
          }),
      };
      const services = { ...fixture.services, profiles: failing };
      const pages = createPages({
        ...services,
        controllers: createProfilerControllers(services),
        originOf: () => ORIGIN,
      });
      await withPages(pages, async (other) => {
        expect(load(await (await fetch(`${other.address}/_profiler/`)).text()).text()).to.contain(
          'can’t be read now',
        );
      });
    });
  });

  describe('as JSON', () => {
    it('gives what can be worked out, where a panel fails at that', async () => {
      const { token } = await fixture.record();
      const { profile } = (await (await get(`/_profiler/${token}.json`)).json()) as {
        profile: { panels: Record<string, { data: unknown; error: string | null }> };
      };
      expect(profile.panels.late_failure?.error).to.contain('not to be worked out');
      expect(profile.panels.note?.data).to.deep.equal({ kept: true });
    });
  });

  describe('assets', () => {
    it('are named by their content, cached for a year, and known again', async () => {
      const { token } = await fixture.record();
      const $ = await page(`/_profiler/${token}`);
      const sheet = $('link[rel=stylesheet]').attr('href') ?? '';
      expect(sheet).to.match(/^\/_profiler\/assets\/hindsight\.[0-9a-f]{12}\.css$/);
      const response = await get(sheet);
      expect(response.headers.get('content-type')).to.equal('text/css; charset=UTF-8');
      expect(response.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
      const etag = response.headers.get('etag') ?? '';
      const again = await get(sheet, { 'if-none-match': `W/"x", ${etag}` });
      expect([again.status, await again.text(), again.headers.get('etag')]).to.deep.equal([304, '', etag]);
    });

    it('hold the modules of the script in one file', async () => {
      const { token } = await fixture.record();
      const response = await get((await page(`/_profiler/${token}`))('script').attr('src') ?? '');
      expect(response.headers.get('content-type')).to.equal('text/javascript; charset=UTF-8');
      const script = await response.text();
      expect(() => new Script(script)).to.not.throw();
      expect(script).to.not.match(/^\s*(?:import|export)\b/m);
      for (const name of readdirSync('public/profiler').filter((file) => file.endsWith('.js'))) {
        const [, exported = ''] = /^export (?:async )?(?:function|const) (\w+)/m.exec(readFileSync(`public/profiler/${name}`, 'utf8')) ?? []; // prettier-ignore
        expect(script, name).to.contain(exported);
      }
    });

    it('are the only files', async () => {
      for (const name of [
        'hindsight.css',
        'hindsight.000000000000.css',
        '..%2f..%2fpackage.json',
        '../../package.json',
        'list.ejs',
      ])
        expect((await get(`/_profiler/assets/${name}`)).status, name).to.equal(404);
    });

    it('hold the exception panel’s stylesheet under its fixed name', async () => {
      const { token } = await fixture.record();
      const response = await get(`/_profiler/${token}/exception.css`);
      expect(response.headers.get('content-type')).to.equal('text/css; charset=UTF-8');
      expect(response.headers.get('cache-control')).to.equal('no-cache, private');
      const etag = response.headers.get('etag') ?? '';
      expect((await get(`/_profiler/${token}/exception.css`, { 'if-none-match': etag })).status).to.equal(
        304,
      );
    });
  });
});
