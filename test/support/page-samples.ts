/** Requests of a small shop, plain and hostile, to look at and to test the pages with. */
import { createConfigurationPanel } from '../../app/panels/configuration/index.ts';
import { migrationsPanel } from '../../app/service/migrations-panel.ts';
import { requestPanel } from '../../app/panels/request/index.ts';
import type { FindingRule } from '../../app/profiler/read/finding-rule.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { layer } from './observed-samples.ts';
import type { PageFixture, Recorded } from './page-fixture.ts';

/**
 * Text that ends a tag, an attribute, a script; turns the writing direction; is endless; holds what HTML forbids. Without `=`,
 * which would part a cookie into name and value, and the value be masked wherever it stands.
 */
export const HOSTILE = {
  markup: `"><img src onerror>alert(1)'</textarea></script><!--`,
  rightToLeft: '\u202egpj.exe\u2067 \u0623\u0645\u064a\u0631\u0629',
  endless: 'x'.repeat(5000),
  control: 'a\u0000b\u0007c\ud800d',
  template: '<% alert %>${alert(1)}{{alert}}%s%d',
} as const;

export function samplePanels(): Panel[] {
  return [
    requestPanel,
    migrationsPanel,
    createConfigurationPanel({
      settings: {
        PORT: 3000,
        APP_ENV: 'dev',
        APP_DOMAIN: 'shop.example.com',
        APP_SECRET: 'not shown at all',
        DB_SCHEMA: null,
      },
      shown: ['PORT', 'APP_ENV', 'APP_DOMAIN', 'DB_SCHEMA'],
      packages: { express: '5.1.0', knex: '3.3.0', pg: '8.23.1' },
      process: { node: '22.11.0', platform: 'linux x64', pid: 4121, dyno: 'web.1', release: null },
    }),
    {
      name: 'timeline',
      title: 'Timeline',
      collect: () => ({
        totalMs: 313.6,
        spans: [
          { kind: 'app', startMs: 0, durationMs: 313.6, label: 'GET /orders/4712' },
          ...Array.from({ length: 18 }, (_, i) => ({
            kind: 'db',
            startMs: 15 + i * 7,
            durationMs: 5.2,
            label: 'select',
          })),
          { kind: 'out', startMs: 142, durationMs: 140, label: 'POST rates' },
          { kind: 'blocked', startMs: 284, durationMs: 7, label: 'event loop blocked' },
          { kind: 'view', startMs: 293, durationMs: 18, label: 'orders/show' },
        ],
        slices: [
          { kind: 'app', startMs: 0, durationMs: 15 },
          ...Array.from({ length: 18 }, (_, i) => [
            { kind: 'db', startMs: 15 + i * 7, durationMs: 5.2 },
            { kind: 'app', startMs: 20.2 + i * 7, durationMs: 1.8 },
          ]).flat(),
          { kind: 'out', startMs: 142, durationMs: 140 },
          { kind: 'blocked', startMs: 284, durationMs: 7 },
          { kind: 'view', startMs: 293, durationMs: 20.6 },
        ],
        shares: [{ kind: 'out', label: 'Outgoing calls', ms: 140, allMs: 140, count: 1 }],
      }),
      menu: { summary: () => ({ text: '314 ms', tone: 'plain' }) },
    },
    {
      name: 'database',
      title: 'Database',
      view: { kind: 'db' },
      collect: () => ({ queries: 23 }),
      menu: { summary: () => ({ text: 'N+1 · 23', tone: 'bad', count: 23 }) },
    },
    { name: 'mail', title: 'Mail', collect: () => null },
    {
      name: 'broken',
      title: 'Broken',
      collect: () => {
        throw new Error(`it broke ${HOSTILE.markup}`);
      },
    },
  ];
}

/** What is found of each of them. */
export const sampleRule: FindingRule = {
  name: 'sample',
  needs: ['database'],
  labels: ['N+1', 'slow call'],
  why: 'So.',
  fix: 'So.',
  find: () => [
    {
      label: 'N+1',
      severity: 'bad',
      sentence: '18 × select … from products where id = $1 in a loop, 88.2 ms of 313.6 ms',
      place: 'src/orders/order-view.ts:41',
      panel: 'database',
      anchor: 'q-7',
    },
    {
      label: 'slow call',
      severity: 'warn',
      sentence: 'POST rates.tax.example/v2/quote took 148.6 ms, 47 % of the request',
      panel: 'http_client',
    },
  ],
};

const HEADERS = [
  'Host', 'shop.example.com', 'User-Agent', 'Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0',
  'Accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'Accept-Encoding', 'gzip, br',
  'Authorization', 'Bearer 0123456789abcdef', 'Cookie', 'sid=s3cr3t-session-id; theme=dark', 'X-Forwarded-For', '203.0.113.24',
]; // prettier-ignore

