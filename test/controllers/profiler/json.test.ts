/** The JSON forms: what the published schema says is exactly what is sent, at each address and for each panel. */
import { expect } from 'chai';
import { jsonPanels } from '../../../app/controllers/profiler/json-panels.ts';
import { urls } from '../../../app/urls.ts';
import { everyPanel, openWorld, type PageWorld } from '../../support/every-page.ts';
import { problemsOf, published } from '../../support/json-schema.ts';
import { hostileRequest } from '../../support/page-samples.ts';

describe('the JSON forms', () => {
  let world: PageWorld;
  let other: string;

  before(async () => {
    world = await openWorld('word');
    const recorded = await world.fixture.record({
      ...hostileRequest('second'),
      status: 404,
      errorPage: true,
    });
    other = recorded.token;
    await world.fixture.record({ url: '/orders/1' });
  });
  after(() => world.close());

  async function read(path: string): Promise<Record<string, unknown> & { schema?: string }> {
    return JSON.parse(await world.get(path)) as Record<string, unknown> & { schema?: string };
  }

  const ADDRESSES: Record<string, { form: string; path: () => string }> = {
    'the list': { form: 'list', path: () => urls.searchJson() },
    'a text search': { form: 'list', path: () => urls.searchJson({ text: 'word', limit: 2 }) },
    'a profile': { form: 'profile', path: () => urls.profileJson(world.token) },
    'a profile with an error page': { form: 'profile', path: () => urls.profileJson(other) },
    'all routes': { form: 'routes', path: () => urls.routesJson({ since: 'all' }) },
    'one route': { form: 'routes', path: () => urls.routesJson({ since: 'all', none: 1, status: 404 }) },
    'a comparison': { form: 'comparison', path: () => urls.compareJson({ a: world.token, b: other }) },
    health: { form: 'health', path: () => urls.healthJson() },
  };

  for (const [name, { form, path }] of Object.entries(ADDRESSES))
    it(`${name} is what the schema says`, async () => {
      const answer = await read(path());
      expect(answer.schema).to.equal(urls.schema(form));
      expect(answer.version).to.equal(1);
      expect(problemsOf(answer)).to.deep.equal([]);
    });

  for (const { name } of everyPanel())
    it(`the panel ${name} is what the schema says`, async () => {
      const answer = await read(urls.profileJson(world.token, name));
      expect(answer).to.include({ schema: urls.schema('panel'), panel: name, token: world.token });
      expect(problemsOf(answer)).to.deep.equal([]);
      expect(answer.sections).to.be.an('array');
    });

  it('a panel has the rows of its page', async () => {
    const { sections } = (await read(urls.profileJson(world.token, 'database'))) as {
      sections?: { rows: { block?: { language?: string } }[] }[];
    };
    const blocks = sections?.flatMap(({ rows }) => rows.map(({ block }) => block?.language)) ?? [];
    expect(blocks).to.include('sql');
  });

  it('the schema describes every form, and refuses what it does not describe', async () => {
    const forms = Object.values(ADDRESSES).map(({ form }) => form);
    const described = (published.oneOf as { $ref: string }[]).map(({ $ref }) => $ref.split('/').at(-1));
    expect(new Set([...forms, 'panel'])).to.deep.equal(new Set(described));
    const answer = await read(urls.searchJson());
    expect(problemsOf({ ...answer, extra: 1 })).to.not.be.empty;
    expect(problemsOf({ ...answer, total: 'two' })).to.not.be.empty;
  });

  it('the schema is served, and unchanged', async () => {
    const response = await fetch(`${world.server.address}/_profiler/schema.json`);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(await response.json()).to.deep.equal(published);
  });

  it('an unknown panel is an error', async () => {
    const response = await fetch(`${world.server.address}${urls.profileJson(world.token, 'nothing')}`);
    expect(response.status).to.equal(404);
  });

  it('leaves out the largest panels where all would be too large, and says how large they are', () => {
    const record = (data: unknown) => ({ data, summary: null, error: null });
    const panels = { small: record('x'), large: record('y'.repeat(1000)), larger: record('z'.repeat(2000)) };
    const kept = jsonPanels(panels, 1500);
    expect(kept.small).to.deep.equal(panels.small);
    expect(kept.large).to.deep.equal(panels.large);
    expect(kept.larger).to.deep.equal({ ...record(null), omittedBytes: 2039 });
  });

  it('sends the others where one can’t be written', () => {
    const data: { self?: unknown } = {};
    data.self = data;
    const kept = jsonPanels({
      broken: { data, summary: null, error: null },
      whole: { data: 1, summary: null, error: null },
    });
    expect(kept.broken?.data).to.equal(null);
    expect(kept.broken?.error).to.match(/circular/);
    expect(kept.whole?.data).to.equal(1);
  });
});
