/** Facts as observers append them, made by hand: a busy page of a small shop, a crowd, and hostile text. */
import type { Context } from '../../app/profiler/record/context.ts';
import type { Facts } from '../../app/profiler/record/facts.ts';
import type {} from '../../app/observe/databases/cache.ts';
import type {} from '../../app/observe/cpu/cpu.ts';
import type {} from '../../app/observe/logs/dump.ts';
import type {} from '../../app/observe/views.ts';
import type {} from '../../app/observe/graphql.ts';
import type {} from '../../app/observe/http-client/http-calls.ts';
import type {} from '../../app/observe/databases/knex.ts';
import type {} from '../../app/observe/jobs.ts';
import type {} from '../../app/observe/layers/layers.ts';
import type {} from '../../app/observe/logs/logs.ts';
import type {} from '../../app/observe/mail.ts';
import type {} from '../../app/observe/processes.ts';
import type { RuntimeReading } from '../../app/observe/runtime.ts';

type Layer = Facts['layer'];
type Query = Facts['query'];
type Log = Facts['log'];
type View = Facts['view'];
type Call = Facts['call'];
type CacheCommand = Facts['cache'];
type Mail = Facts['mail'];
type Job = Facts['job'];
type GraphqlOperation = Facts['graphql'];
type Process = Facts['process'];
type Cpu = Facts['cpu'];

/** Gives a context made by hand the duration that its facts tell of. */
export function lasting(context: Context, ms: number): Context {
  Object.defineProperty(context, 'durationMs', { configurable: true, get: () => ms });
  return context;
}

export function layer(given: Partial<Layer>): Layer {
  return {
    name: 'session', kind: 'middleware', pattern: '/', method: null, source: 'src/app.ts:28', startMs: 0, durationMs: 0.1,
    settledMs: null, nextMs: 0.3, outcome: 'next', error: false, depth: 0, ...given,
  }; // prettier-ignore
}

export function query(given: Partial<Query>): Query {
  return {
    sql: 'select "id", "name" from "users" where "id" = $1', bindings: [1907], startMs: 11, durationMs: 3.4,
    rows: 1, connection: '__knexUid7', transaction: null, waitMs: 0.2, error: null, caller: 'src/auth/require-user.ts:19',
    instance: 'default', ...given,
  }; // prettier-ignore
}

export function log(given: Partial<Log>): Log {
  return {
    level: 'info', channel: 'console.log', message: 'showing order 4712', context: null, caller: 'src/orders/order-view.ts:31',
    atMs: 15.2, ...given,
  }; // prettier-ignore
}

export function view(given: Partial<View>): View {
  return {
    name: 'orders/show', file: '/app/views/orders/show.ejs', startMs: 293.6, durationMs: 18.2, depth: 0, parent: null,
    locals: { order: { id: 4712 }, title: 'Order 4712' }, caller: 'src/orders/order-view.ts:52', error: null, ...given,
  }; // prettier-ignore
}

export function call(given: Partial<Call>): Call {
  return {
    method: 'POST', url: 'https://rates.tax.example/v2/quote?country=DE', client: 'fetch', status: 200, startMs: 136.2,
    durationMs: 148.6, headersMs: 145.2, connection: { lookupMs: 2.1, connectMs: 11.4, tlsMs: 18.9 },
    requestHeaders: ['host', 'rates.tax.example', 'content-type', 'application/json', 'authorization', 'Bearer 0123456789abcdef'],
    responseHeaders: ['content-type', 'application/json', 'x-debug-token-link', 'https://rates.tax.example/_profiler/1b2c3d'],
    error: null, link: 'https://rates.tax.example/_profiler/1b2c3d', caller: 'src/tax/client.ts:27', ...given,
  }; // prettier-ignore
}

