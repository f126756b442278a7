import { expect } from 'chai';
import { load } from 'cheerio';
import type { Kept } from '../../app/findings/shared/kept.ts';
import { loopCode } from '../../app/findings/shared/loop-code.ts';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';

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

  it('ignores one statement for all rows, two reads, and three reads on different lines', async () => {
    for (const path of ['/one', '/loop/2', '/apart']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.database?.summary?.count, path).to.be.above(0);
      expect(of('n-plus-one'), path).to.deep.equal([]);
    }
  });

  it('offers the one query in Knex, with the column that joins it, on the page and in Markdown', async () => {
    const { profile, of } = await ask('/orders');
    expect(of('n-plus-one')).to.have.length(1);
    const code = [
      "const rows = await knex('products').whereIn('id', [...new Set(orders.map((order) => order.product_id))]);",
      'const byKey = new Map(rows.map((row) => [row.id, row]));',
      '// in the loop: byKey.get(order.product_id)',
      "// or both in one query: knex('orders').join('products', 'products.id', 'orders.product_id')",
    ].join('\n');
    const assumes =
      'Assumes that orders is complete before the loop, and id is unique in products, and orders has the column product_id.';
    const $ = load(await ask.page(`/_profiler/${profile.token}?panel=overview`));
    const lines = $('pre[aria-label="Finding 1: the fix as code"] > span').map((_at, line) => $(line).text());
    expect(lines.get().join('\n')).to.equal(code);
    expect($('.fix .note').text()).to.equal(assumes);
    for (const length of ['', '?length=short']) {
      const markdown = await ask.page(`/_profiler/${profile.token}.md${length}`);
      expect(markdown).to.contain(`\`\`\`ts\n${code}\n\`\`\``);
      expect(markdown.replaceAll('\\', '')).to.contain(assumes);
    }
  });

  describe('the one query instead', () => {
    /** Twelve customers, one by one, by these lines of `a.ts`; the fourth is the one that reads. */
    function codeOf(lines: string[], sql: string, connection: string, rows = 1) {
      const read = { statement: 1, rows, connection, durationMs: 1, caller: 'a.ts:4', group: 0 };
      const queries = Array.from({ length: 12 }, (_of, id) => ({
        ...read,
        bindings: [
          { name: 'id', value: id },
          { name: 'limit', value: 1 },
        ],
      }));
      const parent = { ...read, statement: 0, rows: 12, bindings: [], caller: 'a.ts:1', group: null };
      const database = {
        statements: [
          { sql: 'select * from orders', label: 'select … from orders' },
          { sql, label: 'select … from customers' },
        ],
        queries: [parent, ...queries],
        groups: [{ kind: 'n+1', statement: 1, caller: 'a.ts:4', members: queries.map((_of, at) => at + 1) }],
        excerpts: [{ place: 'a.ts:4', excerpt: { from: 1, lines } }],
      } as unknown as Kept['database'];
      return loopCode(database, database.groups[0]!);
    }
    const above = ['', '', 'const all = await Promise.all(page.orders.map(async (order) => {'];

    it('is written for Prisma where the caller uses it', () => {
      const sql = 'SELECT "id", "name" FROM "public"."customers" WHERE "id" = $1 LIMIT $2';
      const line =
        '  const one = await this.prisma.customer.findUnique({ where: { id: order.customerId } });';
      expect(codeOf([...above, line], sql, 'postgresql1')).to.deep.equal({
        language: 'ts',
        text: [
          'const rows = await this.prisma.customer.findMany({ where: { id: { in: page.orders.map((order) => order.customerId) } } });',
          'const byKey = new Map(rows.map((row) => [row.id, row]));',
          '// in the loop: byKey.get(order.customerId)',
        ].join('\n'),
        assumes: 'Assumes that page.orders is complete before the loop, and id is unique in customers.',
      });
    });

    it('is SQL where the caller writes SQL, for one row each or for several', () => {
      const sql = 'select * from customers where id = $1';
      const line =
        "  const { rows } = await pool.query('select * from customers where id = $1', [order.customer_id]);";
      const text = [
        'select * from customers where id = any($1)',
        '-- the list: page.orders.map((order) => order.customer_id)',
        '-- or both in one query: from orders join customers on customers.id = orders.customer_id',
      ].join('\n');
      expect(codeOf([...above, line], sql, 'postgresql1')).to.include({ language: 'sql', text });
      expect(codeOf([...above, line], sql, 'postgresql1', 4)?.assumes).not.to.contain('unique');
    });

    it('finds the value where a helper sends the query, if the call uses one property of the item', () => {
      const sql = 'select * from lines where order_id = ?';
      const loop = ['', 'for (const page of pages) {', 'for (const order of page.orders) {'];
      const by = (call: string) => codeOf([...loop, call], sql, '__knexUid1', 4)?.text.split('\n')[0];
      expect(by('    lines.push(await linesOf(db, order.id, { limit: 3 }));')).to.equal(
        "const rows = await knex('customers').whereIn('id', [...new Set(page.orders.map((order) => order.id))]);",
      );
      expect(by('    lines.push(await linesOf(order.id, order.shop));')).to.contain(', values)');
    });

    it('names no column that the source does not show, and is left out where a read is not simple', () => {
      const simple = codeOf(
        [...above, '  await load(order);'],
        'select * from customers where id = ?',
        'x',
        4,
      );
      expect(simple?.text).to.equal(
        'select * from customers where id in (?)\n-- the list: all values of the loop',
      );
      expect(simple?.assumes).to.equal(
        'Assumes that the values of the loop are known before it (id differed between the reads).',
      );
      expect(codeOf(above, 'select * from customers where lower(id) > $1', 'x')).to.equal(null);
    });
  });
});
