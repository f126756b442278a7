import { type Fault, status } from '../fault.ts';

/** `/orders/recent` is registered after `/orders/:id`. */
const RECENT_AFTER_ID: Fault['change'] = [
  [
    'orders.js',
    "orders.get('/recent', async function recentOrders",
    "orders.get('/last', async function recentOrders",
  ],
  [
    'orders.js',
    "orders.delete('/:id/notes'",
    "orders.get('/recent', function redirectRecent(req, res) {\n  res.redirect('/orders/last');\n});\n\norders.delete('/:id/notes'",
  ],
];

export const http: Fault[] = [
  {
    name: 'a route that catches the path of another',
    change: RECENT_AFTER_ID,
    ask: (shop) => shop.get('/orders/recent'),
    symptom: status(400),
    says: /GET \/orders\/:id.*(?:before|earlier|also matches).*\/orders\/recent|\/orders\/recent.*registered after/,
    at: ["orders.js: orders.get('/recent'", "orders.js: orders.get('/:id'"],
  },
  {
    name: 'a router behind the 404',
    change: [
      ['app.js', "  app.use('/files', files);\n", ''],
      ['app.js', '  app.use(onError);', "  app.use('/files', files);\n  app.use(onError);"],
    ],
    ask: (shop) => shop.get('/files/logo'),
    symptom: status(404),
    says: /onMissing answered 404.*registered after it/,
    at: ['app.js: app.use(onMissing)'],
  },
  {
    name: 'a router at another path',
    change: [['app.js', "app.use('/reports', reports)", "app.use('/report', reports)"]],
    ask: (shop) => shop.get('/reports/revenue'),
    symptom: status(404),
    says: /closest is GET \/report\/revenue/,
    at: ["app.js: app.use('/report'", "reports.js: reports.get('/revenue'"],
  },
  {
    name: 'another method than the form sends',
    change: [['account.js', "account.post('/theme'", "account.put('/theme'"]],
    ask: (shop) => shop.post('/account/theme', { theme: 'dark' }),
    symptom: status(404),
    says: /PUT.*not POST/,
    at: ["account.js: account.put('/theme'"],
  },
  {
    name: 'a middleware that never goes on',
    change: [
      [
        'middleware.js',
        "  if (id > 0) req.customer = await db('customers').where({ id }).first();\n  next();",
        "  if (id === 0) next();\n  else req.customer = await db('customers').where({ id }).first();",
      ],
    ],
    ask: (shop) =>
      shop.get('/account/greeting', { headers: { 'x-customer': '7' }, signal: AbortSignal.timeout(1200) }),
    symptom: status(0),
    says: /loadCustomer.*(?:neither|never|did not).*next/,
    at: ['app.js: app.use(loadCustomer)', 'middleware.js: function loadCustomer'],
  },
  {
    name: 'a middleware that answers and goes on',
    change: [
      [
        'middleware.js',
        '  if (id > 0) req.customer',
        "  if (id > 1000) res.status(403).json({ error: 'closed' });\n  if (id > 0) req.customer",
      ],
      ['middleware.js', '.first();\n  next();', '.first();\n  next(); // after the response'],
    ],
    ask: (shop) => shop.get('/account/greeting', { headers: { 'x-customer': '1007' } }),
    symptom: status(403),
    says: /loadCustomer.*(?:and called next|responded.*next)/,
    at: ['middleware.js: // after the response'],
  },
  {
    name: 'two responses',
    change: [
      [
        'orders.js',
        "    res.status(404).json({ error: 'no such order' });\n    return;\n  }\n  const [items",
        "    res.status(404).json({ error: 'no such order' });\n  }\n  const [items",
      ],
    ],
    ask: (shop) => shop.get('/orders/999999'),
    symptom: (answer) => answer.printed().includes('Cannot set headers'),
    says: /showOrder set .* after the headers were sent/,
    at: ["orders.js: orders.get('/:id'", 'orders.js: res.json({ ...order, items, notes })'],
  },
  {
    name: 'a body of another type',
    change: [
      ['app.js', "express.json({ limit: '200kb' })", "express.json({ type: 'application/vnd.shop+json' })"],
    ],
    ask: (shop) => shop.post('/orders', { customerId: 3, products: [1] }),
    symptom: status(400),
    says: /Nothing read the request body.*application\/json/,
    at: ["orders.js: orders.post('/'"],
  },
  {
    name: 'a parser behind the routes',
    change: [
      ['app.js', "  app.use(express.json({ limit: '200kb' }));\n", ''],
      [
        'app.js',
        "  app.use('/', pages);",
        "  app.use(express.json({ limit: '200kb' }));\n  app.use('/', pages);",
      ],
    ],
    ask: (shop) => shop.post('/checkout/pay', { orderId: 3, amount: 4 }),
    symptom: status(500),
    says: /Nothing read the request body/,
    at: ["checkout.js: checkout.post('/pay'"],
  },
  {
    name: 'a limit that is too small',
    change: [['app.js', "express.json({ limit: '200kb' })", "express.json({ limit: '1kb' })"]],
    ask: (shop) =>
      shop.post('/products/import', {
        rows: Array.from({ length: 60 }, (_of, id) => ({ sku: `sku-${id + 1}`, name: `Product ${id + 1}` })),
      }),
    symptom: status(413),
    says: /body.*(?:limit|1\.0 KB|1,024|1 KB)/,
    at: ['app.js: express.json({'],
  },
  {
    name: 'JSON in JSON',
    change: [
      [
        'orders.js',
        "  res.json(rows);\n});\n\norders.get('/search'",
        "  res.json(JSON.stringify(rows));\n});\n\norders.get('/search'",
      ],
    ],
    ask: (shop) => shop.get('/orders/recent'),
    symptom: (answer) => answer.text.startsWith('"'),
    says: /JSON.*(?:twice|string that contains JSON)/,
    at: ["orders.js: orders.get('/recent'", 'orders.js: res.json(JSON.stringify(rows))'],
  },
  {
    name: 'the session changes after the response',
    change: [
      [
        'account.js',
        '  req.session.theme = req.body.theme;\n  res.json({ theme: req.session.theme });',
        '  res.json({ theme: req.body.theme });\n  req.session.theme = req.body.theme;',
      ],
    ],
    ask: (shop) => shop.post('/account/theme', { theme: 'dark' }),
    symptom: (answer) => answer.headers.get('set-cookie') === null,
    says: /req\.session\.theme changed after the headers were sent/,
    at: ["account.js: account.post('/theme'", 'account.js: req.session.theme = req.body.theme'],
  },
  {
    name: 'a cookie for https alone',
    change: [['app.js', "cookie: { sameSite: 'lax' }", "cookie: { sameSite: 'none', secure: false }"]],
    ask: (shop) => shop.post('/account/theme', { theme: 'dark' }),
    symptom: (answer) => (answer.headers.get('set-cookie') ?? '').includes('SameSite=None'),
    says: /Browsers reject.*connect\.sid.*Secure/,
    at: [],
  },
  {
    name: 'a session that is never set up',
    change: [
      ['app.js', "      cookie: { sameSite: 'lax' },", "      cookie: { sameSite: 'lax', secure: true },"],
    ],
    ask: (shop) => shop.post('/account/login', { email: 'c9@example.com', password: 'x' }),
    symptom: (answer) => answer.status === 200 && answer.headers.get('set-cookie') === null,
    says: /session.*(?:secure|no cookie|not sent|Set-Cookie)/i,
    at: [
      "account.js: account.post('/login'",
      'app.js: app.use(\n    session({',
      'account.js: req.session.customerId = customer.id',
    ],
  },
  {
    name: 'a validator that changes each time',
    change: [
      [
        'orders.js',
        "  res.json(rows);\n});\n\norders.get('/search'",
        "  res.json({ rows, at: process.hrtime.bigint().toString() });\n});\n\norders.get('/search'",
      ],
    ],
    async ask(shop) {
      const first = await shop.get('/orders/recent');
      return shop.get('/orders/recent', {
        headers: { 'if-none-match': first.headers.get('etag') ?? '', 'cache-control': 'max-age=0' },
      });
    },
    symptom: status(200),
    says: /ETag.*(?:changes|changed|differs|each)/,
    at: ["orders.js: orders.get('/recent'", 'orders.js: res.json({ rows, at'],
  },
  {
    name: 'a personal response that everybody may store',
    change: [
      [
        'account.js',
        '  res.json({ greeting',
        "  req.session.greeted = true;\n  res.set('cache-control', 'public, max-age=600').json({ greeting",
      ],
    ],
    ask: (shop) => shop.get('/account/greeting'),
    symptom: (answer) => answer.headers.get('cache-control') === 'public, max-age=600',
    says: /Shared caches may store this response.*cookie/,
    at: ["account.js: 'cache-control', 'public, max-age=600'", "account.js: account.get('/greeting'"],
  },
  {
    name: 'a header that another middleware replaces',
    change: [
      [
        'middleware.js',
        'export async function loadSettings(req, res, next) {',
        "export async function loadSettings(req, res, next) {\n  res.set('vary', 'x-customer');",
      ],
    ],
    ask: (shop) => shop.get('/account/greeting'),
    symptom: (answer) => !(answer.headers.get('vary') ?? '').includes('origin'),
    says: /loadSettings overwrote vary/i,
    at: ['app.js: app.use(loadSettings)', "middleware.js: res.set('vary'"],
  },
  {
    name: 'events that are compressed',
    change: [
      ['files.js', "'cache-control': 'no-cache, no-transform'", "'cache-control': 'no-cache'"],
      ['files.js', "res.write('data: hello\\n\\n');", "res.write('data: hello\\n\\n'.repeat(300));"],
    ],
    ask: (shop) => shop.get('/files/events', { headers: { 'accept-encoding': 'gzip' } }),
    symptom: (answer) => answer.headers.get('content-encoding') === 'gzip',
    says: /event stream is compressed/,
    at: [],
  },
  {
    name: 'a stream that breaks off',
    change: [
      [
        'files.js',
        '  for (const row of rows) yield `${row.id};${row.total}\\n`;',
        '  for (const row of rows) yield `${row.id};${row.total.amount.value}\\n`;',
      ],
      [
        'files.js',
        '  await pipeline(Readable.from(csvOf(rows)), res);',
        "  res.write('id;total\\n');\n  await pipeline(Readable.from(csvOf(rows)), res);",
      ],
    ],
    ask: (shop) => shop.get('/files/orders.csv'),
    symptom: (answer) => answer.text.length < 20,
    says: /(?:TypeError|Thrown).*(?:undefined)/,
    at: ['files.js: row.total.amount.value'],
  },
  {
    name: 'a type that browsers show as a page',
    change: [
      [
        'pages.js',
        "  res.json({ topic: req.params.topic, text: 'Call us.' });",
        '  res.send(`<p>${req.params.topic}</p>`);',
      ],
    ],
    ask: (shop) => shop.get('/help/%3Cimg%20src=x%3E'),
    symptom: (answer) =>
      (answer.headers.get('content-type') ?? '').includes('html') && answer.text.includes('<img'),
    says: /(?:escaped|HTML).*(?:topic|parameter)|(?:topic|parameter).*(?:escaped|HTML)/,
    at: ["pages.js: pages.get('/help/:topic'", 'pages.js: res.send('],
  },
  {
    name: 'parameters that a nested router does not see',
    change: [
      [
        'orders.js',
        "orders.get('/:id/notes', async function listNotes(req, res) {",
        "const nested = Router();\norders.use('/:id/notes', nested);\nnested.get('/', async function listNotes(req, res) {",
      ],
    ],
    ask: (shop) => shop.get('/orders/17/notes'),
    symptom: status(500),
    says: /Undefined binding/,
    at: ["orders.js: await db('notes').where({ order_id: req.params.id })"],
  },
  {
    name: 'a length that is wrong',
    change: [
      [
        'pages.js',
        "  res.json({ topic: req.params.topic, text: 'Call us.' });",
        "  const text = 'Für Rückfragen: rufen Sie uns an.';\n  res.set('content-length', String(text.length)).type('text').end(text);",
      ],
    ],
    ask: (shop) => shop.get('/help/returns'),
    symptom: (answer) => answer.text.startsWith('Für') && !answer.text.includes('an.'),
    says: /Content-Length.*(?:bytes)/i,
    at: ["pages.js: pages.get('/help/:topic'", "pages.js: 'content-length'"],
  },
  {
    name: 'a route that catches the path of another, and succeeds',
    change: [
      ...RECENT_AFTER_ID,
      ['orders.js', "res.status(400).json({ error: 'id is not a number' });", 'res.json({});'],
    ],
    ask: (shop) => shop.get('/orders/recent'),
    symptom: (answer) => answer.text === '{}',
    says: /GET \/orders\/:id answered 200; GET \/orders\/recent.*registered after/,
    at: ["orders.js: orders.get('/recent'", "orders.js: orders.get('/:id'"],
  },
  {
    name: 'a result that is passed on as an error',
    change: [
      [
        'middleware.js',
        "  if (id > 0) req.customer = await db('customers').where({ id }).first();\n  next();",
        "  if (id > 0) req.customer = await db('customers').where({ id }).first();\n  next(req.customer);",
      ],
    ],
    ask: (shop) => shop.get('/account/greeting', { headers: { 'x-customer': '7' } }),
    symptom: status(500),
    says: /loadCustomer .*next\(\) a value that is not an Error/,
    at: ['app.js: app.use(loadCustomer)', 'middleware.js: next(req.customer)'],
  },
  {
    name: 'a redirect that loses the body',
    change: [
      [
        'middleware.js',
        "  res.vary('origin');\n  next();",
        "  res.vary('origin');\n  if (/.\\/$/.test(req.path)) res.redirect(301, req.path.slice(0, -1));\n  else next();",
      ],
    ],
    ask: (shop) => shop.post('/orders/', { customerId: 3, products: [1, 2] }),
    symptom: status(301),
    says: /tagRequest redirected POST with 301.*without the body/,
    at: ['app.js: app.use(tagRequest)'],
  },
  {
    name: 'a page where a script is wanted',
    change: [
      ['middleware.js', "res.status(404).json({ error: 'not found' });", "res.send('<!doctype html>');"],
    ],
    ask: (shop) => shop.get('/assets/app.js'),
    symptom: status(200),
    says: /that of a script, and onMissing sent a page of HTML/,
    at: ['app.js: app.use(onMissing)'],
  },
  {
    name: 'an inline script that the policy blocks',
    change: [
      [
        'pages.js',
        "  res.json({ topic: req.params.topic, text: 'Call us.' });",
        '  res.set("content-security-policy", "script-src \'self\'").send("<p>Call us.</p><script>go()</script>");',
      ],
    ],
    ask: (shop) => shop.get('/help/returns'),
    symptom: (answer) => answer.text.includes('<script>'),
    says: /don’t run 1 inline script/,
    at: ["pages.js: pages.get('/help/:topic'"],
  },
  {
    name: 'an encoding that the body does not have',
    change: [
      [
        'orders.js',
        "  res.json(rows);\n});\n\norders.get('/search'",
        "  res.set('content-encoding', 'br').json(rows);\n});\n\norders.get('/search'",
      ],
    ],
    ask: (shop) => shop.get('/orders/recent'),
    symptom: (answer) => answer.status === 200 && answer.text === '',
    says: /Content-Encoding is br, but the body is not compressed/,
    at: ["orders.js: orders.get('/recent'", "orders.js: 'content-encoding', 'br'"],
  },
];
