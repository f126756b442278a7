/** One address, three forms: what `Accept` asks for, and that caches are told. */
import { expect } from 'chai';
import { preferredForm } from '../../../app/controllers/profiler/respond.ts';
import { openWorld, type PageWorld } from '../../support/every-page.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

describe('a page by Accept', () => {
  for (const [accept, form] of [
    [undefined, 'page'],
    ['', 'page'],
    ['*/*', 'page'],
    [BROWSER, 'page'],
    ['text/*', 'page'],
    ['application/json', 'json'],
    ['Application/JSON; charset=utf-8', 'json'],
    // axios, and other clients that prefer JSON.
    ['application/json, text/plain, */*', 'json'],
    ['text/markdown', 'markdown'],
    ['text/markdown, application/json;q=0.5', 'markdown'],
    ['application/json;q=0.5, text/html', 'page'],
    ['text/html;q=0.4, application/json', 'json'],
    ['text/html, application/json', 'page'],
    ['application/json;q=0', 'page'],
    ['application/json;q=x', 'page'],
    ['text/event-stream', 'page'],
  ] as const)
    it(`${accept ?? 'none'}: ${form}`, () => {
      expect(preferredForm(accept)).to.equal(form);
    });

  describe('at its address', () => {
    let world: PageWorld;
    before(async () => {
      world = await openWorld('word');
    });
    after(() => world.close());

    const FORMS = {
      '*/*': 'text/html; charset=UTF-8',
      'application/json': 'application/json; charset=utf-8',
      'text/markdown': 'text/markdown; charset=UTF-8',
    };
    const PATHS: Record<string, { path: () => string; suffixed: () => string }> = {
      'the list': { path: () => '/_profiler/', suffixed: () => '/_profiler/search' },
      'a search': { path: () => '/_profiler/search?status=5xx', suffixed: () => '/_profiler/search' },
      'a profile': { path: () => `/_profiler/${world.token}`, suffixed: () => `/_profiler/${world.token}` },
      'a panel': {
        path: () => `/_profiler/${world.token}?panel=logs`,
        suffixed: () => `/_profiler/${world.token}`,
      },
      routes: { path: () => '/_profiler/routes', suffixed: () => '/_profiler/routes' },
      health: { path: () => '/_profiler/health', suffixed: () => '/_profiler/health' },
    };

    for (const [name, { path, suffixed }] of Object.entries(PATHS)) {
      for (const [accept, type] of Object.entries(FORMS))
        it(`${name} as ${accept}`, async () => {
          const response = await fetch(`${world.server.address}${path()}`, { headers: { accept } });
          expect(response.status).to.equal(200);
          expect(response.headers.get('content-type')).to.equal(type);
          expect(response.headers.get('vary')).to.match(/\baccept(?!-)/);
        });
      it(`${name} by suffix, whatever Accept says`, async () => {
        for (const [suffix, type] of [['.json', FORMS['application/json']], ['.md', FORMS['text/markdown']]]) {
          const address = `${world.server.address}${suffixed()}${suffix}`;
          const response = await fetch(address, { headers: { accept: BROWSER } });
          expect(response.headers.get('content-type'), address).to.equal(type);
        }
      }); // prettier-ignore
    }

    it('a comparison', async () => {
      const { token } = await world.fixture.record({ url: '/orders/2' });
      const address = `${world.server.address}/_profiler/compare?a=${world.token}&b=${token}`;
      for (const [accept, type] of Object.entries(FORMS)) {
        const response = await fetch(address, { headers: { accept } });
        expect(response.headers.get('content-type')).to.equal(type);
      }
    });

    it('keeps what the host has put into Vary', async () => {
      const { addVary } = await import('../../../app/controllers/profiler/respond.ts');
      const headers = new Map<string, unknown>([['vary', ['Origin', 'Accept-Encoding']]]);
      const res = {
        getHeader: (name: string) => headers.get(name),
        setHeader: (name: string, value: unknown) => headers.set(name, value),
      };
      addVary(res as never, 'accept');
      expect(headers.get('vary')).to.equal('origin, accept-encoding, accept');
      addVary(res as never, 'accept');
      expect(headers.get('vary')).to.equal('origin, accept-encoding, accept');
    });

    it('the list and routes as Markdown name requests by token', async () => {
      expect(await world.get('/_profiler/search.md')).to.contain(`\`${world.token}\``);
      const routes = await world.get('/_profiler/routes.md?since=all');
      expect(routes).to.match(/^# Routes\n\nPeriod: all stored\.\n\n\d+ requests?\./);
      const { token } = await world.fixture.record({ url: '/missing', status: 404 });
      // A period ends with the millisecond in which it is asked for.
      await new Promise((resolve) => setTimeout(resolve, 20));
      const one = await world.get('/_profiler/routes.md?since=all&none=1&status=404');
      expect(one)
        .to.match(/^# no route, 404/)
        .and.contain('## Newest requests');
      expect(one).to.contain(`\`${token}\``);
    });
  });
});
