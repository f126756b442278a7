import * as cheerio from 'cheerio';
import { expect } from 'chai';
import { createDatabasePanel } from '../../app/panels/database/index.ts';
import { dumpPanel } from '../../app/panels/dump/index.ts';
import { httpClientPanel } from '../../app/panels/http-client/index.ts';
import { logsPanel } from '../../app/panels/logs/index.ts';
import { runtimePanel } from '../../app/panels/runtime/index.ts';
import { timelinePanel } from '../../app/panels/timeline/index.ts';
import { viewsPanel } from '../../app/panels/views/index.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { everyPanel } from '../support/every-page.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';
import { addBusyPage, addCrowd, query, view } from '../support/observed-samples.ts';

const panels: Panel[] = [
  timelinePanel,
  logsPanel,
  createDatabasePanel(),
  viewsPanel,
  httpClientPanel,
  runtimePanel,
  dumpPanel,
];
const names = panels.map(({ name }) => name);

describe('pages of the observed panels', () => {
  const fixture = createPageFixture(panels);
  const server = usePages(fixture);

  async function record(more: (context: Context) => void): Promise<string> {
    return (await fixture.record({ more })).token;
  }

  async function textOf(token: string, panel: string, query = ''): Promise<string> {
    const response = await fetch(`${server.address}/_profiler/${token}?panel=${panel}${query}`);
    const text = await response.text();
    expect(response.status, text.slice(0, 500)).to.equal(200);
    return text;
  }

  async function page(token: string, panel: string, query = ''): Promise<{ $: cheerio.CheerioAPI }> {
    const $ = cheerio.load(await textOf(token, panel, query));
    expect($('main').text(), `${panel} failed`).not.to.contain("can't be shown");
    return { $ };
  }

  it('say what is missing where nothing was recorded', async () => {
    const token = await record(() => undefined);
    for (const name of names.filter((panel) => panel !== 'timeline')) {
      const { $ } = await page(token, name);
      expect($('main .empty').length, name).to.equal(1);
    }
  });

  it('keep nothing of a request that did nothing', async () => {
    const every = everyPanel();
    const { panels: kept } = await createPageFixture(every).profileOf();
    const withData = every.filter(({ name }) => kept[name]?.data !== null).map(({ name }) => name);
    expect(withData).to.have.members(['overview', 'request', 'timeline', 'configuration']);
    const hidden = every.filter(({ menu }) => menu?.optional === true).map(({ name }) => name);
    expect(hidden).to.include.members(['graphql', 'jobs', 'mail', 'processes']);
  });

  it('have a heading, totals or filters first, unique ids, and no anchor that leads nowhere', async () => {
    const token = await record(addBusyPage);
    for (const name of names) {
      const { $ } = await page(token, name);
      expect($('main h2').length, name).to.equal(1);
      const ids = $('[id]').toArray().map((element) => element.attribs.id ?? ''); // prettier-ignore
      expect(
        ids.filter((id, index) => ids.indexOf(id) !== index),
        name,
      ).to.deep.equal([]);
      for (const link of $('main a[href^="#"]').toArray())
        expect(ids).to.include(link.attribs.href?.slice(1));
      for (const element of $('main [data-filter]').toArray())
        expect(ids).to.include(element.attribs['data-filter']);
      for (const element of $('main [data-copy]').toArray()) {
        const id = element.attribs['data-copy'];
        if (id !== '') expect(ids, name).to.include(id);
      }
    }
  });

  it('lead from the timeline to rows that are there', async () => {
    const token = await record((context) => {
      addBusyPage(context);
      // Loops and repeated reads, more than are explained above the list; one of them fails.
      for (let group = 0; group < 5; group++)
        for (let id = 0; id < 3; id++) {
          const error = group === 4 ? 'deadlock detected' : null;
          const caller = `src/loop-${group}.ts:${group}`;
          context.add(
            'query',
            query({ bindings: [group < 3 ? id : 1], startMs: 200 + group, caller, error }),
          );
        }
      for (let index = 0; index < 4; index++)
        context.add(
          'view',
          view({ name: 'row.ejs', startMs: 300 + index, durationMs: 0.5, depth: 1, parent: 0 }),
        );
    });
    const { $ } = await page(token, 'timeline');
    const links = $('.wf th a').toArray().map((element) => element.attribs.href ?? ''); // prettier-ignore
    expect(links.length).to.be.greaterThan(15);
    for (const href of new Set(links.filter((link) => link.includes('#')))) {
      const url = new URL(href, `${server.address}/_profiler/${token}`);
      const open = url.searchParams.get('open');
      const rest = open === null ? '' : `&open=${open}`;
      const { $: target } = await page(token, url.searchParams.get('panel') ?? '', rest);
      expect(target(url.hash).length, href).to.equal(1);
    }
    const { $: elsewhere } = await page(token, 'logs');
    const { $: database } = await page(token, 'database');
    const findings = elsewhere('.found a[href*="panel=database"][href*="#"]').toArray().map((element) => element.attribs.href ?? ''); // prettier-ignore
    expect(findings.length).to.be.at.least(3);
    for (const href of findings) expect(database(href.slice(href.indexOf('#'))).length, href).to.equal(1);
    expect(database('main').text()).to.contain('deadlock detected');
  });

  it('show the first 500 rows, all of them on request, and all if the address opens one', async () => {
    const token = await record((context) => addCrowd(context, { queries: 520, lines: 0 }));
    // Without a parser: to parse hundreds of rows takes seconds.
    const rowsOf = (text: string): string[] => Array.from(text.matchAll(/<li id="(q\d+)"/g), ([, id]) => id!);
    const text = await textOf(token, 'database');
    const [note = ''] = /<p class="note">[^]*?Show all[^]*?<\/p>/.exec(text) ?? [];
    const $ = cheerio.load(note);
    expect(rowsOf(text)).to.deep.equal(Array.from({ length: 500 }, (_, index) => `q${index + 1}`));
    const rest = $('a').filter((_, link) => $(link).text() === 'Show all');
    expect(rest.parent().text()).to.contain('The first 500 of 520 rows.');
    const href = rest.attr('href')?.replace('?panel=database', '') ?? '';
    expect(rowsOf(await textOf(token, 'database', href))).to.have.length(520);
    expect(rowsOf(await textOf(token, 'database', '&open=q510'))).to.include('q510');
  });

  it('answer whatever the address asks for', async () => {
    const token = await record(addBusyPage);
    const odd = [
      '&all=2&order=__proto__&over=NaN&shown=1&find=%00%ff&open=constructor',
      `&find=${'x'.repeat(3000)}`,
    ];
    for (const name of names) for (const query of odd) await page(token, name, query);
  });

  it('mask what is typed into a filter, and find by it what was masked too', async () => {
    const secret = 'Bearer 0123456789abcdef0123456789';
    const token = await record((context) => {
      context.add('log', {
        level: 'info',
        channel: 'c',
        message: `sent ${secret}`,
        context: null,
        caller: null,
        atMs: 1,
      });
    });
    const { $ } = await page(token, 'logs', `&find=${encodeURIComponent(secret)}`);
    expect($.html()).to.not.contain('0123456789abcdef');
    expect($('#log-lines-rows > tbody > tr')).to.have.length(1);
  });
});
