import { load } from 'cheerio';
import { expect } from 'chai';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import type { LogsData } from '../../app/panels/logs/data.ts';
import type { TimelineData } from '../../app/panels/shared/timeline-data.ts';
import { urls } from '../../app/urls.ts';
import { type Asked, withFindingsDatabase } from '../support/findings-app.ts';
import { timeOf } from '../support/time-of.ts';
import { withQuietConsole } from '../support/quiet-console.ts';

const QUERIES = 700;
const LINES = 1000;
/** Fills the room for facts sooner. */
const LONG = '.'.repeat(900);

describe('facts past the recording limit', () => {
  withQuietConsole();
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table things as select id from generate_series(1, 3) as id'),
    (app, knex) => {
      app.get('/many', async (_req, res) => {
        for (let id = 1; id <= QUERIES; id++)
          await knex.raw(`select * from things where id = ? /*${LONG}*/`, [id]);
        for (let line = 1; line <= LINES; line++) console.info(`line ${line} ${LONG}`);
        await knex.raw('select 1 / 0').catch(() => undefined);
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
    expect(totals).to.include({ queries: QUERIES + 1, rows: 3, failed: 1 });
    expect(panels.database?.summary?.count).to.equal(QUERIES + 1);
    expect(panels.logs?.summary).to.include({ count: LINES, text: '1,000' });
    expect(asked.of('n-plus-one')[0]?.sentence).to.match(/^700 × select … from things in a loop/);
    expect(asked.of('too-many-logs')[0]?.sentence).to.equal(
      'This request logged 1,000 lines, 1,000 of them from one line of code',
    );
  });

  it('are not the last ones, nor those that failed', () => {
    const { panels } = asked.profile;
    const { queries } = panels.database?.data as DatabaseData;
    expect(queries.at(-1)?.error).to.match(/division by zero/);
    expect(asked.of('failed-statement')[0]?.sentence).to.match(/division by zero/);
    const { lines } = panels.logs?.data as LogsData;
    expect(lines[0]?.message).to.match(/^line 1 /);
    expect(lines.at(-1)?.message).to.match(/^line 1000 /);
  });

  it('are a few rows in Markdown, and how many more there are', async () => {
    const text = await ask.page(urls.profileMarkdown(asked.profile.token));
    const rows = text.split('\n').filter((line) => /^\|.*`select … from things` \| – \|.* \d+ \|/.test(line));
    // Slow ones stand out, and are listed however many there are.
    expect(rows).to.have.length.below(6);
    expect(text).to.match(/^\d+ more rows like these left out\.$/m);
  });

  it('are counted in the step that the overview makes of them', async () => {
    const overview = (await page('overview'))('main').text().replace(/\s+/g, ' ');
    expect(overview).to.match(/700 × N\+1 select \* from things/);
    const { statements } = asked.profile.panels.database?.data as DatabaseData;
    const row = (await page('database'))('#statements').text().replace(/\s+/g, ' ');
    expect(statements[0]?.sql).to.contain('from things');
    expect(row).to.match(/700 × select … from things/);
  });

  it('take their time in the totals and on the timeline', async () => {
    const { panels, durationMs } = asked.profile;
    const { queries, unkept, groups } = panels.database?.data as DatabaseData;
    expect(unkept?.count).to.be.above(0);
    expect(unkept?.count).to.equal(QUERIES + 1 - queries.length);
    expect(groups[0]).to.include({ more: unkept?.count });
    expect(groups[0]?.moreSlowestMs).to.be.within(0.001, unkept?.durationMs ?? 0);
    expect(timeOf(asked.profile, 'db')).to.be.within(1, durationMs ?? 0);
    const label = `${unkept?.count} queries past the recording limit`;
    const { spans } = panels.timeline?.data as TimelineData;
    const span = spans.find((one) => one.label === label);
    expect(span?.kind).to.equal('db');
    expect(span?.durationMs).to.be.above(0);
    const $ = await page('timeline');
    expect($('main').text()).to.contain(label);
  });

  it('are said beside the number on the pages', async () => {
    const { panels } = asked.profile;
    const { queries } = panels.database?.data as DatabaseData;
    const { lines } = panels.logs?.data as LogsData;
    const database = await page('database');
    const kept = queries.length.toLocaleString('en');
    expect(database('main').text().replace(/\s+/g, ' ')).to.contain(`701 (${kept} kept)`);
    expect(database('dt:contains("Queries") + dd').first().text()).to.equal('701');
    const logs = (await page('logs'))('main').text().replace(/\s+/g, ' ');
    const counted = (LINES - lines.length).toLocaleString('en');
    expect(logs).to.match(/Counted past the recording limit.*past-limit\.test\.ts:\d+/);
    expect(logs.slice(0, 200)).to.contain(`Recording limit reached: ${counted} log lines not kept.`);
  });
});
