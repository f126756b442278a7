import { expect } from 'chai';
import ejs from 'ejs';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { besideOf } from '../support/beside.ts';
import { timeOf } from '../support/time-of.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { draftsOf } from '../support/find-by-rule.ts';

/** Computes for so long, however much longer that takes on a busy machine. */
function work(ms: number): string {
  const before = process.cpuUsage();
  while (process.cpuUsage(before).user < ms * 1000);
  return '';
}

describe('finding slow-view', () => {
  const folder = mkdtempSync(join(tmpdir(), 'views-'));
  writeFileSync(
    join(folder, 'page.ejs'),
    '<% for (const item of items) { %><%- include("row", { item }) %><% } %>',
  );
  writeFileSync(join(folder, 'row.ejs'), '<p><%= work(item) %></p>');
  after(() => {
    rmSync(folder, { recursive: true });
  });

  const ask = withFindingsApp((app, profiler) => {
    profiler.watchApp(app as never);
    profiler.watchEngine(ejs);
    app.set('views', folder);
    app.set('view engine', 'ejs');
    app.engine('ejs', ejs.renderFile);
    app.get('/slow', (_req, res) => {
      res.render('page', { items: [40, 40, 40], work });
    });
    app.get('/slow-handler', (_req, res) => {
      work(120);
      res.render('page', { items: [1], work });
    });
  });

  it('says how long a page took to render, and which partial took most of it', async () => {
    const [finding] = (await ask.when('/slow', ({ of }) => of('slow-view').length > 0)).of('slow-view');
    expect(finding).to.include({ label: 'slow view', severity: 'warn', panel: 'views', anchor: 'v1' });
    expect(finding?.sentence).to.match(
      /^page took \d+\.\d+ m?s \(<?\d+ % of the request\) to render, \d+\.\d+ m?s of it in 3 × row(\.ejs)?$/,
    );
    expect(finding?.place).to.match(/slow-view\.test\.ts:\d+$/);
  });

  it('ignores the first rendering, for which the engine compiles it', () => {
    const found = (durationMs: number, ...earlier: string[]) => {
      const view = { name: 'page', depth: 0, parent: null, startMs: 0, durationMs, caller: 'a.ts:1' };
      const kept = { views: { views: [view] } };
      const others = earlier.map((name) => ({ head: {}, kept: { views: { views: [{ ...view, name }] } } }));
      const beside = besideOf([{ kind: 'view', startMs: 0, durationMs }], { totalMs: durationMs });
      return draftsOf('slow-view', kept, { durationMs }, { ...beside, earlier: others as never });
    };
    expect(found(150)).to.deep.equal([]);
    expect(found(150, 'list')).to.deep.equal([]);
    expect(found(150, 'list', 'page')).to.have.length(1);
    expect(found(450), 'Pug on a busy machine').to.deep.equal([]);
    expect(found(1200)).to.have.length(1);
  });

  it('ignores a quick page in a slow handler', async () => {
    const { of, profile } = await ask.when('/slow-handler', (asked) => timeOf(asked.profile, 'view') < 100);
    expect(profile.durationMs).to.be.above(120);
    expect(of('slow-view')).to.deep.equal([]);
  });
});
