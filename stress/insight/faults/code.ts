import { type Answer, type Fault, isSlow, status } from '../fault.ts';

/** As somebody does who waits and reloads: an address that blocked the event loop is sampled when it is asked again. */
async function again(ask: () => Promise<Answer>): Promise<Answer> {
  await ask();
  return ask();
}

export const code: Fault[] = [
  {
    name: 'a password is hashed at once',
    change: [
      ['account.js', 'import { pbkdf2 }', 'import { pbkdf2, pbkdf2Sync }'],
      [
        'account.js',
        "  const hash = await derive(String(password), 'salt', 20000, 32, 'sha256');",
        "  const hash = pbkdf2Sync(String(password), 'salt', 900000, 32, 'sha256');",
      ],
    ],
    ask: (shop) => again(() => shop.post('/account/login', { email: 'c7@example.com', password: 'x' })),
    symptom: isSlow,
    says: /event loop was blocked.*(?:pbkdf2Sync|login)/,
    at: ['account.js: = pbkdf2Sync('],
  },
  {
    name: 'another request computes',
    change: [
      [
        'pages.js',
        "  res.json({ topic: req.params.topic, text: 'Call us.' });",
        `  let text = '';
  for (let i = 0; i < 3e6; i++) text = String.fromCharCode(97 + (i % 26)) + text.slice(0, 30);
  res.json({ topic: req.params.topic, text });`,
      ],
    ],
    async ask(shop) {
      const first = shop.get('/checkout/quote');
      await new Promise((done) => setTimeout(done, 4));
      const other = shop.get('/help/returns');
      const answer = await first;
      await other;
      return answer;
    },
    symptom: isSlow,
    says: /event loop was blocked.*another request \(GET \/help\/returns, \w+\)/,
    at: ['pages.js: for (let i = 0; i < 3e6', 'pages.js: function help('],
  },
  {
    name: 'a pattern that backtracks',
    change: [
      [
        'products.js',
        "  const { search = '' } = req.query;",
        "  const { search = '' } = req.query;\n  if (!/^([a-z]+ ?)*$/i.test(search)) res.set('x-search', 'odd');",
      ],
    ],
    ask: (shop) => shop.get('/products?search=Product%20aaaaaaaaaaaaaaa!'),
    symptom: isSlow,
    says: /event loop was blocked.*listProducts/,
    at: ['products.js: ([a-z]+ ?)*', 'products.js: function listProducts'],
  },
  {
    name: 'a file is read at once in each request',
    change: [
      [
        'files.js',
        "import { Readable } from 'node:stream';",
        "import { execSync } from 'node:child_process';\nimport { Readable } from 'node:stream';",
      ],
      [
        'files.js',
        "  res\n    .set('cache-control'",
        "  execSync('sleep 0.25');\n  res\n    .set('cache-control'",
      ],
    ],
    ask: (shop) => shop.get('/files/logo'),
    symptom: isSlow,
    says: /event loop was blocked.*(?:execSync|logo)/,
    at: ["files.js: execSync('sleep", 'files.js: function logo('],
  },
  {
    name: 'a pause that was left in',
    change: [
      [
        'pages.js',
        '  res.json({ ok: true });',
        '  await new Promise((done) => setTimeout(done, 300));\n  res.json({ ok: true });',
      ],
      ['pages.js', 'function health(', 'async function health('],
    ],
    ask: (shop) => shop.get('/health'),
    symptom: isSlow,
    says: /300|30\d\.\d ms.*(?:waited|nothing|unaccounted|timer)/,
    at: ['pages.js: function health(', 'pages.js: setTimeout(done, 300)'],
  },
  {
    name: 'a property of nothing, in a helper',
    change: [['reports.js', 'sum + row.total * 1.19', 'sum + row.tax.total * 1.19']],
    ask: (shop) => shop.get('/reports/revenue'),
    symptom: status(500),
    says: /TypeError/,
    at: ['reports.js: sum + row.tax.total'],
  },
  {
    name: 'an object that contains itself',
    change: [
      [
        'products.js',
        'res.json({ id, price: product.price })',
        'product.self = product;\n  res.json(product)',
      ],
    ],
    ask: (shop) =>
      shop.get('/products/9/price', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"price":1}',
      }),
    symptom: status(500),
    says: /TypeError.*circular/,
    at: ['products.js: res.json(product)'],
  },
  {
    name: 'a promise is sent instead of its value',
    change: [
      [
        'reports.js',
        "    db('products').max('id as last').first(),\n  ]);\n  res.json({ orders, customers, products });",
        "    db('products').max('id as last').first(),\n  ]);\n  const audits = (async () => (await db('audit').max('id as last').first()).last)();\n  res.json({ orders, customers, products, audits });",
      ],
    ],
    ask: (shop) => shop.get('/reports/dashboard'),
    symptom: (answer) => answer.text.includes('"audits":{}'),
    says: /(?:query|read).*(?:not finished|still running|ended after).*response/,
    at: ['reports.js: const audits', 'reports.js: function dashboard'],
  },
  {
    name: 'a rejection that nobody waits for',
    change: [
      [
        'account.js',
        "  await db('subscriptions').insert({ email: req.body.email }).onConflict('email').ignore();",
        "  const write = async () => db('subscriptions').insert({ mail: req.body.email });\n  void write();",
      ],
    ],
    async ask(shop) {
      const answer = await shop.post('/account/newsletter', { email: 'new@example.com' });
      const { text } = await shop.get('/account/newsletter?email=new@example.com');
      return { ...answer, text };
    },
    symptom: (answer) => answer.text.includes('false'),
    says: /Unhandled rejection|failed \(.*(?:still answered 200|after the response was sent)/,
    at: ['account.js: const write'],
  },
  {
    name: 'a loop that nobody waits for',
    change: [
      [
        'order-data.js',
        "    await trx('order_items').insert(lines);",
        "    lines.forEach(async (line) => {\n      await new Promise((done) => setTimeout(done, 20));\n      await db('order_items').insert(line);\n    });",
      ],
    ],
    async ask(shop) {
      const answer = await shop.post('/orders', { customerId: 3, products: [1, 2, 3] });
      const { id } = JSON.parse(answer.text) as { id: number };
      const { text } = await shop.get(`/orders/${id}`);
      return { ...answer, text };
    },
    symptom: (answer) => answer.text.includes('"items":[]'),
    says: /3 queries started after the response/,
    at: ["order-data.js: await db('order_items').insert(line)"],
  },
  {
    name: 'an error handler of three arguments',
    change: [
      [
        'middleware.js',
        'export function onError(error, req, res, next) {',
        'export function onError(error, req, res) {\n  const next = () => {};',
      ],
    ],
    ask: (shop) => shop.get('/help/%zz'),
    symptom: (answer) => !answer.headers.get('content-type')?.includes('json'),
    says: /onError.*(?:three|3|four|4) (?:arguments|parameters)/,
    at: ['app.js: app.use(onError)', 'middleware.js: function onError'],
  },
];
