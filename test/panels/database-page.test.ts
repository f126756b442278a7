import * as cheerio from 'cheerio';
import { expect } from 'chai';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import { createDatabasePanel } from '../../app/panels/database/index.ts';
import type { ShownPlan } from '../../app/panels/database/plans.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import type { KeptPlans, PlanNode } from '../../app/profiler/read/query-plan.ts';
import type { Row, Section } from '../../app/profiler/read/rows.ts';
import type { SourceExcerpt } from '../../app/profiler/record/thrown.ts';
import { rowsMarkdown } from '../../app/render/rows-markdown.ts';
import { addBusyPage, query } from '../support/observed-samples.ts';
import { createPageFixture } from '../support/page-fixture.ts';
import { contextWith, panelHtml, profileOf } from '../support/panel-data.ts';

const SOURCE: SourceExcerpt = { from: 39, lines: ['const lines = [];', 'for (const item of items) {', "  await db('products');", '}'] }; // prettier-ignore
const asked: string[] = [];
const panel = createDatabasePanel({
  excerptAt(place) {
    asked.push(place);
    return place.startsWith('src/orders/') ? SOURCE : null;
  },
});
const fixture = createPageFixture([panel]);

const record = (fill: (context: Context) => void): Profile => profileOf(contextWith(fill), [panel]);

function show(
  profile: Profile,
  given: Record<string, string> = {},
  amendments: Record<string, unknown> = {},
) {
  const html = panelHtml(fixture.services.renderPage, panel, { profile, query: given, amendments });
  return { $: cheerio.load(`<main>${html}</main>`), html };
}

function sectionsOf(profile: Profile, amendments: Record<string, unknown> = {}): readonly Section[] {
  const data = profile.panels.database?.data as DatabaseData;
  return panel.rows?.(data, { profile, amendments }).sections ?? [];
}

function rowsOf(profile: Profile): readonly Row[] {
  return sectionsOf(profile).find(({ id }) => id === 'queries')?.rows ?? [];
}

function plansOf(profile: Profile, amendments: Record<string, unknown>): readonly ShownPlan[] {
  const data = profile.panels.database?.data as DatabaseData;
  const model = panel.view?.model?.(data, { profile, query: {}, amendments }) as {
    plans: { plan: ShownPlan }[];
  };
  return model.plans.map(({ plan }) => plan);
}

function lineOf({ line }: Row): string {
  return (line?.() ?? []).map(([, text]) => text).join('');
}

function scan(given: Partial<PlanNode> = {}): PlanNode {
  return {
    type: 'Seq Scan', relation: 'public.order_items', rows: 18, cost: 412, terms: { Filter: '(order_id = $1)' }, ...given,
  }; // prettier-ignore
}

function planned(root: PlanNode, tables: Record<string, number>): { plan: KeptPlans } {
  return { plan: { plans: [{ query: 0, plannedAt: Date.UTC(2026, 10, 20), root, tables }] } };
}

function sayings(
  root: PlanNode,
  tables: Record<string, number>,
  rows: number | null = 18,
): ShownPlan['says'] {
  const profile = record((context) => {
    context.add('query', query({ durationMs: 180, rows, bindings: [4712] }));
  });
  return plansOf(profile, planned(root, tables))[0]?.says ?? [];
}

