/** The JSON forms: the members that docs/guides/agents.md promises are sent, at each address and for each panel. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { jsonPanels } from '../../../app/controllers/profiler/forms-controller.ts';
import { urls } from '../../../app/urls.ts';
import { everyPanel, openWorld, type PageWorld } from '../../support/every-page.ts';
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

  const [, documented = ''] = readFileSync('docs/guides/agents.md', 'utf8').split(
    'Each JSON document begins',
  );

  async function read(path: string): Promise<Record<string, unknown>> {
    return JSON.parse(await world.get(path)) as Record<string, unknown>;
  }

  /** The row of a form in the table of the documentation: its members. */
  function promised(form: string): string[] {
    const row = new RegExp(`^\\| \`${form.replace(/[[\].]/g, '\\$&')}\`\\s*\\|(.*)\\|$`, 'm').exec(
      documented,
    )?.[1];
    return Array.from((row ?? '').matchAll(/`(\w+)`/g), ([, name = '']) => name);
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
    it(`${name} has its form, its version and the members that are promised`, async () => {
      const answer = await read(path());
      expect(Object.keys(answer).slice(0, 2)).to.deep.equal(['form', 'version']);
      expect(answer).to.include({ form, version: 1 });
      expect(promised(form)).to.have.length.above(2);
      expect(answer).to.include.keys(promised(form));
    });

  it('a request in a list, and a profile, have the members that are promised', async () => {
    const { profiles } = (await read(urls.searchJson())) as { profiles: Record<string, unknown>[] };
    const { profile } = (await read(urls.profileJson(world.token))) as { profile: Record<string, unknown> };
    expect(profiles[0]).to.include.keys(promised('profiles[]'));
    expect(profile).to.include.keys(promised('profile.profile'));
  });

  for (const { name } of everyPanel())
    it(`the panel ${name} has the members that are promised`, async () => {
      const answer = await read(urls.profileJson(world.token, name));
      expect(answer).to.include({ form: 'panel', version: 1, panel: name, token: world.token });
      expect(answer).to.include.keys(promised('panel'));
      expect(answer.sections).to.be.an('array');
    });

  it('a panel has the rows of its page', async () => {
    const { sections } = (await read(urls.profileJson(world.token, 'database'))) as {
      sections?: { rows: { block?: { language?: string } }[] }[];
    };
    const blocks = sections?.flatMap(({ rows }) => rows.map(({ block }) => block?.language)) ?? [];
    expect(blocks).to.include('sql');
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