/** A busy page, a form, JSON, an upload, an error with its page, a crowd of plain ones; the last is the busiest. */
export async function recordSamples(fixture: PageFixture): Promise<void> {
  for (let i = 0; i < 8; i++)
    await fixture.record({
      url: `/products/kettle-${i}?page=${i}`,
      status: [200, 304, 301, 204][i % 4] ?? 200,
    });
  await fixture.record({
    method: 'POST',
    url: '/checkout',
    status: 500,
    errorPage: true,
    more: (context) => {
      context.add('error', {
        error: new Error('Could not place order for cart 88231'),
        atMs: 80,
        origin: 'handled',
        status: 500,
      });
      context.add('body', {
        bytes: 52,
        contentType: 'application/x-www-form-urlencoded',
        preview: Buffer.from('name=Amira&password=hunter22&items=1&items=2'),
        truncated: false,
        parsed: { name: 'Amira', password: 'hunter22', items: ['1', '2'] },
        files: [],
      });
    },
  });
  await fixture.record({
    method: 'PUT',
    url: '/api/orders/12',
    more: (context) => {
      context.add('body', {
        bytes: 70,
        contentType: 'application/json; charset=utf-8',
        preview: Buffer.from('{"qty": 3, "token": "abcdef123456", "note": "it\'s fine"}'),
        truncated: false,
        parsed: { qty: 3, token: 'abcdef123456', note: "it's fine" },
        files: [],
      });
    },
  });
  await fixture.record(hostileRequest());
  await fixture.record({ url: '/slow/stream', running: true, response: { outcome: 'running' } });
  await fixture.record({
    headers: HEADERS,
    responseHeaders: [
      'Content-Type', 'text/html; charset=utf-8', 'Content-Security-Policy', "default-src 'self'; script-src 'self' 'unsafe-inline'",
      'X-Frame-Options', 'ALLOWALL', 'Set-Cookie', 'seen=4712; Path=/; HttpOnly', 'Set-Cookie', 'wide=1; SameSite=None',
    ], // prettier-ignore
    more: (context) => {
      context.add('migrations', {
        state: 'behind',
        schema: 'shop_example_com',
        table: 'knex_migrations',
        executed: Array.from({ length: 14 }, (_, i) => ({
          name: `2026110${i}_step`,
          batch: 1,
          at: 1_763_600_000_000,
        })),
        pending: ['20261120_add_stock'],
        unknown: ['20261121_from_tomorrow'],
        durationMs: 0.8,
        message: '1 migration is pending.',
      });
      context.add('route', {
        pattern: '/orders/:id',
        method: 'GET',
        params: { id: '4712' },
        handler: 'showOrder',
        source: 'src/orders.ts:12',
      });
    },
  });
}

/** Hostile text in every field that a client or an application can fill; `text` stands for its harmless twin. */
export function hostileRequest(text: string = Object.values(HOSTILE).join(' ')): Recorded {
  const raw = (name: string): string => `${name} ${text}`;
  return {
    method: raw('POST'),
    url: `/${raw('')}?${raw('q')}=${raw('v')}&b=${raw('b')}`,
    status: 500,
    headers: [
      'Host',
      raw('h'),
      raw('X-Name'),
      raw('value'),
      'Cookie',
      `${raw('c')}=1`,
      'Content-Type',
      raw('text/plain'),
    ],
    responseHeaders: [
      'Content-Type', `text/html; ${text}`, 'Set-Cookie', `${text}=1; Path=${text}; SameSite=${text}`,
      'Content-Security-Policy', `default-src ${text}`, raw('X-Out'), raw('out'),
    ], // prettier-ignore
    request: {
      requestId: raw('id'),
      receivedRequestId: raw('received'),
      remoteAddress: raw('10.0.0.1'),
      live: {
        session: { [raw('key')]: raw('value'), nested: { [raw('deep')]: raw('item') } },
        user: raw('ada'),
        app: { settings: { 'trust proxy': raw('proxy'), env: raw('env') } },
      },
    },
    response: { statusMessage: raw('Message'), preview: Buffer.from(raw('body')) },
    more: (context) => {
      const setter = layer({ name: raw('layer'), source: raw('place') });
      context.add('layer', setter);
      const writes = ['Content-Type', raw('X-Out')].map((name) => ({
        name,
        value: raw('x'),
        layer: setter,
        hooked: false,
      }));
      const response = context.first('response');
      if (response !== undefined)
        Object.assign(response, {
          headerWrites: [
            ...writes,
            { name: 'X-Gone', value: raw('x'), layer: setter, hooked: false },
            { name: 'X-Gone', value: undefined, layer: null, hooked: false },
          ],
          refused: [{ method: 'setHeader', name: raw('late'), layer: setter, atMs: 3 }],
        });
      context.add('route', {
        pattern: raw('/r'),
        method: raw('POST'),
        params: { [raw('p')]: raw('v') },
        handler: raw('h'),
        source: raw('s'),
      });
      context.add('migrations', {
        state: 'ahead',
        schema: raw('schema'),
        table: raw('table'),
        executed: [{ name: raw('name'), batch: 1, at: NaN }],
        pending: [raw('pending')],
        unknown: [raw('unknown')],
        durationMs: 1,
        message: raw('message'),
      });
      context.add('error', { error: new Error(raw('failed')), atMs: 1, origin: 'handled', status: 500 });
      context.add('body', {
        bytes: 1234,
        contentType: 'multipart/form-data; boundary=x',
        preview: Buffer.from(raw('raw')),
        truncated: true,
        parsed: { [raw('field')]: raw('value'), nested: { [raw('deep')]: [raw('item')] } },
        files: [{ field: raw('file'), name: raw('name'), contentType: raw('type'), bytes: 3 }],
      });
    },
  };
}
