import { type Fault, isSlow } from '../fault.ts';

const quote: Fault['ask'] = (shop) => shop.get('/checkout/quote');
const FETCH = 'partners.js: await fetch(';

export const calls: Fault[] = [
  {
    name: 'calls and reads that could run together',
    change: [
      [
        'checkout.js',
        '  const [rate, shipping, tax] = await Promise.all([rateOf(currency), shippingOf(country), taxOf(country)]);',
        `  const rate = await rateOf(currency);
  await db('settings').select(db.raw('pg_sleep(0.03)')).limit(1);
  const tax = await taxOf(country);
  const shipping = { price: 490 };`,
      ],
    ],
    partner: { '/rates': { waitMs: 70 }, '/tax': { waitMs: 70 } },
    ask: quote,
    symptom: isSlow,
    says: /2 calls and 2 (?:reads|queries).*ran one after the other/,
    at: ['checkout.js: const rate = await', FETCH],
  },
  {
    name: 'a call for each item',
    change: [
      [
        'checkout.js',
        '  const stock = await stockOf(products.map(({ id }) => id));',
        `  const stock = {};
  for (const { id } of products) Object.assign(stock, await ask('/stock/' + id));`,
      ],
    ],
    ask: (shop) => shop.get('/checkout/stock'),
    symptom: (answer, usual) => answer.ms > usual.ms + 60,
    says: /11 similar calls ran one after the other/,
    at: ['checkout.js: for (const { id } of products)', FETCH],
  },
  {
    name: 'the same call twice',
    change: [
      [
        'checkout.js',
        '  const { rate } = await rateOf(req.params.currency);',
        `  await rateOf(req.params.currency);
  const { rate } = await rateOf(req.params.currency);`,
      ],
    ],
    ask: (shop) => shop.get('/checkout/rate/USD'),
    symptom: (answer, usual) => answer.ms > usual.ms + 4,
    says: /was called 2 times/,
    at: [FETCH, 'checkout.js: await rateOf(req.params.currency);', 'checkout.js: const { rate } ='],
  },
  {
    name: 'a partner is slow',
    partner: { '/shipping': { waitMs: 400 } },
    ask: quote,
    symptom: isSlow,
    says: /GET 127\.0\.0\.1:\d+\/shipping\/DE took.*waiting for the response/,
    at: [FETCH],
  },
  {
    name: 'a partner never answers, and nothing limits the wait',
    change: [['partners.js', '{ signal: AbortSignal.timeout(3000), ...init }', 'init']],
    partner: { '/tax': { waitMs: 60_000 } },
    ask: (shop) => shop.get('/checkout/quote', { signal: AbortSignal.timeout(1500) }),
    symptom: (answer) => answer.status === 0,
    says: /GET 127\.0\.0\.1:\d+\/tax\/DE.*(?:still|had not|no response)/,
    at: [FETCH],
  },
  {
    name: 'a timeout that hides behind a default',
    change: [
      ['partners.js', 'AbortSignal.timeout(3000)', 'AbortSignal.timeout(300)'],
      ['partners.js', 'ask(`/tax/${country}`)', 'ask(`/tax/${country}`).catch(() => ({ percent: 0 }))'],
    ],
    partner: { '/tax': { waitMs: 2000 } },
    ask: quote,
    symptom: (answer) => answer.text.includes('"tax":0'),
    says: /\/tax\/DE failed \(.*(?:timeout|aborted).*still answered 200/,
    at: [FETCH],
  },
  {
    name: 'a partner fails, and the response hides it',
    change: [['partners.js', '  if (!response.ok) throw new PartnerError(path);\n', '']],
    partner: { '/rates': { status: 503, body: '{}' } },
    ask: (shop) => shop.get('/checkout/rate/USD'),
    symptom: (answer) => answer.status === 200 && !answer.text.includes('rate'),
    says: /returned 503, but this request still answered 200/,
    at: [FETCH],
  },
  {
    name: 'a refusal for good is tried again, with growing pauses',
    change: [
      [
        'partners.js',
        '  const response = await fetch(`${base}${path}`, { signal: AbortSignal.timeout(3000), ...init });',
        `  let response;
  for (let i = 0; i < 4; i++) {
    response = await fetch(\`\${base}\${path}\`, init);
    if (response.ok) break;
    await new Promise((done) => setTimeout(done, 40 * 2 ** i));
  }`,
      ],
    ],
    partner: { '/rates': { status: 404, body: '{}' } },
    ask: (shop) => shop.get('/checkout/rate/XXX'),
    symptom: (answer, usual) => answer.ms > usual.ms + 300,
    says: /4 attempts \(404, 404, 404, 404\).*pauses/,
    at: ['partners.js: response = await fetch('],
  },
  {
    name: 'a payment is sent twice',
    change: [
      [
        'partners.js',
        '  const response = await fetch(`${base}${path}`, { signal: AbortSignal.timeout(3000), ...init });',
        `  const options = { signal: AbortSignal.timeout(150), ...init };
  const again = () => fetch(\`\${base}\${path}\`, { ...init });
  const response = await fetch(\`\${base}\${path}\`, options).catch(again);`,
      ],
    ],
    partner: { '/pay': { waitMs: 400, times: 1 } },
    ask: (shop) => shop.post('/checkout/pay', { orderId: 33, amount: 90 }),
    symptom: (answer, usual) => answer.ms > usual.ms + 100,
    says: /POST 127\.0\.0\.1:\d+\/pay may have been carried out twice/,
    at: ['partners.js: const response = await fetch(', 'partners.js: const again'],
  },
  {
    name: 'a page of HTML where JSON was expected',
    partner: { '/rates': { body: '<html>Service window</html>' } },
    ask: (shop) => shop.get('/checkout/rate/USD'),
    symptom: (answer) => answer.status === 500,
    says: /SyntaxError.*(?:JSON|rates)|could not be parsed as JSON/,
    at: ['partners.js: return response.json()', FETCH],
  },
  {
    name: 'an error is thrown again without its cause',
    change: [
      [
        'checkout.js',
        '  const { rate } = await rateOf(req.params.currency);',
        `  const { rate } = await rateOf(req.params.currency).catch(() => {
    throw new Error('no rate');
  });`,
      ],
    ],
    partner: { '/rates': { status: 500, body: '{}' } },
    ask: (shop) => shop.get('/checkout/rate/USD'),
    symptom: (answer) => answer.status === 500,
    says: /rates\/USD returned 500/,
    at: [FETCH],
  },
  {
    name: 'a connection for each call',
    change: [
      [
        'partners.js',
        'const base = process.env.PARTNER_URL;',
        "import http from 'node:http';\n\nconst base = process.env.PARTNER_URL;",
      ],
      [
        'partners.js',
        `  const response = await fetch(\`\${base}\${path}\`, { signal: AbortSignal.timeout(3000), ...init });
  if (!response.ok) throw new PartnerError(path);
  return response.json();`,
        `  return new Promise((resolve, reject) => {
    const lookup = (host, options, done) => setTimeout(() => done(null, [{ address: '127.0.0.1', family: 4 }]), 180);
    const url = \`\${base}\${path}\`.replace('127.0.0.1', 'partner.test');
    const call = http.get(url, { ...init, agent: false, lookup }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve(JSON.parse(text));
    });
    call.on('error', reject);
  });`,
      ],
    ],
    ask: (shop) => shop.get('/checkout/rate/USD'),
    symptom: isSlow,
    says: /of it looking up the name/,
    at: ['partners.js: http.get('],
  },
];
