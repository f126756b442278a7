import { load } from 'cheerio';
import { expect } from 'chai';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import type { TimelineData } from '../../app/panels/shared/timeline-data.ts';
import { urls } from '../../app/urls.ts';
import { type Asked, withFindingsDatabase } from '../support/findings-app.ts';
import { withQuietConsole } from '../support/quiet-console.ts';

const QUERIES = 1100;
const LINES = 1700;

describe('facts past the recording limit', () => {
  withQuietConsole();
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table things as select id from generate_series(1, 3) as id'),
    (app, knex) => {
      app.get('/many', async (_req, res) => {
        for (let id = 1; id <= QUERIES; id++) await knex('things').where({ id });
        for (let line = 1; line <= LINES; line++) console.warn(`line ${line}`);
        res.send('done');
      });
    },
  );
  let asked: Asked;
  before(async () => {
    asked = await ask('/many');
  });

  async function page(panel: string): Promise<ReturnType<typeof load>> {
    return load(await ask.page(urls.profile(asked.profile.token, panel)));
  }

  it('are counted in totals, summaries and findings', () => {
    const { panels } = asked.profile;
    const { totals } = panels.database?.data as DatabaseData;
    expect(totals).to.include({ queries: QUERIES, rows: 3, failed: 0 });
    expect(panels.database?.summary?.count).to.equal(QUERIES);
    expect(panels.logs?.summary).to.include({ count: LINES, text: '1,700 warn · 1,700' });
    expect(asked.of('n-plus-one')[0]?.sentence).to.match(/^1,100 × select … from things in a loop/);
    expect(asked.of('too-many-logs')[0]?.sentence).to.equal(
      'This request logged 1,700 lines, 1,000 of the 1,000 kept from one line of code',
    );
  });

  it('take their time in the totals and on the timeline', async () => {
    const { panels, durationMs } = asked.profile;
    const { totals, queries, unkept } = panels.database?.data as DatabaseData;
    const keptMs = queries.reduce((sum, query) => sum + (query.durationMs ?? 0), 0);
    expect(unkept?.count).to.equal(QUERIES - 1000);
    expect(totals.durationMs).to.be.closeTo(keptMs + (unkept?.durationMs ?? 0), 1);
    expect(totals.busyMs).to.be.within(1, durationMs ?? 0);
    const { spans } = panels.timeline?.data as TimelineData;
    const span = spans.find(({ label }) => label === '100 queries past the recording limit');
    expect(span?.kind).to.equal('db');
    expect(span?.durationMs).to.be.above(0);
    const $ = await page('timeline');
    expect($('main').text()).to.contain('100 queries past the recording limit');
  });

  it('are said beside the number on the pages', async () => {
    const database = await page('database');
    expect(database('main').text().replace(/\s+/g, ' ')).to.contain('1,100 (1,000 kept)');
    expect(database('dt:contains("Queries") + dd').first().text()).to.equal('1,100');
    expect(database('.ranges .no').text(), 'numbers that need room').to.match(/\d+–1000/);
    const logs = (await page('logs'))('main').text().replace(/\s+/g, ' ');
    expect(logs.slice(0, 200)).to.match(/^Recording limit reached: 700 log lines not kept\..*1,700/);
  });
});
