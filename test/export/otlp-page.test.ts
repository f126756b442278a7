/** `/_profiler/<token>.otlp.json` of a real request: spans in OpenTelemetry's names, log records, nothing that was masked. */
import { expect } from 'chai';
import type { Server } from 'node:http';
import express from 'express';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { LogsData, OtlpSpan, TracesData } from '../../app/export/otlp-profile.ts';
import { close, listen } from '../support/listen.ts';
import { attributeOf, plainValue } from '../support/otlp-collector.ts';
import { withQuietConsole } from '../support/quiet-console.ts';
import { withUpstream } from '../support/upstream.ts';
import { finalProfile } from '../support/final-profile.ts';

type Otlp = TracesData & LogsData;

const SECRET = 'hunter2-9f8e7d6c5b4a';

/** A query without a database: what an observer would add. */
const QUERY = {
  system: 'postgresql',
  server: '[::1]:5433/shop',
  sql: `select * from orders where id = $1 and note = 'password=${SECRET}'`,
  bindings: [SECRET],
  method: 'select',
  startMs: 1,
  durationMs: 2.5,
  rows: 3,
  connection: null,
  transaction: null,
  waitMs: 0,
  error: null,
  caller: 'src/orders.ts:41',
  instance: 'postgresql',
} as const;

function spanOf(otlp: Otlp, name: string): OtlpSpan {
  const found = otlp.resourceSpans[0]!.scopeSpans[0]!.spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`There is no span ${name}.`);
  return found;
}

