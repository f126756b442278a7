/** Releases on the pages: the head of a profile, the search, the page of a route, and the routes that became worse. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { load } from 'cheerio';
import { AFTER, BEFORE, openReleasesHost, type ReleasesHost } from '../../support/releases-host.ts';
import { problemsOf } from '../../support/json-schema.ts';

interface Releases {
  release: string | null;
  before: string | null;
  compared: number;
  routes: { route: string; method: string; worse: { what: string; text: string }[] }[];
}

describe('releases on the pages', () => {
  let host: ReleasesHost;
  before(async () => {
    host = await openReleasesHost();
  });
  after(() => host.close());

  const releases = async (query = ''): Promise<Releases> =>
    JSON.parse(await host.read(`/_profiler/releases.json${query}`)) as Releases;

  it('a profile shows its release, and leads to its requests', async () => {
    const token = await host.request('/fine');
    const $ = load(await host.read(`/_profiler/${token}`));
    expect($('.subject .facts').text()).to.contain(AFTER);
    expect($(`.subject a[href="/_profiler/search?release=${AFTER}"]`).length).to.equal(1);
  });

  it('the search box takes a release, of a commit the first digits', async () => {
    const count = async (query: string): Promise<number> =>
      (JSON.parse(await host.read(`/_profiler/search.json?q=${encodeURIComponent(query)}`)) as { total: number }).total; // prettier-ignore
    expect(await count(`release:${BEFORE}`)).to.equal(12);
    expect(await count(`release:${BEFORE.slice(0, 7)} route:/fine`)).to.equal(6);
    expect(await count(`release:${BEFORE}${'0'.repeat(28)}`)).to.equal(12);
    expect(await count('release:none')).to.equal(0);
  });

  it('the page of a route lists its releases, the newest first, and marks what became worse', async () => {
    const $ = load(await host.read('/_profiler/routes?route=/orders/:id&method=GET'));
    const rows = $('#releases tbody tr').toArray();
    expect(rows.map((row) => $(row).find('th').text())).to.deep.equal([AFTER, BEFORE]);
    expect($('#releases td.warn').length).to.equal(1);
    expect($('#releases td.warn').text()).to.contain('17').and.contain('worse');
    expect($(rows[0]).find('a[href^="/_profiler/compare"]').length).to.equal(1);
    expect($(rows[1]).find('a[href^="/_profiler/compare"]').length).to.equal(0);
  });

  it('so do its JSON and Markdown', async () => {
    const address = '/_profiler/routes.json?route=/orders/:id&method=GET';
    const answer = JSON.parse(await host.read(address)) as {
      releases: { release: string; queries: number }[];
    };
    expect(problemsOf(answer)).to.deep.equal([]);
    expect(answer.releases.map(({ release, queries }) => [release, queries])).to.deep.equal([
      [AFTER, 17],
      [BEFORE, 3],
    ]);
    expect(await host.read(address.replace('.json', '.md')))
      .to.contain('## Releases')
      .and.contain(BEFORE);
  });

  it('names the routes that became worse with the newest release', async () => {
    const answer = await releases();
    expect(problemsOf(answer)).to.deep.equal([]);
    expect(answer).to.include({ release: AFTER, before: BEFORE, compared: 2 });
    expect(answer.routes.map(({ route, worse }) => [route, worse.map(({ text }) => text)])).to.deep.equal([
      ['/orders/:id', ['gained 14 queries (median 3 before, 17 now)']],
    ]);
    const text = await host.read('/_profiler/releases.md');
    expect(text)
      .to.contain(`**1 route** of 2 became worse with release \`${AFTER}\`; before: \`${BEFORE}\`.`)
      .and.contain('`GET /orders/:id`');
  });

  it('lists them on a page, with the requests to compare, and the releases that are stored', async () => {
    const $ = load(await host.read('/_profiler/releases', 'text/html'));
    const rows = $('#worse tbody tr').toArray();
    expect(rows.map((row) => $(row).find('th').text())).to.deep.equal(['GET /orders/:id']);
    expect($('#worse').text()).to.contain('1 of 2 routes').and.contain('gained 14 queries');
    expect($('#worse td a').attr('href')).to.match(/^\/_profiler\/compare\?a=[0-9a-f]{6}&b=[0-9a-f]{6}$/);
    const stored = $('#stored tbody tr').toArray();
    expect(stored.map((row) => $(row).find('th').text())).to.deep.equal([AFTER, BEFORE]);
    const [later, earlier] = stored.map((row) => $(row).find('td').last().find('a').attr('href'));
    expect([later, earlier]).to.deep.equal([`/_profiler/releases?release=${AFTER}`, undefined]);
    const routes = load(await host.read('/_profiler/routes', 'text/html'));
    expect(routes('a[href="/_profiler/releases"]').length).to.equal(1);
    expect(JSON.parse(await host.read('/_profiler/releases', 'application/json'))).to.deep.equal(
      await releases(),
    );
  });

  it('a regression leads to the comparison with a request of the release before', async () => {
    const token = await host.request('/orders/7');
    const { routes } = JSON.parse(await host.read('/_profiler/releases.json')) as {
      routes: { before: { newest: string } }[];
    };
    const $ = load(await host.read(`/_profiler/${token}?panel=overview`));
    const link = `/_profiler/compare?a=${routes[0]!.before.newest}&b=${token}`;
    expect($(`.fi a[href="${link}"]`).text()).to.equal('evidence');
  });

  it('tells a coding agent what became worse, with the tokens that it can compare', async () => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${host.url}/_profiler/mcp`)));
    const ask = async (args: Record<string, unknown>): Promise<string> => {
      const { content } = await client.callTool({ name: 'releases', arguments: args });
      return (content as { text: string }[]).map(({ text }) => text).join('\n');
    };
    try {
      const text = await ask({ since: BEFORE.slice(0, 7) });
      expect(text).to.contain('gained 14 queries');
      expect(text).to.match(/\| `[0-9a-f]{6}` *\| `[0-9a-f]{6}` *\|/);
      expect(await ask({ release: 'v9' })).to.contain('no stored request has this release');
    } finally {
      await client.close();
    }
  });

  it('compares with the release that is asked for, and refuses one that is unknown', async () => {
    expect(await releases(`?since=${BEFORE.slice(0, 7)}`)).to.include({ release: AFTER, before: BEFORE });
    const first = await releases(`?release=${BEFORE}`);
    expect(first).to.deep.include({ release: BEFORE, before: null, compared: 0, routes: [] });
    const response = await fetch(`${host.url}/_profiler/releases.json?since=v9`);
    expect(response.status).to.equal(400);
    expect(await response.text()).to.contain('no stored request has this release');
  });

  it('has nothing to say where no request has a release', async () => {
    const { openWorld } = await import('../../support/every-page.ts');
    const world = await openWorld('word');
    try {
      const answer = JSON.parse(await world.get('/_profiler/releases.json')) as Releases;
      expect(answer).to.deep.include({ release: null, before: null, routes: [] });
      expect(await world.get('/_profiler/releases.md')).to.contain('No stored request has a release.');
    } finally {
      await world.close();
    }
  });
});
