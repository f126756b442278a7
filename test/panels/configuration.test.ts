import { expect } from 'chai';
import { load } from 'cheerio';
import { createConfigurationPanel, type ConfigurationPanelData } from '../../app/panels/configuration.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { createPageFixture } from '../support/page-fixture.ts';

const facts = {
  settings: {
    PORT: 3000,
    APP_SECRET: 'do-not-show',
    DB_SCHEMA: '',
    SHOP_TAX: '7',
    TRUSTED_PROXIES: ['10.0.0.0/8'],
  },
  application: { 'trust proxy': true, secret: 'do-not-show' },
  packages: { knex: '3.3.0', '@scope/a': '1.0.0', express: '5.1.0' },
  process: { node: '22.11.0', pid: 4121, release: null },
};

async function render(
  shown?: readonly string[],
): Promise<{ data: ConfigurationPanelData; html: string; stored: string }> {
  const panel = createConfigurationPanel(facts, shown === undefined ? {} : { shown }) as Panel;
  const fixture = createPageFixture([panel]);
  const { token } = await fixture.record();
  const found = await fixture.profiles.read(token);
  if (found === null) throw new Error('not stored');
  const { profile } = found;
  const html = fixture.services.renderPage('partials/panel-body', { panel, profile, query: {} });
  return {
    data: profile.panels.configuration?.data as ConfigurationPanelData,
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
    expect(load(html)('#settings-table').text()).to.contain('APP_SECRETset; not on the list');
  });

  it('lets a host name settings of its own', async () => {
    const { data } = await render(['SHOP_TAX']);
    expect(data.settings.find(({ name }) => name === 'SHOP_TAX')).to.deep.equal({
      name: 'SHOP_TAX',
      value: '7',
      state: 'shown',
    });
  });

  it('lists packages by name with their versions', async () => {
    const $ = load((await render()).html);
    const rows = $('#packages-table tr')
      .map((_i, row) => `${$(row).find('th').text()} ${$(row).find('td:not(.act)').text()}`)
      .get();
    expect(rows).to.deep.equal(['@scope/a 1.0.0', 'express 5.1.0', 'knex 3.3.0']);
  });

  it('says what is not set', async () => {
    expect(load((await render()).html)('#process').text()).to.contain('Releasenot set');
  });
});
