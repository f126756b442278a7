import { type Fault, isSlow } from '../fault.ts';

const showOrder: Fault['ask'] = (shop) => shop.get('/orders/17');
const createOrder: Fault['ask'] = (shop) =>
  shop.post('/orders', { customerId: 3, products: Array.from({ length: 30 }, (_of, id) => id + 1) });

export const database: Fault[] = [
  {
    name: 'a query for each row, in a helper',
    change: [
      [
        'order-data.js',
        `  const ids = [...new Set(orders.map((order) => order.customer_id))];
  const rows = await db('customers').whereIn('id', ids);
  return new Map(rows.map((row) => [row.id, row]));`,
        `  const found = new Map();
  for (const order of orders) {
    const row = await db('customers').where({ id: order.customer_id }).first();
    found.set(order.customer_id, row);
  }
  return found;`,
      ],
    ],
    ask: (shop) => shop.get('/orders'),
    symptom: (answer, usual) => answer.ms > usual.ms + 5,
    says: /N\+1/,
    at: ['order-data.js: await db('],
  },
  {
    name: 'rows are inserted one by one',
    change: [
      [
        'order-data.js',
        "    await trx('order_items').insert(lines);",
        "    for (const line of lines) await trx('order_items').insert(line);",
      ],
    ],
    ask: createOrder,
    symptom: (answer, usual) => answer.ms > usual.ms + 5,
    says: /writes in a loop/,
    at: ['order-data.js: for (const line of lines)'],
  },
  {
    name: 'an index is missing',
    sql: 'drop index order_items_order_id_idx; insert into order_items (order_id, product_id) select n, 1 from generate_series(30000, 1400000) n; analyze order_items',
    ask: (shop) => shop.get('/orders/search?order=17'),
    symptom: isSlow,
    says: /reads about [\d,]+ rows of order_items/,
    at: ["orders.js: db('order_items')"],
  },
  {
    name: 'a list without a limit',
    change: [
      [
        'reports.js',
        "await db('audit').orderBy('id', 'desc').limit(50)",
        "await db('audit').orderBy('id', 'desc')",
      ],
    ],
    ask: (shop) => shop.get('/reports/audit'),
    symptom: (answer, usual) => answer.text.length > usual.text.length * 20,
    says: /large result/,
    at: ["reports.js: await db('audit')"],
  },
  {
    name: 'a list without a limit, of two thousand rows',
    change: [
      ['orders.js', "orderBy('id', 'desc').limit(5)", "where('id', '>', 18000).orderBy('id', 'desc')"],
    ],
    ask: (shop) => shop.get('/orders/recent'),
    symptom: (answer, usual) => answer.text.length > usual.text.length * 20,
    says: /returned 2,000 rows.*without a limit|without a limit.*2,000 rows/,
    at: ["orders.js: select('id', 'total')"],
  },
  {
    name: 'reads that could run together',
    change: [
      [
        'reports.js',
        `  const [orders, customers, products] = await Promise.all([
    db('orders').max('id as last').first(),
    db('customers').max('id as last').first(),
    db('products').max('id as last').first(),
  ]);`,
        `  const orders = await db('orders').select(db.raw('max(id) as last, pg_sleep(0.04)')).first();
  const customers = await db('customers').select(db.raw('max(id) as last, pg_sleep(0.04)')).first();
  const products = await db('products').select(db.raw('max(id) as last, pg_sleep(0.04)')).first();`,
      ],
    ],
    ask: (shop) => shop.get('/reports/dashboard'),
    symptom: isSlow,
    says: /ran one after the other/,
    at: ["reports.js: const orders = await db('orders').select(db.raw"],
  },
  {
    name: 'several middlewares ask for the same row',
    change: [
      [
        'middleware.js',
        '  next();\n}\n\nexport function onMissing',
        "  req.isKnown = (await db('customers').where({ id }).first()) !== undefined;\n  next();\n}\n\nexport function onMissing",
      ],
      [
        'account.js',
        "  const name = req.customer?.name ?? 'guest';",
        "  const customer = await db('customers').where({ id: req.customer.id }).first();\n  const name = customer.name;",
      ],
      ['account.js', 'function greeting(', 'async function greeting('],
    ],
    ask: (shop) => shop.get('/account/greeting', { headers: { 'x-customer': '7' } }),
    sql: 'alter table customers rename to people; create view customers as select p.* from (select pg_sleep(0.04) is null as done) s, people p',
    symptom: isSlow,
    says: /ran 3 times with the same values.*(?:loadCustomer.*greeting|middleware\.js:\d+.*account\.js:\d+|account\.js:\d+.*middleware\.js:\d+)/,
    at: ['middleware.js: req.isKnown', "account.js: await db('customers').where({ id: req.customer.id"],
  },
  {
    name: 'a view asks the database',
    change: [
      [
        'pages.js',
        "  res.render('home', { products, title: req.settings.title });",
        `  const left = {};
  const stock = (id) => {
    void db('order_items').where({ order_id: id }).limit(3).then((rows) => (left[id] = rows.length));
    return left[id] ?? 0;
  };
  res.render('home', { products, title: req.settings.title, stock });`,
      ],
      ['views/product.ejs', '<%= product.price %>', '<%= product.price %>, <%= stock(product.id) %> left'],
      ['views/home.ejs', "include('product', { product })", "include('product', { product, stock })"],
    ],
    ask: (shop) => shop.get('/'),
    symptom: (answer) => answer.text.includes(', 0 left'),
    says: /while home was rendering|N\+1/,
    at: ["pages.js: void db('order_items')"],
  },
  {
    name: 'a row is locked by another request',
    change: [
      [
        'orders.js',
        "    await trx('orders').where({ id }).update({ shipped: true });",
        "    await trx('orders').where({ id }).update({ shipped: true });\n    await new Promise((done) => setTimeout(done, 600));",
      ],
    ],
    async ask(shop) {
      const other = shop.post('/orders/21/ship', {});
      await new Promise((done) => setTimeout(done, 150));
      const answer = await shop.get('/orders/21', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"total":7}',
      });
      await other;
      return answer;
    },
    symptom: isSlow,
    says: /lock(?:ed)?\b.*POST \/orders\/21\/ship/,
    at: [
      'orders.js: forUpdate()',
      "orders.js: await trx('orders').where({ id }).update",
      'orders.js: setTimeout(done, 600)',
      'orders.js: const changed = await',
    ],
  },
  {
    name: 'a transaction that is left open',
    change: [
      [
        'orders.js',
        `  const count = await db.transaction(async (trx) => {
    const order = await trx('orders').where({ id }).forUpdate().first();
    await trx('orders').where({ id }).update({ shipped: true });
    return order === undefined ? 0 : 1;
  });
  res.json({ count });`,
        `  const trx = await db.transaction();
  const order = await trx('orders').where({ id }).forUpdate().first();
  if (order.shipped !== true) {
    res.json({ count: 0 });
    return;
  }
  await trx('orders').where({ id }).update({ shipped: true });
  await trx.commit();
  res.json({ count: 1 });`,
      ],
    ],
    ask: (shop) => shop.post('/orders/25/ship', {}),
    symptom: (answer) => answer.text === '{"count":0}',
    says: /neither committed nor rolled back/,
    at: [
      'orders.js: await db.transaction()',
      "orders.js: await trx('orders').where({ id }).forUpdate().first()",
    ],
  },
  {
    name: 'a call inside a transaction',
    change: [
      [
        'checkout.js',
        `  const { receipt } = await ask('/pay', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ orderId, amount }),
  });
  await db.transaction(async (trx) => {
    await trx('payments').insert({ order_id: orderId, amount, receipt });`,
        `  let receipt;
  await db.transaction(async (trx) => {
    await trx('orders').where({ id: orderId }).forUpdate();
    ({ receipt } = await ask('/pay', { method: 'POST', body: JSON.stringify({ orderId, amount }) }));
    await trx('payments').insert({ order_id: orderId, amount, receipt });`,
      ],
    ],
    partner: { '/pay': { waitMs: 250 } },
    ask: (shop) => shop.post('/checkout/pay', { orderId: 31, amount: 90 }),
    symptom: isSlow,
    says: /stayed open during the call/,
    at: ["checkout.js: ({ receipt } = await ask('/pay'", 'partners.js: await fetch('],
  },
  {
    name: 'one statement of a transaction runs outside it',
    change: [
      ['order-data.js', "    await trx('audit').insert", "    await db('audit').insert"],
      [
        'order-data.js',
        '    return order.id;',
        "    if (total > 0) throw new Error('no credit');\n    return order.id;",
      ],
    ],
    ask: createOrder,
    symptom: (answer) => answer.status === 500,
    says: /audit.*(?:outside|not part of) the transaction/,
    at: ["order-data.js: await db('audit').insert"],
  },
  {
    name: 'every connection is used by this request',
    change: [
      [
        'orders.js',
        "const [items, notes] = await Promise.all([itemsOf(id), db('notes').where({ order_id: id })]);",
        `const all = Array.from({ length: 12 }, () => db.raw('select pg_sleep(0.05)'));
  const [items, notes] = await Promise.all([itemsOf(id), db('notes').where({ order_id: id }), ...all]);`,
      ],
    ],
    ask: showOrder,
    symptom: isSlow,
    says: /for a pool connection.*statements of this request held/,
    at: ['orders.js: const all =', 'orders.js: const [items, notes] ='],
  },
  {
    name: 'other requests hold every connection',
    change: [
      [
        'reports.js',
        "  const rows = await db('audit').orderBy('id', 'desc').limit(50);",
        "  const rows = await db('audit').select('*', db.raw('pg_sleep(0.012)')).orderBy('id', 'desc').limit(50);",
      ],
    ],
    async ask(shop) {
      const others = [1, 2, 3, 4].map(() => shop.get('/reports/audit'));
      await new Promise((done) => setTimeout(done, 120));
      const answer = await shop.get('/orders/recent');
      await Promise.all(others);
      return answer;
    },
    symptom: isSlow,
    says: /for a pool connection.*GET \/reports\/audit/,
    at: ["reports.js: const rows = await db('audit')", "orders.js: select('id', 'total')"],
  },
  {
    name: 'connections that are never given back',
    change: [
      [
        'orders.js',
        "  const rows = await db('orders').select('id', 'total').orderBy('id', 'desc').limit(5);",
        `  const connection = await db.client.acquireConnection();
  const { rows } = await connection.query('select id, total from orders order by id desc limit 5');`,
      ],
    ],
    async ask(shop) {
      for (let i = 0; i < 4; i++) await shop.get('/orders/recent');
      return shop.get('/orders/17');
    },
    symptom: (answer) => answer.status === 500,
    says: /got none.*GET \/orders\/recent/,
    at: ['orders.js: const order = await db', 'orders.js: await connection.query('],
  },
  {
    name: 'a new pool for each request',
    change: [
      [
        'reports.js',
        "import { db } from './db.js';",
        "import knex from 'knex';\nimport { db } from './db.js';",
      ],
      [
        'reports.js',
        "  const rows = await db('audit').orderBy('id', 'desc').limit(50);",
        `  const own = knex({ client: 'pg', connection: {} });
  const rows = await own('audit').orderBy('id', 'desc').limit(50);
  void own.destroy();`,
      ],
    ],
    async ask(shop) {
      for (let i = 0; i < 3; i++) await shop.get('/reports/audit');
      return shop.get('/reports/audit');
    },
    symptom: (answer, usual) => answer.ms > usual.ms + 2,
    says: /connection.*opened|opening (?:a|the) connection/,
    at: ["reports.js: await own('audit')"],
  },
  {
    name: 'a query that is built and never run',
    change: [
      [
        'products.js',
        "  await db('products')\n    .where({ id })\n    .update(",
        "  db('products').where({ id }).update(",
      ],
    ],
    ask: (shop) =>
      shop.get('/products/9/price', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"price":4321}',
      }),
    symptom: (answer) => !answer.text.includes('4321'),
    says: /never (?:run|sent|awaited)/,
    at: ["products.js: db('products').where({ id }).update"],
  },
  {
    name: 'a failed statement is taken for an empty list',
    change: [
      [
        'reports.js',
        "  const rows = await db('audit').orderBy('id', 'desc').limit(50);",
        "  const rows = await db('audit').orderBy('created', 'desc').limit(50).catch(() => []);",
      ],
    ],
    ask: (shop) => shop.get('/reports/audit'),
    symptom: (answer) => answer.text === '[]',
    says: /failed \(.*column.*still answered 200/,
    at: ["reports.js: orderBy('created'"],
  },
  {
    name: 'a statement that does not match the table',
    change: [['reports.js', "db('orders').select('total')", "db('orders').select('amount as total')"]],
    ask: (shop) => shop.get('/reports/revenue'),
    symptom: (answer) => answer.status === 500,
    says: /failed \(.*column/,
    at: ["reports.js: select('amount as total')"],
  },
  {
    name: 'a slow trigger',
    sql: "create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.3); return new; end'; create trigger slow before update on orders for each row execute function slow()",
    ask: (shop) =>
      shop.get('/orders/40', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"total":7}',
      }),
    symptom: isSlow,
    says: /slow query.*update orders/,
    at: ['orders.js: const changed = await'],
  },
  {
    name: 'a value that is not there is compared',
    change: [
      [
        'reports.js',
        "  const [customer] = await db('customers').where({ email: req.query.email });",
        "  const { rows } = await db.raw('select * from customers where email = ?', [req.query.mail ?? null]);\n  const [customer] = rows;",
      ],
    ],
    ask: (shop) => shop.get('/reports/customer?email=c1@example.com'),
    symptom: (answer) => answer.status === 500,
    says: /compares email with NULL/,
    at: ["reports.js: db.raw('select * from customers"],
  },
];
