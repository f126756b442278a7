import { expect } from 'chai';
import { load } from 'cheerio';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import type { Json } from '../../app/profiler/json.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { type AskedQuery, keptQueries } from '../support/kept-queries.ts';
import { draftsOf, ruleOf } from '../support/find-by-rule.ts';

describe('finding n-plus-one', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw(
        'create table products as select id, id * 10 as price from generate_series(1, 40) as id',
      );
      await knex.raw(
        'create table orders as select id, 41 - id as product_id from generate_series(1, 6) as id',
      );
    },
    (app, knex) => {
      app.get('/loop/:count', async (req, res) => {
        const products: unknown[] = [];
        for (let id = 1; id <= Number(req.params.count); id++)
          products.push(await knex('products').where({ id }).first());
        res.json(products);
      });
      app.get('/one', async (_req, res) => {
        const ids = Array.from({ length: 12 }, (_, index) => index + 1);
        res.json(await knex('products').whereIn('id', ids));
      });
      app.get('/together', async (_req, res) => {
        const sleep = (seconds: number): Promise<unknown> =>
          knex.raw('select ?::float, pg_sleep(0.1)', [seconds]);
        res.json(await Promise.all([1, 2, 3].map(sleep)));
      });
      app.get('/orders', async (_req, res) => {
        const orders = await knex('orders').select<{ product_id: number }[]>('*');
        const found: unknown[] = [];
        for (const order of orders) {
          found.push(await knex('products').where({ id: order.product_id }).first());
        }
        res.json(found);
      });
      app.get('/first/:limit', async (req, res) => {
        const first = await knex('orders').orderBy('id').limit(Number(req.params.limit)).select<{ product_id: number }[]>('*'); // prettier-ignore
        res.json(
          await Promise.all(first.map(({ product_id: id }) => knex('products').where({ id }).first())),
        );
      });
      const productOf = async (id: number): Promise<unknown> => {
        const product: unknown = await knex('products').where({ id }).first();
        return product;
      };
      app.get('/helper', async (_req, res) => {
        const orders = await knex('orders').select<{ product_id: number }[]>('*');
        const found: unknown[] = [];
        for (const order of orders) {
          found.push(await productOf(order.product_id));
        }
        res.json(found);
      });
      app.get('/together-helper', async (_req, res) => {
        const orders = await knex('orders').select<{ product_id: number }[]>('*');
        res.json(await Promise.all(orders.map((order) => productOf(order.product_id))));
      });
      app.get('/three-places', async (_req, res) => {
        const first = await productOf(1);
        const second = await productOf(2);
        const third = await productOf(3);
        res.json([first, second, third]);
      });
      app.get('/pages', async (_req, res) => {
        let read: unknown[] = [];
        for (let offset = 0, rows = 9; rows === 9; offset += 9) {
          const page: unknown[] = await knex('products').orderBy('id').limit(9).offset(offset);
          rows = page.length;
          read = [...read, ...page];
        }
        res.json(read);
      });
      app.get('/pages-by-key', async (_req, res) => {
        let after = 0;
        for (let rows = 9; rows === 9; after += 9)
          rows = (await knex('products').where('id', '>', after).orderBy('id').limit(9)).length;
        res.json(after);
      });
      app.get('/top-of-each', async (_req, res) => {
        const found: unknown[] = [];
        for (const price of [50, 300, 390, 400])
          found.push(await knex('products').where('price', '>', price).orderBy('id').limit(5));
        res.json(found);
      });
      app.get('/apart', async (_req, res) => {
        const first: unknown = await knex('products').where({ id: 1 }).first();
        const second: unknown = await knex('products').where({ id: 2 }).first();
        const third: unknown = await knex('products').where({ id: 3 }).first();
        res.json([first, second, third]);
      });
    },
  );

  it('names the line that loops, how often it ran and what it cost', async () => {
    const { of } = await ask('/loop/12');
    const [finding] = of('n-plus-one');
    expect(finding).to.include({ label: 'N+1', severity: 'bad', panel: 'database', anchor: 'g1' });
    expect(finding?.sentence).to.match(
      /^12 × select … from products in a loop: \d+\.\d+ m?s \(<?\d+ % of the request\)$/,
    );
    expect(finding?.place).to.match(/^test\/findings\/n-plus-one\.test\.ts:\d+$/);
  });

  it('counts time once where the reads ran side by side', async () => {
    // Opening connections would set them apart.
    await ask('/together');
    const { of, profile } = await ask('/together');
    const [finding] = of('n-plus-one');
    const { queries } = profile.panels.database?.data as DatabaseData;
    const from = Math.min(...queries.map(({ startMs }) => startMs));
    const to = Math.max(...queries.map(({ startMs, durationMs }) => startMs + (durationMs ?? 0)));
    expect(finding?.costMs).to.be.within(99, to - from + 0.01);
  });

  it('ignores a list that can’t grow', async () => {
    await ask('/first/3');
    expect((await ask('/first/3')).of('n-plus-one')).to.deep.equal([]);
    expect((await ask('/first/40')).of('n-plus-one')).to.have.length(1);
  });

  it('ignores one statement for all rows, two reads, and three reads on different lines', async () => {
    for (const path of ['/one', '/loop/2', '/apart']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.database?.summary?.count, path).to.be.above(0);
      expect(of('n-plus-one'), path).to.deep.equal([]);
    }
  });

  it('names the loop where another function runs the statement', async () => {
    for (const [path, line] of [
      ['/helper', 'for (const order of orders)'],
      ['/together-helper', 'orders.map((order) => productOf(order.product_id))'],
    ] as const) {
      const { of, profile } = await ask(path);
      const [finding, ...others] = of('n-plus-one');
      expect(others, path).to.deep.equal([]);
      const { queries, groups, excerpts } = profile.panels.database?.data as DatabaseData;
      const [group] = groups;
      const loop = group?.loop;
      expect(loop, path).to.be.a('string').and.not.equal(group?.caller);
      expect(finding?.place, path).to.equal(loop);
      for (const member of group?.members ?? []) expect(queries[member]?.path?.[0], path).to.equal(loop);
      expect(excerpts?.find(({ place }) => place === loop)?.excerpt.lines.join('\n'), path).to.contain(line);
      const page = load(await ask.page(`/_profiler/${profile.token}?panel=database`));
      expect(page('#g1 .where').first().text(), path).to.contain(loop);
    }
  });

  it('takes a helper that several lines call for no loop, nor a loop that reads page by page', async () => {
    for (const path of ['/three-places', '/pages', '/pages-by-key']) {
      const { of, profile } = await ask(path);
      expect((profile.panels.database?.data as DatabaseData).queries.length, path).to.be.above(2);
      expect(of('n-plus-one'), path).to.deep.equal([]);
    }
  });

  it('takes a loop with a limit whose pages are not full for a loop', async () => {
    expect((await ask('/top-of-each')).of('n-plus-one')).to.have.length(1);
  });

  it('offers the one query as SQL, on the page and in Markdown', async () => {
    const { profile, of } = await ask('/orders');
    expect(of('n-plus-one')).to.have.length(1);
    const code = [
      'select * from "products" where "id" = any($1)',
      '-- the list: all values of id that the loop asked for',
    ].join('\n');
    const assumes =
      'Assumes that the values are known before the loop, and that id is unique: each read asked for one row. Find the rows of each value by id.';
    const $ = load(await ask.page(`/_profiler/${profile.token}?panel=overview`));
    const lines = $('pre[aria-label="Finding 1: the fix as code"] > span').map((_at, line) => $(line).text());
    expect(lines.get().join('\n')).to.equal(code);
    expect($('.fix .note').text()).to.equal(assumes);
    for (const length of ['', '?length=short']) {
      const markdown = await ask.page(`/_profiler/${profile.token}.md${length}`);
      expect(markdown).to.contain(`\`\`\`sql\n${code}\n\`\`\``);
      expect(markdown.replaceAll('\\', '')).to.contain(assumes);
    }
  });

  const ofRecorded = (asked: readonly AskedQuery[], members: readonly number[], durationMs: number) => {
    const database = keptQueries(...asked);
    const groups = [{ kind: 'n+1', statement: members[0], caller: 'src/a.ts:5', members, durationMs }];
    const found = draftsOf('n-plus-one', { database: { ...database, groups } }, { durationMs: 60 });
    return (found ?? []).map(({ severity }) => severity);
  };
  const read = (table = 'parts', system = 'postgresql'): AskedQuery => ({
    sql: `select stock from ${table} where number = $1`,
    system,
    bindings: { number: 'BR-1' },
  });
  const raise: AskedQuery = { sql: 'update parts set stock = stock + 1 where number = $1' };

  it('ignores a loop that writes the table between its reads', () => {
    expect(ofRecorded([read(), raise, read(), raise, read()], [0, 2, 4], 9)).to.deep.equal([]);
    expect(ofRecorded([read(), raise, read(), read()], [0, 2, 3], 9), 'one was left out').to.deep.equal([]);
    const joined = read('members m left join parts p on p.member_id = m.id');
    expect(ofRecorded([joined, raise, joined, raise, joined], [0, 2, 4], 9), 'joined').to.deep.equal([]);
    const orders = [read('orders'), raise, read('orders'), raise, read('orders')];
    expect(ofRecorded(orders, [0, 2, 4], 9), 'another table').to.deep.equal(['warn']);
    expect(ofRecorded([read(), read(), read(), raise], [0, 1, 2], 9), 'after the loop').to.deep.equal([
      'warn',
    ]);
  });

  it('ignores reads and writes of SQLite that took no time', () => {
    const insert = {
      sql: 'insert into parts (number) values ($1)',
      system: 'sqlite',
      bindings: { number: 'a' },
    };
    const database = keptQueries(...Array<AskedQuery>(12).fill(insert));
    const members = database.queries.map((_one, at) => at);
    const writes = [5.2, 4.9].map((durationMs) => {
      const groups = [{ kind: 'loop', statement: 0, caller: 'src/a.ts:5', members, durationMs }];
      return draftsOf('write-loop', { database: { ...database, groups } }, { durationMs: 60 }).length;
    });
    expect(writes).to.deep.equal([1, 0]);
    const reads = [1, 2, 3].map(() => read('parts', 'sqlite'));
    expect(ofRecorded(reads, [0, 1, 2], 0.3)).to.deep.equal([]);
    expect(ofRecorded(reads, [0, 1, 2], 1.2)).to.deep.equal(['warn']);
    expect(ofRecorded([read(), read(), read()], [0, 1, 2], 0.3), 'a round trip each').to.deep.equal(['warn']);
  });

  /** Its sentence, fix and code, of the reads of `table`. */
  const ofReads = (asked: readonly AskedQuery[], table: string) => {
    const { queries, statements } = keptQueries(...asked);
    const members = queries.flatMap(({ statement }, at) =>
      asked[statement]?.sql.includes(table) ? [at] : [],
    );
    const groups = [{ kind: 'n+1', statement: members[0], caller: 'src/a.ts:5', members, durationMs: 9 }];
    const database = { statements, queries, groups };
    const [found] = draftsOf('n-plus-one', { database }, { durationMs: 60 });
    const profile = { panels: { database: { data: database } } } as never;
    return { ...found, code: ruleOf('n-plus-one').code?.(found as never, profile, {}) };
  };
  const grant = (folder: number, found: Json[] = []): AskedQuery => ({
    sql: 'select level from grants where folder_id = $1 and person = $2',
    bindings: { folder_id: folder, person: 'nadia' },
    rows: found.length,
    found,
  });
  const folder = (id: number, parent: number): AskedQuery => ({
    sql: 'select id, parent_id from folders where id = $1',
    bindings: { id },
    found: [{ id, parent_id: parent }],
  });
  const granted = [{ level: 'read' }];

  it('says how many different values there were, if some were asked for again', () => {
    const again = [grant(2, granted), grant(3, granted), grant(2, granted), grant(3, granted)];
    expect(ofReads(again, 'grants').sentence).to.match(/^4 × .* in a loop, with 2 different values: /);
    expect(ofReads([grant(2), grant(3), grant(4)], 'grants').sentence).not.to.contain('different');
  });

  it('offers no list of values for a walk from row to row', () => {
    const walk = [grant(7), folder(7, 4), grant(4, granted), grant(8), folder(8, 4), grant(4, granted)];
    const found = ofReads(walk, 'grants');
    expect(found.sentence).to.contain('with 3 different values');
    expect(found.fix).to.contain('with recursive');
    expect(found.code).to.equal(null);
    const up = [folder(7, 4), folder(4, 2), folder(9, 4), folder(4, 2)];
    expect(ofReads(up, 'folders').code).to.equal(null);
  });

  it('offers one for rows that another list of reads led to', () => {
    const customer = (id: number, address: number): AskedQuery => ({
      sql: 'select id, address_id from customers where id = $1',
      bindings: { id },
      found: [{ id, address_id: address }],
    });
    const address = (id: number): AskedQuery => ({
      sql: 'select id, street from addresses where id = $1',
      bindings: { id },
      found: [{ id, street: 'Hauptstraße' }],
    });
    const pairs = [customer(1, 11), address(11), customer(2, 12), address(12), customer(3, 13), address(13)];
    const found = ofReads(pairs, 'from addresses');
    expect(found.fix).to.equal(undefined);
    expect(found.code?.text).to.contain('where id = any($1)');
  });
});