export function cacheCommand(given: Partial<CacheCommand>): CacheCommand {
  return {
    system: 'redis', client: 'ioredis', command: 'GET', key: 'user:1', args: [], asked: 1, hits: 1, startMs: 4, durationMs: 0.5, batch: null,
    error: null, caller: 'src/users/cache.ts:12', connection: 'localhost:6379', ...given,
  }; // prettier-ignore
}

export function mail(given: Partial<Mail>): Mail {
  return {
    from: 'Shop <shop@example.com>', to: ['ada@example.com'], cc: [], bcc: [], subject: 'Your order', text: 'Thank you', html: null,
    attachments: [], transport: 'SMTP', startMs: 5, durationMs: 40, messageId: '<1@example.com>', response: '250 OK', rejected: [],
    error: null, caller: 'src/orders/mail.ts:9', ...given,
  }; // prettier-ignore
}

export function job(given: Partial<Job>): Job {
  return {
    queue: 'mails', name: 'confirm', id: '1', data: { order: 7 }, delayMs: null, startMs: 5, durationMs: 1, error: null,
    caller: 'src/orders/add.ts:9', ...given,
  }; // prettier-ignore
}

export function graphqlOperation(given: Partial<GraphqlOperation>): GraphqlOperation {
  return {
    operation: 'GetOrders', label: 'GetOrders', type: 'query', document: 'query GetOrders { orders { id } }', variables: { first: 10 }, startMs: 5,
    durationMs: 12, errors: [], resolvers: [], caller: 'src/graphql.ts:14', ...given,
  }; // prettier-ignore
}

export function childProcess(given: Partial<Process>): Process {
  return {
    command: 'convert', args: [{ name: null, value: 'in.png' }, { name: null, value: 'out.webp' }], isSync: false, startMs: 5, durationMs: 80,
    exitCode: 0, signal: null, error: null, caller: 'src/images/convert.ts:9', ...given,
  }; // prettier-ignore
}

export function reading(given: Partial<RuntimeReading> = {}): RuntimeReading {
  return {
    cpuUserMs: 36.1, cpuSystemMs: 5.2, loopUtilization: 0.38, blocks: [{ startMs: 286, durationMs: 7.1 }],
    collections: [{ startMs: 120, durationMs: 1.4, kind: 'minor' }, { startMs: 240, durationMs: 0.8, kind: 'minor' }],
    memory: { rss: 131_000_000, heapUsed: 67_300_000, heapTotal: 90_000_000, external: 4_100_000 },
    concurrent: 4, ...given,
  }; // prettier-ignore
}

/** A handler of `name` that calls a function of a package of that name, which reads a file: 60 ms. */
function cpuSamples(name: string): Cpu {
  const of = { name, url: name, line: 3, column: 9 };
  return {
    asked: 'header', everyUs: 1000, spanMs: 90, startingMs: 5, samples: 60, ownMs: 60, otherMs: 12, nodesLeft: 3, isThinned: true,
    functions: [
      { ...of, kind: 'own', place: `${name}:4`, busiest: `${name}:6` },
      { ...of, kind: 'package', of: name },
      { ...of, name: 'readFileSync', url: 'node:fs', kind: 'node', of: 'node:fs' },
    ],
    nodes: [-1, 0, 20_000, 0, 0, 1, 30_000, 6, 1, 2, 10_000, 0],
    runsStartMs: -2,
    runs: [-1, 5000, 0, 20_000, 1, 30_000, -1, 4000, 2, 10_000],
  }; // prettier-ignore
}

