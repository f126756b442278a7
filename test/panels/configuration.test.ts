import { expect } from 'chai';
import { presentConfiguration } from '../../app/panels/configuration/present.ts';
import { load } from 'cheerio';
import type { ConfigurationData } from '../../app/panels/configuration/data.ts';
import { createConfigurationPanel } from '../../app/panels/configuration/index.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { createPageFixture } from '../support/page-fixture.ts';
import { panelHtml } from '../support/panel-data.ts';

const facts = {
  settings: {
    PORT: 3000,
    APP_SECRET: 'do-not-show',
    DB_SCHEMA: '',
    SHOP_TAX: '7',
    TRUSTED_PROXIES: ['10.0.0.0/8'],
  },
  shown: ['PORT', 'DB_SCHEMA', 'TRUSTED_PROXIES'],
  packages: { knex: '3.3.0', '@scope/a': '1.0.0', express: '5.1.0' },
  process: { node: '22.11.0', pid: 4121, release: null, startedAt: '2020-01-01T00:00:00.000Z' },
};

async function render(): Promise<{ data: ConfigurationData; html: string; stored: string }> {
  const panel = createConfigurationPanel(facts) as Panel;
  const fixture = createPageFixture([panel]);
  const profile = await fixture.profileOf({
    request: {
      live: { app: { settings: { 'trust proxy': true, 'etag fn': () => 'x', secret: 'do-not-show' } } },
    },
  });
  const html = panelHtml(fixture.services.renderPage, panel, { profile });
  return {
    data: profile.panels.configuration?.data as ConfigurationData,
    html,
    stored: JSON.stringify(profile),
  };
}

describe('panel configuration', () => {
  it('shows values of names on the list only', async () => {
    const { data, html, stored } = await render();
    expect(data.settings.map(({ name, state }) => [name, state])).to.deep.equal([
      ['PORT', 'shown'],
      ['APP_SECRET', 'hidden'],
      ['DB_SCHEMA', 'not set'],
      ['SHOP_TAX', 'hidden'],
      ['TRUSTED_PROXIES', 'shown'],
    ]);
    expect(stored + html).to.not.contain('do-not-show');
    expect(load(html)('#settings').text()).to.contain('APP_SECRET set (hidden)');
  });

  it('lists packages by name with their versions', async () => {
    const $ = load((await render()).html);
    const rows = $('#packages-rows tr')
      .map((_i, row) => `${$(row).find('th').text()} ${$(row).find('td:not(.act)').text()}`)
      .get();
    expect(rows).to.deep.equal(['@scope/a 1.0.0', 'express 5.1.0', 'knex 3.3.0']);
  });

  it('lists packages that were still being read at the first request with the next one', async () => {
    const late = { ...facts, packages: {} };
    const fixture = createPageFixture([createConfigurationPanel(late)]);
    const listed = async (): Promise<string[]> => {
      const { panels } = await fixture.profileOf({ request: { live: { app: { settings: {} } } } });
      return (panels.configuration?.data as ConfigurationData).packages;
    };
    expect(await listed()).to.deep.equal([]);
    late.packages = facts.packages;
    expect(await listed()).to.have.length(3);
  });

  it('shows what Express is set to, by its own list', async () => {
    const { data, html } = await render();
    expect(data.application).to.deep.equal([{ name: 'trust proxy', value: true, state: 'shown' }]);
    expect(load(html)('#application').text()).to.contain('trust proxytrue');
  });

  it('reads it off the first request that came through an application', async () => {
    const panel = createConfigurationPanel(facts) as Panel;
    const fixture = createPageFixture([panel]);
    const names = async (live?: object): Promise<string[]> => {
      const { token } = await fixture.record(live === undefined ? {} : { request: { live } });
      const data = (await fixture.profiles.read(token))?.profile.panels.configuration?.data;
      return (data as ConfigurationData).application.map(({ name }) => name);
    };
    expect(await names()).to.deep.equal([]);
    expect(await names({ app: { settings: { env: 'test' } } })).to.deep.equal(['env']);
    expect(await names()).to.deep.equal(['env']);
  });

  it('lists settings that are not set apart, and when the process started', async () => {
    const $ = load((await render()).html);
    expect($('#unset').text()).to.contain('DB_SCHEMA');
    expect($('#settings').text()).to.not.contain('DB_SCHEMA');
    expect($('#process').text()).to.contain('Started at');
  });

  it('has no section of settings where nothing tells which there are', () => {
    const none = { settings: [], application: [], packages: [], process: [] };
    const settings = presentConfiguration(none).sections.find(({ id }) => id === 'settings');
    expect(settings).to.deep.include({ rows: [] }).and.not.have.property('none');
  });

  it('says what is not set', async () => {
    expect(load((await render()).html)('#process').text()).to.contain('Release not set');
  });
});
