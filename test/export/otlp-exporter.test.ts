/** The exporter against a collector that refuses, asks to wait, hangs or is away. */
import { expect } from 'chai';
import { createOtlpExporter, type OtlpExporter, type OtlpOptions } from '../../app/export/otlp-exporter.ts';
import { type ExportCounters, NOTHING_EXPORTED } from '../../app/profiler/export.ts';
import { attributeOf, withCollector } from '../support/otlp-collector.ts';
import { until } from '../support/waiting.ts';

/** What a storage stored of a request; `fields` replaces the usual ones. */
function documentOf(token: string, fields: object = {}): Uint8Array {
  return Buffer.from(
    JSON.stringify({
      version: 2,
      token,
      kind: 'request',
      state: 'final',
      method: 'GET',
      url: `/orders/${token}`,
      status: 200,
      clientAddress: '',
      requestId: '',
      startedAt: 1_764_100_000_000,
      durationMs: 5,
      process: 'web.1',
      panels: { logs: { data: { lines: [{ level: 'info', channel: 'console', message: token, atMs: 1 }] } } },
      ...fields,
    }),
  );
}

describe('the export to OpenTelemetry', () => {
  const collector = withCollector();
  let exporter: OtlpExporter;
  let counters: ExportCounters;
  let said: string[];

  function start(options: Partial<OtlpOptions> = {}): void {
    counters = NOTHING_EXPORTED;
    said = [];
    exporter = createOtlpExporter(
      {
        tracesUrl: `${collector.origin()}/v1/traces`,
        logsUrl: `${collector.origin()}/v1/logs`,
        headers: { 'x-api-key': 'key-12345678' },
        protocol: 'http/protobuf',
        isCompressed: false,
        timeoutMs: 5000,
        by: { resource: { 'service.name': 'shop' }, scope: { name: 'express-hindsight', version: '1' } },
        lingerMs: 10,
        ...options,
      },
      {
        say: (sentence) => said.push(sentence),
        report: (now) => (counters = now),
      },
    );
  }

  afterEach(() => exporter.close(1000));

  for (const protocol of ['http/protobuf', 'http/json'] as const)
    for (const isCompressed of [false, true])
      it(`sends spans and log records by ${protocol}${isCompressed ? ', compressed' : ''}`, async () => {
        start({ protocol, isCompressed });
        exporter.add([documentOf('aaaaaa'), documentOf('bbbbbb')]);
        await until(() => counters.sent === 2, 'both profiles');
        expect(collector.received.map(({ path }) => path)).to.deep.equal(['/v1/traces', '/v1/logs']);
        const { headers, data } = collector.received[0]!;
        expect(headers['content-type']).to.equal(
          protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
        );
        expect(headers['x-api-key']).to.equal('key-12345678');
        expect(headers['content-encoding']).to.equal(isCompressed ? 'gzip' : undefined);
        expect(attributeOf(data.resourceSpans[0]!.resource, 'service.instance.id')).to.equal('web.1');
        expect(collector.spans().map((span) => attributeOf(span, 'url.path'))).to.deep.equal([
          '/orders/aaaaaa',
          '/orders/bbbbbb',
        ]);
        expect(collector.logRecords().map(({ traceId }) => traceId)).to.deep.equal(
          collector.spans().map(({ traceId }) => traceId),
        );
        expect(counters).to.include({ retries: 0, pending: 0, pendingBytes: 0 });
      });

  it('tries again after as long as the collector asks for', async () => {
    start();
    const times: number[] = [];
    collector.reply = (res, count) => {
      times.push(performance.now());
      if (count > 1) res.end();
      else res.writeHead(429, { 'retry-after': '1' }).end();
    };
    exporter.add([documentOf('aaaaaa')]);
    await until(() => counters.sent === 1, 'the profile');
    expect(counters.retries).to.equal(1);
    expect(times[1]! - times[0]!).to.be.at.least(990);
    expect(collector.received[1]!.body).to.deep.equal(collector.received[0]!.body);
    expect(said).to.have.length(1);
    expect(said[0]).to.contain('status 429').and.to.not.contain('key-12345678');
  });

  for (const status of [502, 503, 504])
    it(`tries again after ${status}`, async () => {
      start();
      collector.reply = (res, count) => res.writeHead(count > 1 ? 200 : status).end();
      exporter.add([documentOf('aaaaaa')]);
      await until(() => counters.sent === 1, 'the profile');
      expect(counters).to.deep.include({ retries: 1, dropped: {} });
    });

  it('tries again when the connection breaks', async () => {
    start();
    collector.reply = (res, count) => (count > 1 ? res.end() : res.destroy());
    exporter.add([documentOf('aaaaaa')]);
    await until(() => counters.sent === 1, 'the profile');
    expect(counters.retries).to.equal(1);
  });

  for (const status of [302, 400, 413, 500])
    it(`drops and counts what is refused with ${status}`, async () => {
      start();
      collector.reply = (res) => res.writeHead(status, { location: '/elsewhere' }).end();
      exporter.add([documentOf('aaaaaa')]);
      await until(() => counters.dropped[`status ${status}`] === 1, 'the count');
      expect(counters).to.include({ sent: 0, retries: 0 });
      expect(collector.received).to.have.length(2);
    });

  it('gives up after a while', async () => {
    start({ retryForMs: 100 });
    collector.reply = (res) => res.writeHead(503, { 'retry-after': 'Wed, 25 Nov 2126 00:00:00 GMT' }).end();
    exporter.add([documentOf('aaaaaa')]);
    await until(() => counters.dropped['not accepted'] === 1, 'the count');
  });

  it('drops the oldest and counts them when the queue is full', async () => {
    const bytes = documentOf('aaaaaa').length;
    start({ maxBytes: 2 * bytes, lingerMs: 300 });
    exporter.add(['aaaaaa', 'bbbbbb', 'cccccc', 'dddddd'].map((token) => documentOf(token)));
    expect(counters).to.deep.include({ pending: 2, pendingBytes: 2 * bytes, dropped: { 'queue full': 2 } });
    await until(() => counters.sent === 2, 'the rest');
    expect(collector.spans().map((span) => attributeOf(span, 'hindsight.token'))).to.deep.equal([
      'cccccc',
      'dddddd',
    ]);
  });

  it('goes on after a profile that is larger than the queue', async () => {
    start({ maxBytes: 600 });
    exporter.add([documentOf('aaaaaa', { route: 'x'.repeat(1000) })]);
    exporter.add([documentOf('bbbbbb')]);
    await until(() => counters.sent === 1, 'the next one');
    expect(counters.dropped).to.deep.equal({ 'queue full': 1 });
  });

  for (const [protocol, body] of [
    ['http/json', Buffer.from('{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}')],
    // partial_success { rejected_spans: 300, error_message: "too old" }
    ['http/protobuf', Buffer.from('0a0c08ac021207746f6f206f6c64', 'hex')],
  ] as const)
    it(`counts what the collector rejects of a request, by ${protocol}`, async () => {
      start({ protocol });
      collector.reply = (res, count) => res.end(count === 1 ? body : undefined);
      exporter.add([documentOf('aaaaaa')]);
      await until(() => counters.sent === 1, 'the profile');
      expect(counters.rejected).to.equal(protocol === 'http/json' ? 3 : 300);
    });

  it('sends a profile that is stored again only as far as it is new', async () => {
    start();
    const line = (message: string): object => ({ level: 'info', channel: 'console', message, atMs: 1 });
    const panels = (lines: object[]): object => ({ panels: { logs: { data: { lines } } } });
    exporter.add([documentOf('aaaaaa', panels([line('first')]))]);
    await until(() => counters.sent === 1, 'the first version');
    exporter.add([documentOf('aaaaaa', panels([line('first'), line('late')]))]);
    await until(() => counters.sent === 2, 'the second version');
    expect(collector.spans()).to.have.length(1);
    expect(collector.logRecords().map(({ body }) => body)).to.deep.equal([
      { stringValue: 'first' },
      { stringValue: 'late' },
    ]);
  });

  it('marks a request as failed by its status, or by what was thrown without one', async () => {
    start();
    const error = { name: 'TypeError', message: 'no price' };
    exporter.add([
      documentOf('aaaaaa', { status: 503 }),
      documentOf('bbbbbb', { status: 404, error }),
      documentOf('cccccc', { status: undefined, outcome: 'aborted' }),
      documentOf('dddddd', { status: undefined, outcome: 'aborted', error }),
    ]);
    await until(() => counters.sent === 4, 'all four');
    expect(
      collector.spans().map((span) => [span.status?.message, attributeOf(span, 'error.type')]),
    ).to.deep.equal([
      ['status 503', '503'],
      [undefined, undefined],
      [undefined, undefined],
      ['TypeError: no price', 'TypeError'],
    ]);
  });

  it('tells processes and releases apart', async () => {
    start();
    exporter.add([
      documentOf('aaaaaa', { release: 'v1' }),
      documentOf('bbbbbb', { release: 'v1' }),
      documentOf('cccccc', { process: 'web.2', release: 'v2' }),
      documentOf('dddddd'),
    ]);
    await until(() => counters.sent === 4, 'all four');
    const resources = collector.received[0]!.data.resourceSpans.map(({ resource, scopeSpans }) => [
      attributeOf(resource, 'service.instance.id'),
      attributeOf(resource, 'service.version'),
      scopeSpans[0]!.spans.length,
    ]);
    expect(resources).to.deep.equal([
      ['web.1', 'v1', 2],
      ['web.2', 'v2', 1],
      ['web.1', undefined, 1],
    ]);
  });

  it('leaves out what still runs and the profiler’s own pages, not what the end of the process cut off', async () => {
    start();
    exporter.add([
      documentOf('aaaaaa', { state: 'running', outcome: 'running' }),
      documentOf('bbbbbb', { kind: 'profiler' }),
      documentOf('cccccc', { kind: 'error_page' }),
      documentOf('dddddd', { state: 'running', outcome: 'cut off', durationMs: null }),
    ]);
    await until(() => counters.sent === 1, 'one profile');
    const [span, ...others] = collector.spans();
    expect(others).to.deep.equal([]);
    expect(attributeOf(span!, 'hindsight.token')).to.equal('dddddd');
    expect(span!.status).to.deep.equal({ code: 2, message: 'cut off' });
  });

  it('counts what it can’t read and goes on', async () => {
    start();
    exporter.add([
      documentOf('cccccc', { url: `/${'x'.repeat(4 * 1024 * 1024)}` }),
      Buffer.from('{"token":'),
      documentOf('bbbbbb', { startedAt: 'then' }),
      documentOf('aaaaaa'),
    ]);
    await until(() => counters.sent === 1, 'the readable one');
    expect(counters.dropped).to.deep.equal({ unreadable: 3 });
  });

  it('sends what is queued when it is closed, without waiting for more', async () => {
    start({ lingerMs: 60_000 });
    exporter.add([documentOf('aaaaaa')]);
    await exporter.close(5000);
    expect(counters).to.deep.include({ sent: 1, dropped: {} });
  });

  it('counts what it can’t send before it is closed', async () => {
    start();
    collector.reply = () => undefined;
    exporter.add([documentOf('aaaaaa')]);
    await until(() => collector.received.length === 1, 'the request');
    exporter.add([documentOf('bbbbbb')]);
    const begun = performance.now();
    await exporter.close(200);
    expect(performance.now() - begun).to.be.below(3000);
    expect(counters.dropped).to.deep.equal({ 'shut down': 2 });
  });
});