/** 23 queries with an N+1, a call, a view with partials, log lines, work after the answer: 313.6 ms. */
export function addBusyPage(context: Context): void {
  lasting(context, 313.6);
  for (const fact of [
    layer({ name: 'requestId', startMs: 0.2, nextMs: 0.1 }),
    layer({ name: 'helmet', startMs: 0.4, nextMs: 0.3 }),
    layer({ name: 'session', startMs: 0.8, nextMs: 9.6 }),
    layer({ name: 'router', kind: 'router', pattern: '/orders', startMs: 10.4, nextMs: 0.1 }),
    layer({ name: 'requireUser', pattern: '/orders', startMs: 10.6, nextMs: 4.2, depth: 1 }),
    layer({
      name: 'showOrder', kind: 'handler', pattern: '/orders/:id', method: 'GET', startMs: 15, nextMs: null, outcome: 'running',
      settledMs: 297.9, depth: 1,
    }),
  ]) context.add('layer', fact); // prettier-ignore
  for (const fact of [
    query({ sql: 'select "data", "expires_at" from "sessions" where "sid" = $1', bindings: ['b7e1'], startMs: 1.5, durationMs: 2.1, caller: 'src/app.ts:28' }),
    query({}),
    query({ sql: 'select * from "orders" where "id" = $1 and "user_id" = $2', bindings: [4712, 1907], startMs: 15.6, durationMs: 4.8, caller: 'src/orders/order-view.ts:33' }),
    query({ sql: 'select "oi"."id", "oi"."product_id", "oi"."quantity", "oi"."unit_price_minor" from "order_items" as "oi" where "oi"."order_id" = $1 order by "oi"."position"', bindings: [4712], startMs: 21, durationMs: 6.2, rows: 18, caller: 'src/orders/order-view.ts:36' }),
    ...Array.from({ length: 18 }, (_, i) => query({
      sql: 'select * from "products" where "id" = $1 limit $2', bindings: [311 + i * 7, 1], startMs: 28 + i * 5.7,
      durationMs: 4.4 + ((i * 7) % 5) / 2, caller: 'src/orders/order-view.ts:41',
    })),
    query({ sql: 'select "carrier", "tracking_code" from "shipments" where "order_id" = $1', bindings: [4712], startMs: 132, durationMs: 3.1, waitMs: 1.9, caller: 'src/orders/order-view.ts:48' }),
  ]) context.add('query', fact); // prettier-ignore
  context.add('call', call({}));
  context.add('view', view({}));
  for (const [name, startMs, durationMs] of [['partials/layout.ejs', 293.9, 2.6], ['orders/_items.ejs', 296.8, 9.4], ['orders/_totals.ejs', 306.4, 1.1]] as const)
    context.add('view', view({ name, file: `/app/views/${name}`, startMs, durationMs, depth: 1, parent: 0, locals: {}, caller: null })); // prettier-ignore
  context.add('runtime', { read: () => reading() });
  context.add('log', log({ level: 'debug', channel: 'session', message: 'session loaded for user 1907', atMs: 10.4, caller: 'src/app.ts:28' })); // prettier-ignore
  context.add('log', log({ message: 'showing order 4712 to أميرة حداد', context: { orderId: 4712, userId: 1907, locale: 'ar-EG' } })); // prettier-ignore
  for (let i = 0; i < 18; i++)
    context.add('log', log({ level: 'debug', channel: 'knex', message: `product ${311 + i * 7} fetched`, atMs: 33.4 + i * 5.7, caller: 'src/orders/order-view.ts:42' })); // prettier-ignore
  context.add('log', log({ level: 'warn', channel: 'tax', message: 'rates.tax.example answered after 148 ms, budget is 80 ms', context: { attempt: 1, budgetMs: 80, tookMs: 148.6 }, atMs: 284.9, caller: 'src/tax/client.ts:27' })); // prettier-ignore
  context.add('log', log({ level: 'error', channel: 'console.error', message: 'TypeError: no such thing', context: { class: 'TypeError', stack: 'TypeError: no such thing\n    at a (src/a.ts:1:2)' }, atMs: 293.5 })); // prettier-ignore
  context.add('query', query({ sql: 'update "orders" set "viewed_at" = now() where "id" = $1', bindings: [4712], startMs: 314, durationMs: 4.6, caller: 'src/orders/viewed.ts:12' })); // prettier-ignore
  context.add('dump', { value: { id: 4712, lines: [{ sku: 'K-1', quantity: 2 }] }, label: 'order', type: 'object', caller: 'src/orders/order-view.ts:50', atMs: 200 }); // prettier-ignore
  context.add('dump', {
    value: 'plain text\nof two lines',
    label: null,
    type: 'string',
    caller: null,
    atMs: 201,
  });
}

