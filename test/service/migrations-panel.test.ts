import { expect } from 'chai';
import { load } from 'cheerio';
import { type MigrationsData, migrationsPanel } from '../../app/service/migrations-panel.ts';
import type { Facts } from '../../app/profiler/record/facts.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { createPageFixture } from '../support/page-fixture.ts';
import { withMigrations } from '../support/findings-migrations.ts';
import { panelHtml } from '../support/panel-data.ts';

const panel = migrationsPanel as Panel;
const names = (count: number): string[] => Array.from({ length: count }, (_unused, index) => `step_${index}`);
const fact: Facts['migrations'] = {
  state: 'ok',
  schema: 'shop',
  table: 'knex_migrations',
  executed: names(3).map((name) => ({ name, batch: 1, at: 0 })),
  pending: [],
  unknown: [],
  durationMs: 0.8,
  message: null,
};

async function record(
  change: Partial<Facts['migrations']> | null,
): Promise<{ profile: Profile; html: string; data: MigrationsData }> {
  const fixture = createPageFixture([panel]);
  const profile = await fixture.profileOf({
    more: (context) => {
      if (change !== null) context.add('migrations', { ...fact, ...change });
    },
  });
  const html = panelHtml(fixture.services.renderPage, panel, { profile });
  return { profile, html, data: profile.panels.migrations?.data as MigrationsData };
}

describe('panel migrations', () => {
  it('shows what ran, newest first', async () => {
    const { html, profile } = await record({});
    const $ = load(html);
    expect(
      $('#executed tbody tr')
        .map((_i, row) => $(row).find('td').first().text())
        .get(),
    ).to.deep.equal(['step_2', 'step_1', 'step_0']);
    expect(profile.panels.migrations?.summary).to.deep.equal({ text: '3', tone: 'plain', count: 3 });
  });

  it('keeps the newest by name and counts the rest', async () => {
    const { data, html } = await record({
      executed: names(200).map((name) => ({ name, batch: 1, at: null })),
    });
    expect(data.executedCount).to.equal(200);
    expect(data.executed).to.have.length(12);
    expect(data.executed[0]?.name).to.equal('step_199');
    expect(load(html)('#executed h3').text()).to.contain('the newest 12 of 200');
  });

  it('says in the menu what is pending, and lists it', async () => {
    const { profile, html } = await record({ state: 'behind', pending: names(5), unknown: ['tomorrow'] });
    expect(profile.panels.migrations?.summary?.text).to.equal('5 pending');
    expect(load(html)('#pending tbody tr')).to.have.length(5);
    expect(load(html)('#unknown').text()).to.contain('tomorrow');
  });

  for (const [state, sentence] of [
    ['missing', 'The table shop.knex_migrations does not exist'],
    ['locked', 'why it is so'],
    ['unavailable', 'why it is so'],
  ] as const) {
    it(`says that the table is ${state}`, async () => {
      const { html } = await record({ state, executed: [], message: 'why it is so' });
      expect(load(html)('.lead').text()).to.contain(sentence);
    });
  }

  it('has an empty state where the table was not read', async () => {
    const { html } = await record(null);
    expect(load(html)('.empty').text()).to.contain('was not read for this request');
  });
});

describe('finding pending-migrations', () => {
  const ask = withMigrations();

  it('names the migrations that have not run', async () => {
    const { of } = await ask({ files: ['1_a', '2_b', '3_c', '4_d', '5_e'], executed: ['1_a'] });
    const [finding] = of('pending-migrations');
    expect(finding).to.include({
      label: 'pending migration',
      severity: 'warn',
      sentence: '4 migrations are pending: 2_b, 3_c, 4_d and 1 more',
      place: 'knex_migrations',
      panel: 'migrations',
      anchor: 'pending',
    });
  });

  it('reports nothing if all have run or there are none', async () => {
    expect((await ask({ files: ['1_a'], executed: ['1_a'] })).of('pending-migrations')).to.deep.equal([]);
    expect((await ask({ files: [], executed: [] })).of('pending-migrations')).to.deep.equal([]);
  });
});

describe('finding unknown-migrations', () => {
  const ask = withMigrations();

  it('names the migrations that the code does not have', async () => {
    const { of } = await ask({ files: ['1_a'], executed: ['1_a', '2_tomorrow'] });
    expect(of('unknown-migrations')[0]).to.include({
      label: 'unknown migration',
      severity: 'info',
      sentence: 'The database has 1 migration that this code does not have: 2_tomorrow',
      anchor: 'unknown',
    });
  });

  it('reports nothing if the code has all of them and more', async () => {
    const { of } = await ask({ files: ['1_a', '2_b'], executed: ['1_a'] });
    expect(of('unknown-migrations')).to.deep.equal([]);
  });
});