describe('the page of the database panel', () => {
  it('shows each value where its placeholder stands, in the row and in the statement to copy', () => {
    const profile = record((context) => {
      context.add(
        'query',
        query({ sql: 'select * from "users" where "name" = $1 and "id" = $2', bindings: [`O'Hara`, 1907] }),
      );
    });
    const [row] = rowsOf(profile);
    expect(row === undefined ? '' : lineOf(row)).to.equal(
      `select * from users where name = 'O''Hara' and id = 1907`,
    );
    const { $ } = show(profile);
    expect($('#q1 .sql .v').toArray().map((value) => $(value).text())).to.deep.equal([`'O''Hara'`, '1907']); // prettier-ignore
    const lines = $('#q1-1 > span').toArray().map((line) => $(line).text()); // prettier-ignore
    expect(lines).to.deep.equal([
      'select *',
      'from "users"',
      `where "name" = 'O''Hara'`,
      `  and "id" = '1907'`,
    ]);
    expect($('#q1').text()).not.to.contain('be run as it is');
  });

  it('says so where the copy can not run as it ran', () => {
    const profile = record((context) => {
      context.add('query', query({ sql: 'select 1 from users where password = $1', bindings: ['hunter22-hunter22'] })); // prettier-ignore
      context.add('query', query({ sql: 'insert into users (id, password) values ?', bindings: [[[1, 'hunter22-bulk']]] })); // prettier-ignore
    });
    const { $, html } = show(profile);
    expect(html).not.to.contain('hunter22');
    expect($('#q1').text()).to.contain('be run as it is');
  });

  it('keeps the lines that loop, are slow or failed, and of the others the place alone', () => {
    asked.length = 0;
    const profile = record((context) => {
      addBusyPage(context);
      context.add('query', query({ durationMs: 3, caller: 'src/orders/quick.ts:1' }));
      context.add('query', query({ durationMs: 300, caller: 'src/orders/slow.ts:2' }));
      context.add('query', query({ error: 'no', caller: 'src/orders/failed.ts:3' }));
    });
    expect(asked).to.deep.equal([
      'src/orders/order-view.ts:41',
      'src/orders/slow.ts:2',
      'src/orders/failed.ts:3',
    ]);
    const { $ } = show(profile);
    expect($('#g1 .code .loop').text()).to.equal("  await db('products');");
    expect($('#g1 .code .loop').attr('data-n')).to.equal('41');
  });

  it('gives the end of a transaction the line that began it, if a library ended it', () => {
    const { queries } = record((context) => {
      for (const [sql, caller] of [
        ['BEGIN;', 'src/pages.ts:35'],
        ['select 1', 'src/pages.ts:36'],
        ['COMMIT;', 'node_modules/knex/lib/client.js:279'],
      ] as const)
        context.add('query', query({ sql, caller, transaction: 'trx1' }));
    }).panels.database?.data as DatabaseData;
    expect(queries.map(({ caller }) => caller)).to.deep.equal(['src/pages.ts:35', 'src/pages.ts:36', 'src/pages.ts:35']); // prettier-ignore
  });

  it('draws a long loop in few bars, with its slowest one among them', () => {
    const profile = record((context) => {
      for (let n = 0; n < 200; n++)
        context.add('query', query({ bindings: [n], durationMs: n === 150 ? 90 : 1 }));
    });
    const { $ } = show(profile);
    const heights = $('#g1 .spark rect').toArray().map((bar) => bar.attribs.height); // prettier-ignore
    expect(heights).to.have.length(50);
    expect(heights.filter((height) => height === '96.0%')).to.have.length(1);
    expect($('#g1').text()).to.contain('Each bar: slowest of 4 queries').and.contain('last, 1.0 ms');
  });

  it('shows the first 500 of a long loop, and all on request', () => {
    const profile = record((context) => {
      for (let n = 0; n < 510; n++) context.add('query', query({ bindings: [n] }));
    });
    const { $ } = show(profile);
    const more = $('.queries .in > li:last-child a');
    expect($('.queries .in summary')).to.have.length(500);
    expect(more.text()).to.equal('10 more');
    const all = show(profile, Object.fromEntries(new URLSearchParams(more.attr('href')))).$;
    expect(all('.queries .in .no').last().text()).to.equal('510');
  });

  it('has the statement and values of a query in its loop, and opens the loop that has it', () => {
    const profile = record((context) => {
      for (let n = 0; n < 9; n++) context.add('query', query({ bindings: [n + 100] }));
    });
    const { $ } = show(profile, { open: 'q7' });
    expect($('#q7 pre').text()).to.contain('106');
    expect($('.queries > li > details').attr('open')).to.not.equal(undefined);
    expect(show(profile).$('.queries > li > details').attr('open')).to.equal(undefined);
  });

  it('names the loop, and the lines from it to the statement where that is opened', () => {
    const loop = { from: 42, lines: ['for (const item of items) await load(item);'] };
    const looped = createDatabasePanel({
      excerptAt: () => null,
      sourceAbove: (place) => (place.startsWith('src/orders/') ? loop : null),
    });
    const fill = (context: Context): void => {
      for (let n = 0; n < 9; n++)
        context.add(
          'query',
          query({ caller: 'src/store.ts:3', path: ['src/orders/list.ts:42'], bindings: [n] }),
        );
    };
    const profile = profileOf(contextWith(fill), [looped]);
    const html = panelHtml(fixture.services.renderPage, looped, { profile, query: {}, amendments: {} });
    const row = cheerio.load(html)('.queries > li').first();
    expect(row.find('summary.q > .caller').first().text()).to.equal('src/orders/list.ts:42');
    expect(row.find('summary.q > .rows').first().text()).to.equal('');
    const opened = panelHtml(fixture.services.renderPage, looped, {
      profile,
      query: { open: 'q2' },
      amendments: {},
    });
    expect(cheerio.load(opened)('#q2').text()).to.contain('Called from list.ts:42 → src/store.ts:3');
  });

  it('asks for no source where nothing is wrong', () => {
    asked.length = 0;
    record((context) => context.add('query', query({})));
    expect(asked).to.deep.equal([]);
  });

  it('names the transaction of each query, and says how each ended', () => {
    const profile = record((context) => {
      const statements = ['BEGIN;', 'select 1', 'COMMIT;'];
      statements.forEach((sql, at) => {
        context.add(
          'query',
          query({ sql, bindings: [], startMs: 10 * at, durationMs: 2, transaction: 'trx1' }),
        );
      });
      context.add('query', query({ sql: 'select 2', bindings: [] }));
      context.add('query', query({ sql: 'BEGIN;', bindings: [], transaction: 'trx2' }));
      context.add('query', query({ sql: 'ROLLBACK', bindings: [], transaction: 'trx2' }));
    });
    const names = rowsOf(profile).map(
      ({ fields = [] }) => fields.find(({ label }) => label === 'Transaction')?.value,
    );
    expect(names).to.deep.equal(['T1', 'T1', 'T1', null, 'T2', 'T2']);
    const { $ } = show(profile);
    const ends = $('#transactions tbody tr').toArray().map((row) => $(row).text().replace(/\s+/g, ' ')); // prettier-ignore
    expect(ends[0]).to.contain('T1').and.contain('1 statement, open for 22.0 ms, committed');
    expect(ends[1]).to.contain('0 statements').and.contain('rolled back');
  });

  it('tells failures, slowness and waiting on the row, and lists the failed alone', () => {
    const profile = record((context) => {
      context.add('query', query({ durationMs: 150, waitMs: 30 }));
      context.add('query', query({ sql: 'select 2', error: 'deadlock detected' }));
    });
    const [slow, failed] = rowsOf(profile);
    expect([slow?.tone, slow?.badges]).to.deep.equal(['warn', ['slow', 'waited 30.0 ms']]);
    expect([failed?.tone, failed?.badges]).to.deep.equal(['bad', ['failed']]);
    const many = record((context) => {
      for (let n = 0; n < 12; n++)
        context.add('query', query({ sql: `select ${n} from t_${n}`, error: n === 5 ? 'no' : null }));
    });
    const { $ } = show(many, { 'marks.failed': '1' });
    expect($('.queries > li').toArray().map((row) => row.attribs.id)).to.deep.equal(['q6']); // prettier-ignore
  });

  it('draws the plan of a slow statement, with the values of the profile in place', () => {
    const profile = record((context) => {
      context.add('query', query({ durationMs: 180, rows: 18, bindings: [4712] }));
    });
    const root: PlanNode = {
      type: 'Sort',
      rows: 18,
      cost: 420,
      terms: { 'Sort Key': 'position' },
      nodes: [scan()],
    };
    const { $ } = show(profile, {}, planned(root, { 'public.order_items': 18_404 }));
    const nodes = $('table.plan tbody tr');
    expect(nodes.length).to.equal(2);
    expect(nodes.eq(1).find('th').attr('class')).to.equal('d1');
    expect(nodes.eq(1).text())
      .to.contain('Seq Scan')
      .and.contain('on order_items')
      .and.contain('(order_id = 4712)');
    expect(nodes.eq(1).find('rect').attr('width')).to.equal('98.10%');
    expect($('#p1 .says').text()).to.match(/Reads about 18.404 rows of order_items to keep about 18: an index on order_items \(order_id\) may help\./); // prettier-ignore
    expect($('#q1 .badge').text()).to.equal('slowplan');
  });

  it('shares the cost of what a limit stops before its end', () => {
    const profile = record((context) => context.add('query', query({ durationMs: 180 })));
    const root: PlanNode = { type: 'Limit', rows: 20, cost: 10, nodes: [{ type: 'Nested Loop', rows: 2000, cost: 1000, nodes: [{ type: 'Index Scan', rows: 2000, cost: 600 }, { type: 'Index Scan', rows: 1, cost: 100 }] }] }; // prettier-ignore
    const shares = plansOf(profile, planned(root, {}))[0]?.tree?.map(({ share }) => share?.toFixed(2));
    expect(shares).to.deep.equal(['0.00', '0.30', '0.60', '0.10']);
  });

  it('names what stands out in a plan, and nothing where nothing does', () => {
    const large = { 'public.order_items': 50_000 };
    expect(sayings(scan(), { 'public.order_items': 500 })).to.deep.equal([]);
    expect(sayings(scan({ rows: 30_000 }), large, 30_000)).to.deep.equal([]);
    expect(sayings(scan({ type: 'Index Scan', index: 'i' }), large)).to.deep.equal([]);
    expect(sayings(scan({ terms: { Filter: "((lower(email) = $1) AND ((status)::text = 'a'::text))" } }), large)[0])
      .to.contain('(lower(email), status) may help'); // prettier-ignore
    expect(sayings(scan({ terms: { Filter: '((a = $1) OR (b = $1))' } }), large)[0]).to.contain(
      'an index on order_items may help',
    );
    const loop: PlanNode = { type: 'Nested Loop', rows: 40, cost: 900, nodes: [{ type: 'Index Scan', rows: 40, cost: 8 }, scan()] }; // prettier-ignore
    expect(sayings(loop, large)[0]).to.contain('once for each of about 40 rows');
    expect(sayings({ type: 'Index Scan', rows: 4, cost: 8 }, {}, 3000)[0]).to.match(
      /^Expected about 4 rows, got 3.000:/,
    );
    const sort: PlanNode = { type: 'Sort', rows: 20_000, cost: 1000, terms: { 'Sort Key': 'created_at DESC' }, nodes: [{ type: 'Seq Scan', rows: 20_000, cost: 400 }] }; // prettier-ignore
    expect(sayings(sort, {}, 20_000)[0]).to.match(/^Sorts about 20.000 rows by created_at DESC/);
    expect(sayings({ ...sort, terms: { 'Sort Key': 'count(*)' } }, {}, 20_000)).to.deep.equal([]);
  });

  it('presents all of it: transactions, formatted statements, query plans, the lines that loop', () => {
    const profile = record((context) => {
      context.add(
        'query',
        query({ durationMs: 180, rows: 18, bindings: [4712], caller: 'src/orders/slow.ts:41' }),
      );
      context.add('query', query({ sql: 'BEGIN;', bindings: [], transaction: 'trx1' }));
      context.add('query', query({ sql: 'update parts set stock = stock + ?', bindings: [20] }));
    });
    const markdownOf = (amendments: Record<string, unknown>): string =>
      rowsMarkdown(
        panel.rows?.(profile.panels.database?.data as DatabaseData, { profile, amendments }) ?? {
          sections: [],
        },
      );
    const text = markdownOf(planned(scan(), { 'public.order_items': 18_404 }));
    expect(text).to.contain('select "id", "name"\nfrom "users"\nwhere "id" = $1');
    expect(text)
      .to.contain('?1 = 20')
      .and.contain('Queries: 2 (without 1 such as BEGIN; times include them)');
    expect(text).to.match(/### Query plans\n[^#]*`Query 1` \| Reads about 18.404 rows/);
    expect(text).to.contain(
      'Seq Scan on order_items (about 18 rows, 100 % of the cost)\n  Filter: (order_id = 4712)',
    );
    expect(text).to.contain("> 41 |   await db('products');");
    expect(text).to.match(/\| `T1` \|.*\n\n### Transactions\n[^#]*`T1` \| 0 statements, open for/s);
    expect(markdownOf({})).not.to.contain('### Query plans');
  });

  it('says why there is no plan, and survives what is none', () => {
    const profile = record((context) => {
      context.add('query', query({ durationMs: 180 }));
    });
    const missing = { plan: { plans: [{ query: 0, problem: 'No connection was idle.' }, { query: 99, problem: '' }] } }; // prettier-ignore
    const { $ } = show(profile, {}, missing);
    expect($('#p1').text()).to.contain('No connection was idle.');
    expect($('table.plan').length).to.equal(0);
    for (const plan of [null, 1, 'x', {}, { plans: 3 }]) show(profile, {}, { plan });
  });

  it('keeps a hundred values of a statement, says how many there were, and leads to the plan of the same one', () => {
    const bindings = [...Array.from({ length: 100 }, (_, at) => at), '… 20 more'];
    const places = Array.from({ length: 120 }, (_, at) => `$${at + 1}`).join(', ');
    const profile = record((context) => {
      for (const startMs of [1, 2]) context.add('query', query({ sql: `select 1 where 1 in (${places})`, bindings, startMs, durationMs: 200, caller: `src/${startMs}.ts:1` })); // prettier-ignore
    });
    const { $ } = show(profile, { open: 'q2' }, planned(scan(), {}));
    expect($('#q2 .kv tr').last().text()).to.contain('… 20 more');
    expect($('#q2-1').text()).to.contain('99').and.contain('$101').and.contain('$120');
    expect($('#q2').text())
      .to.contain('Query plan of the same statement: query 1')
      .and.contain('be run as it is');
  });

  it('names the instance of Knex, and none for another library', () => {
    const noteOf = (given: Parameters<typeof query>[0]): string => {
      const { $ } = show(record((context) => context.add('query', query(given))));
      return $('.queries .body').text().replace(/\s+/g, ' ').trim();
    };
    expect(noteOf({ instance: 'reports' })).to.match(/Knex\s*reports/);
    expect(noteOf({})).to.not.include('Knex');
    const driver = { system: 'postgresql' as const, instance: 'postgresql', connection: 'postgresql2' };
    expect(noteOf(driver))
      .to.match(/Connection\s*postgresql2/)
      .and.not.include('Knex');
  });

  it('finds by value, error and place', () => {
    const profile = record((context) => {
      context.add('query', query({ bindings: ['needle'] }));
      context.add(
        'query',
        query({ sql: 'select 2', bindings: [], error: 'a haystack', caller: 'src/b.ts:9' }),
      );
      for (let n = 0; n < 9; n++)
        context.add('query', query({ sql: `select ${n} from t_${n}`, bindings: [] }));
    });
    const found = (find: string): string[] =>
      show(profile, { find }).$('.queries > li').toArray().map((row) => row.attribs.id ?? ''); // prettier-ignore
    expect(found('NEEDLE')).to.deep.equal(['q1']);
    expect(found('haystack')).to.deep.equal(['q2']);
    expect(found('b.ts:9')).to.deep.equal(['q2']);
  });

  it('names the regions of each loop, so that two of them can be told apart', () => {
    const profile = record((context) => {
      for (const table of ['lines', 'customers'])
        for (let i = 0; i < 4; i++)
          context.add('query', query({ sql: `select * from ${table} where id = $1`, bindings: [i], caller: `src/${table}.ts:7` })); // prettier-ignore
    });
    const { $ } = show(profile);
    expect($('.group')).to.have.length(2);
    const names = $('[role=region]').toArray().map((region) => $(region).attr('aria-label')); // prettier-ignore
    expect(names).to.include.members(['Loop 1: suggested statement', 'Loop 2: suggested statement']);
    expect(new Set(names).size).to.equal(names.length);
  });
});