/** `queries` different statements and `lines` different log lines. */
export function addCrowd(context: Context, { queries, lines }: { queries: number; lines: number }): void {
  lasting(context, queries * 4);
  context.add('layer', layer({ name: 'report', kind: 'handler', pattern: '/report', method: 'GET', outcome: 'running', nextMs: null })); // prettier-ignore
  const word = (i: number): string =>
    String.fromCharCode(97 + (i % 26), 97 + (Math.floor(i / 26) % 26), 97 + (i % 7));
  for (let i = 0; i < queries; i++)
    context.add('query', query({ sql: `select "${word(i)}", "name", "created_at" from "table_${word(i)}" where "${word(i)}_id" = $1 and "state" = $2 order by "created_at" desc limit $3`, bindings: [i, 'open', 10], startMs: i * 4, durationMs: 1 + (i % 30) / 10, caller: `src/report/${word(i)}.ts:${i}` })); // prettier-ignore
  for (let i = 0; i < lines; i++)
    context.add('log', log({ message: `${word(i)} has been looked at and found to be in order by ${word(i * 3)}`, atMs: i, caller: `src/report/${word(i)}.ts:${i}` })); // prettier-ignore
}

/** The same page with `text` wherever a request can bring text in. */
export function addForeignText(context: Context, text: string): void {
  lasting(context, 100);
  context.add('layer', layer({ name: text, pattern: `/${text}`, kind: 'handler', method: 'GET' }));
  for (let i = 0; i < 3; i++)
    context.add('query', query({ sql: `select '${text}' as "${text}" -- ${text}`, bindings: [text, { [text]: text }], caller: `${text}:1`, error: text, connection: text, transaction: text, instance: text })); // prettier-ignore
  context.add('query', query({ sql: `select ${text}`, bindings: [], durationMs: null, rows: null }));
  context.add('log', log({ message: text, channel: text, context: { [text]: text }, caller: text }));
  context.add('view', view({ name: text, file: text, locals: { [text]: text }, caller: text, error: text }));
  context.add('call', call({ method: text, url: `https://${text}/?q=${text}`, status: null, durationMs: null, error: text, link: text, requestHeaders: [text, text], caller: text })); // prettier-ignore
  context.add('dump', { value: { [text]: text }, label: text, type: 'object', caller: text, atMs: 1 });
  context.add('cache', cacheCommand({ command: text, key: text, args: [{ name: text, value: text }], caller: text, error: text, connection: text })); // prettier-ignore
  context.add('mail', mail({ from: text, to: [text], cc: [text], subject: text, text, html: text, attachments: [{ name: text, contentType: text, bytes: 1 }], transport: text, messageId: text, response: text, rejected: [text], error: text, caller: text })); // prettier-ignore
  context.add('process', childProcess({ command: text, args: [{ name: text, value: text }], signal: text, error: text, caller: text })); // prettier-ignore
  context.add('graphql', graphqlOperation({ operation: text, document: text, variables: { [text]: text }, errors: [{ message: text, path: text }], resolvers: [{ field: text, calls: 1, totalMs: 1, slowestMs: 1, failed: 0, startMs: 1 }] })); // prettier-ignore
  context.add('job', job({ queue: text, name: text, id: text, data: { [text]: text }, error: text, caller: text })); // prettier-ignore
  context.add('cpu', cpuSamples(text));
  context.add('runtime', {
    read: () => reading({ collections: [{ startMs: 1, durationMs: 2, kind: text }] }),
  });
}