describe('a profile in OTLP/JSON', () => {
  const upstream = withUpstream((req, res) => {
    res.statusCode = req.url === '/gone' ? 410 : 200;
    res.end('{}');
  });
  withQuietConsole();
  let profiler: Profiler;
  let origin = '';
  let server: Server;

  before(async () => {
    profiler = createProfiler({
      serviceName: 'shop',
      resourceAttributes: 'deployment.environment.name=staging,team=a%20b',
      warn: () => undefined,
    });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/orders/:id', async (_request, response) => {
      profiler.fact('query', { ...QUERY, bindings: [...QUERY.bindings] });
      profiler.fact('query', {
        ...QUERY,
        bindings: [],
        sql: 'update orders set a = 1',
        error: 'error: no such column',
      });
      await profiler.span('price the order', async () => {
        await (await fetch(`${upstream()}/rates?api_key=${SECRET}`)).text();
      });
      await (await fetch(`${upstream()}/gone`)).text();
      console.warn('stock is low', { password: SECRET, left: 2 });
      response.send('ok');
    });
    app.get('/fails', () => {
      throw new TypeError('no price', { cause: new RangeError('no rate') });
    });
    app.use(profiler.errors);
    ({ server, origin } = await listen(app));
  });

  after(() => close(server, profiler));

  async function otlpOf(
    path: string,
    method = 'GET',
  ): Promise<{ response: Response; otlp: Otlp; token: string }> {
    const sent = await fetch(`${origin}${path}`, { method, headers: { 'user-agent': 'curl/8' } });
    const { token } = await finalProfile(profiler, sent);
    const response = await fetch(`${origin}/_profiler/${token}.otlp.json`);
    return { response, otlp: (await response.json()) as Otlp, token };
  }

  it('is a JSON file for download', async () => {
    const { response, token } = await otlpOf('/orders/7');
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(response.headers.get('content-disposition')).to.equal(
      `attachment; filename="GET-orders-7-${token}.otlp.json"`,
    );
  });

  it('names the service as the settings do', async () => {
    const { otlp } = await otlpOf('/orders/7');
    const { resource, scopeSpans } = otlp.resourceSpans[0]!;
    expect(attributeOf(resource, 'service.name')).to.equal('shop');
    expect(attributeOf(resource, 'deployment.environment.name')).to.equal('staging');
    expect(attributeOf(resource, 'team')).to.equal('a b');
    expect(attributeOf(resource, 'service.instance.id')).to.match(/:\d+$/);
    expect(scopeSpans[0]!.scope.name).to.equal('express-hindsight');
    expect(otlp.resourceLogs[0]!.resource).to.deep.equal(resource);
  });

  it('begins with the request, as a server span', async () => {
    const { otlp, token } = await otlpOf('/orders/7?page=2');
    const root = spanOf(otlp, 'GET /orders/:id');
    expect(root.traceId).to.match(/^[0-9a-f]{32}$/);
    expect(root.spanId).to.match(/^[0-9a-f]{16}$/);
    expect(root).to.include({ kind: 2 }).and.to.not.have.any.keys('parentSpanId', 'status');
    const [start, end] = [BigInt(root.startTimeUnixNano), BigInt(root.endTimeUnixNano)];
    expect(Number(start / 1_000_000n)).to.be.closeTo(Date.now(), 60_000);
    expect(end > start).to.equal(true);
    const expected = {
      'http.request.method': 'GET',
      'url.path': '/orders/7',
      'url.query': 'page=2',
      'url.scheme': 'http',
      'http.route': '/orders/:id',
      'http.response.status_code': '200',
      'server.address': '127.0.0.1',
      'server.port': new URL(origin).port,
      'network.protocol.version': '1.1',
      'client.address': '127.0.0.1',
      'user_agent.original': 'curl/8',
      'hindsight.token': token,
      'hindsight.link': `${origin}/_profiler/${token}`,
    };
    for (const [key, value] of Object.entries(expected)) expect(attributeOf(root, key), key).to.equal(value);
  });

  it('goes on with queries, calls and own spans below it', async () => {
    const { otlp } = await otlpOf('/orders/7');
    const root = spanOf(otlp, 'GET /orders/:id');
    const query = spanOf(otlp, 'select … from orders');
    expect(query).to.include({ kind: 3, traceId: root.traceId, parentSpanId: root.spanId });
    expect(BigInt(query.endTimeUnixNano) - BigInt(query.startTimeUnixNano)).to.equal(2_500_000n);
    const expected = {
      'db.system.name': 'postgresql',
      'db.operation.name': 'SELECT',
      'db.collection.name': 'orders',
      'db.namespace': 'shop',
      'server.address': '::1',
      'server.port': '5433',
    };
    for (const [key, value] of Object.entries(expected)) expect(attributeOf(query, key), key).to.equal(value);
    expect(attributeOf(query, 'db.query.text')).to.contain('select * from orders where id = $1');
    expect(attributeOf(query, 'db.response.returned_rows')).to.equal('3');
    expect(attributeOf(query, 'code.file.path')).to.equal('src/orders.ts');
    expect(attributeOf(query, 'code.line.number')).to.equal('41');
    const failed = spanOf(otlp, 'update orders');
    expect(failed.status).to.deep.equal({ code: 2, message: 'error: no such column' });
    const [call, gone] = otlp.resourceSpans[0]!.scopeSpans[0]!.spans.filter(({ name }) => name === 'GET');
    expect(call).to.include({ kind: 3 });
    expect(attributeOf(call!, 'url.full')).to.match(new RegExp(`^${upstream()}/rates\\?`));
    expect(attributeOf(call!, 'server.port')).to.equal(new URL(upstream()).port);
    expect(attributeOf(gone!, 'error.type')).to.equal('410');
    expect(gone!.status?.code).to.equal(2);
    expect(spanOf(otlp, 'price the order').kind).to.equal(1);
    const { spans } = otlp.resourceSpans[0]!.scopeSpans[0]!;
    expect(new Set(spans.map(({ spanId }) => spanId)).size).to.equal(spans.length);
  });

  it('has log lines as records of the same trace', async () => {
    const { otlp } = await otlpOf('/orders/7');
    const [record] = otlp.resourceLogs[0]!.scopeLogs[0]!.logRecords;
    const root = spanOf(otlp, 'GET /orders/:id');
    expect(record).to.include({ severityNumber: 13, severityText: 'WARN', traceId: root.traceId, spanId: root.spanId }); // prettier-ignore
    expect(plainValue(record!.body)).to.contain('stock is low');
    expect(attributeOf(record!, 'code.file.path')).to.contain('otlp-page.test.ts');
  });

  it('has what was thrown as an event, with its cause', async () => {
    const { otlp } = await otlpOf('/fails');
    const root = spanOf(otlp, 'GET /fails');
    expect(root.status).to.deep.equal({ code: 2, message: 'TypeError: no price' });
    expect(attributeOf(root, 'error.type')).to.equal('TypeError');
    const [event] = root.events!;
    expect(event!.name).to.equal('exception');
    expect(attributeOf(event!, 'exception.type')).to.equal('TypeError');
    expect(attributeOf(event!, 'exception.message')).to.equal('no price');
    expect(attributeOf(event!, 'exception.stacktrace'))
      .to.match(/^TypeError: no price\n {4}at .*otlp-page\.test\.ts:\d+/)
      .and.to.contain('Caused by: RangeError: no rate');
  });

  it('gives a method that HTTP does not know a name of few', async () => {
    const { otlp } = await otlpOf('/orders/7', 'PROPFIND');
    const root = otlp.resourceSpans[0]!.scopeSpans[0]!.spans[0]!;
    expect(root.name).to.match(/^HTTP/);
    expect(attributeOf(root, 'http.request.method')).to.equal('_OTHER');
    expect(attributeOf(root, 'http.request.method_original')).to.equal('PROPFIND');
  });

  it('contains no secret that was masked, and no value of a statement', async () => {
    const { otlp } = await otlpOf(`/orders/7?access_token=${SECRET}`);
    const text = JSON.stringify(otlp);
    expect(text).to.not.contain(SECRET);
    expect(text).to.contain('[masked ');
  });

  it('is the same each time', async () => {
    const { otlp, token } = await otlpOf('/orders/7');
    const again = (await (await fetch(`${origin}/_profiler/${token}.otlp.json`)).json()) as Otlp;
    expect(again).to.deep.equal(otlp);
  });

  it('is linked on the page of the profile', async () => {
    const { token } = await otlpOf('/orders/7');
    const html = await (await fetch(`${origin}/_profiler/${token}`)).text();
    expect(html).to.contain(`href="/_profiler/${token}.otlp.json"`);
  });
});
