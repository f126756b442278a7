import { expect } from 'chai';
import ejs from 'ejs';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding template-does-io', () => {
  const folder = mkdtempSync(join(tmpdir(), 'views-'));
  writeFileSync(join(folder, 'asks.ejs'), '<p><%= (await load()).name %></p>');
  writeFileSync(join(folder, 'shows.ejs'), '<p><%= user.name %></p>');
  after(() => {
    rmSync(folder, { recursive: true });
  });

  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table users (id int, name text)');
      await knex.raw(`insert into users values (1, 'Ada')`);
    },
    (app, knex, profiler) => {
      profiler.watchApp(app as never);
      app.set('views', folder);
      app.set('view engine', 'ejs');
      app.engine('ejs', (file, data, done) => {
        ejs.renderFile(file, data as ejs.Data, { async: true }).then((html) => {
          done(null, html);
        }, done);
      });
      const load = (): Promise<{ name: string } | undefined> =>
        knex<{ id: number; name: string }>('users').where({ id: 1 }).first();
      app.get('/asks', (_req, res) => {
        res.render('asks', { load });
      });
      app.get('/shows', async (_req, res) => {
        const user = await load();
        res.on('finish', () => void load());
        res.render('shows', { user });
      });
    },
  );

  it('names the query that started while the page was rendering', async () => {
    const { of, body } = await ask('/asks');
    expect(body).to.equal('<p>Ada</p>');
    const [finding] = of('template-does-io');
    expect(finding).to.include({ label: 'query in view', severity: 'warn', panel: 'database', anchor: 'q1' });
    expect(finding?.sentence).to.match(
      /^select … from users started while asks was rendering, which took \d+\.\d+ m?s \(<?\d+ % of the request\)$/,
    );
  });

  it('ignores queries before and after', async () => {
    const { of, profile } = await ask('/shows');
    expect(profile.panels.views?.summary?.count).to.equal(1);
    expect(of('template-does-io')).to.deep.equal([]);
  });
});
