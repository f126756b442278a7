/** The exporter against a collector that refuses, asks to wait, hangs or is away. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createExporter, type Exporter, type ExporterOptions } from '../../app/export/exporter.ts';
import type { ExportedProfile } from '../../app/export/otlp-work.ts';
import { profileIndex } from '../support/profile-index.ts';
import { attributeOf, withCollector } from '../support/otlp-collector.ts';
import { until } from '../support/waiting.ts';

/** What was recorded of a request; `fields` replaces the usual ones. */
function recordOf(token: string, fields: object = {}): string {
  return JSON.stringify({
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
  });
}

/** Several of these fill the queue. */
const FOUR_MEBIBYTES = 'x'.repeat(4 * 1024 * 1024);

describe('the export to OpenTelemetry', () => {
  const collector = withCollector();
  let exporter: Exporter;
  let said: string[];

  function start(options: Partial<ExporterOptions> = {}): void {
    said = [];
    exporter = createExporter({
      endpoint: collector.origin(),
      headers: { 'x-api-key': 'key-12345678' },
      isCompressed: true,
      by: { resource: { 'service.name': 'shop' }, scope: { name: 'express-hindsight', version: '1' } },
      profileOf: (text) => JSON.parse(text) as ExportedProfile,
      unobserved: (work) => work(),
      warn: (sentence) => said.push(sentence),
      ...options,
    });
  }

  function add(...texts: string[]): void {
    for (const text of texts) exporter.add({ row: profileIndex(), text });
  }

  async function untilSent(count: number): Promise<void> {
    await until(() => exporter.counters().sent === count, `${count} profiles are sent`);
  }

  beforeEach(() => {
    start();
  });
  afterEach(() => exporter.close(1000));

  for (const isCompressed of [true, false])
    it(`sends spans and log records as JSON${isCompressed ? ', compressed' : ''}`, async () => {
      start({ isCompressed });
      add(recordOf('aaaaaa'), recordOf('bbbbbb'));
      await untilSent(2);
      expect(collector.received.map(({ path }) => path)).to.deep.equal(['/v1/traces', '/v1/logs']);
      const { headers, data } = collector.received[0]!;
      expect(headers['content-type']).to.equal('application/json');
      expect(headers['x-api-key']).to.equal('key-12345678');
      expect(headers['content-encoding']).to.equal(isCompressed ? 'gzip' : undefined);
      expect(attributeOf(data.resourceSpans[0]!.resource, 'service.instance.id')).to.equal('web.1');
      expect(collector.spans().map((span) => attributeOf(span, 'url.path'))).to.deep.equal([
        '/orders/aaaaaa',
        '/orders/bbbbbb',
      ]);
      expect(collector.spans()[0]).to.include({
        startTimeUnixNano: '1764100000000000000',
        endTimeUnixNano: '1764100000005000000',
      });
      expect(collector.logRecords().map(({ traceId }) => traceId)).to.deep.equal(
        collector.spans().map(({ traceId }) => traceId),
      );
      expect(exporter.counters()).to.include({ pending: 0, pendingBytes: 0 });
    });

  for (const status of [429, 503])
    it(`sends a batch again after ${status}`, async () => {
      start();
      collector.reply = (res, count) => res.writeHead(count > 1 ? 200 : status).end();
      add(recordOf('aaaaaa'));
      await untilSent(1);
      expect(collector.received[1]!.content).to.deep.equal(collector.received[0]!.content);
      expect(exporter.counters().dropped).to.deep.equal({});
      expect(said).to.have.length(1);
      expect(said[0]).to.contain(`status ${status}`).and.to.not.contain('key-12345678');
    });

  it('waits longer after each attempt, and as long as the collector asks', async () => {
    const at: number[] = [];
    collector.reply = (res, count) => {
      at.push(performance.now());
      res.writeHead(count > 3 ? 200 : 503, count === 3 ? { 'retry-after': '5' } : {}).end();
    };
    add(recordOf('aaaaaa'));
    await untilSent(1);
    const [first = 0, second = 0, third = 0, fourth = 0] = at;
    expect(second - first).to.be.above(900);
    expect(third - second).to.be.above(1900);
    expect(fourth - third).to.be.above(4900);
  }).timeout(30_000);

  it('sends a batch again when the connection breaks', async () => {
    collector.reply = (res, count) => (count > 1 ? res.end() : res.destroy());
    add(recordOf('aaaaaa'));
    await untilSent(1);
    expect(exporter.counters().dropped).to.deep.equal({});
  });

  for (const status of [302, 413, 500])
    it(`drops and counts what is refused with ${status}`, async () => {
      start();
      collector.reply = (res) => res.writeHead(status, { location: '/elsewhere' }).end();
      add(recordOf('aaaaaa'));
      await until(() => exporter.counters().dropped[`status ${status}`] === 1, 'the count');
      expect(exporter.counters().sent).to.equal(0);
      expect(collector.received).to.have.length(2);
    });

  it('drops the oldest and counts them when the queue is full', async () => {
    const large = { route: FOUR_MEBIBYTES };
    add(...['aaaaaa', 'bbbbbb', 'cccccc', 'dddddd', 'eeeeee'].map((token) => recordOf(token, large)));
    const { pending, pendingBytes, maxBytes, dropped } = exporter.counters();
    expect({ pending, dropped }).to.deep.equal({ pending: 3, dropped: { 'queue full': 2 } });
    expect(pendingBytes).to.be.within(maxBytes / 2, maxBytes);
    await untilSent(3);
    expect(collector.spans().map((span) => attributeOf(span, 'hindsight.token'))).to.deep.equal([
      'cccccc',
      'dddddd',
      'eeeeee',
    ]);
  });

  it('limits the number of profiles in the queue', () => {
    collector.reply = () => undefined;
    for (let count = 0; count < 10_050; count++) exporter.add({ row: profileIndex(), text: '{}' });
    expect(exporter.counters()).to.deep.include({ given: 10_050, pending: 10_000, dropped: { 'queue full': 50 } }); // prettier-ignore
  });

  it('goes on after a profile that is larger than the queue', async () => {
    add(recordOf('aaaaaa', { route: FOUR_MEBIBYTES.repeat(4) }), recordOf('bbbbbb'));
    await untilSent(1);
    expect(exporter.counters().dropped).to.deep.equal({ 'queue full': 1 });
  });

  it('sends a profile that is recorded again only as far as it is new', async () => {
    const line = (message: string): object => ({ level: 'info', channel: 'console', message, atMs: 1 });
    const panels = (lines: object[]): object => ({ panels: { logs: { data: { lines } } } });
    add(recordOf('aaaaaa', panels([line('first')])));
    await untilSent(1);
    add(recordOf('aaaaaa', panels([line('first'), line('late')])));
    await untilSent(2);
    expect(collector.spans()).to.have.length(1);
    expect(collector.logRecords().map(({ body }) => body)).to.deep.equal([
      { stringValue: 'first' },
      { stringValue: 'late' },
    ]);
  });

  it('marks a request as failed by its status, or by what was thrown without one', async () => {
    const error = { name: 'TypeError', message: 'no price' };
    add(
      recordOf('aaaaaa', { status: 503 }),
      recordOf('bbbbbb', { status: 404, error }),
      recordOf('cccccc', { status: undefined, outcome: 'aborted' }),
      recordOf('dddddd', { status: undefined, outcome: 'aborted', error }),
    );
    await untilSent(4);
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
    add(
      recordOf('aaaaaa', { release: 'v1' }),
      recordOf('bbbbbb', { release: 'v1' }),
      recordOf('cccccc', { process: 'web.2', release: 'v2' }),
      recordOf('dddddd'),
    );
    await untilSent(4);
    const resources = collector.received[0]!.data.resourceSpans.map(({ resource, scopeSpans }) => [
      attributeOf(resource, 'service.instance.id'),
      attributeOf(resource, 'service.version'),
      scopeSpans[0]!.spans.length,
    ]);
    expect(resources).to.deep.equal([
      ['web.1', 'v1', 1],
      ['web.1', 'v1', 1],
      ['web.2', 'v2', 1],
      ['web.1', undefined, 1],
    ]);
  });

  it('leaves out what still runs and the profiler’s own pages, not what the end of the process cut off', async () => {
    add(
      recordOf('aaaaaa', { state: 'running', outcome: 'running' }),
      recordOf('bbbbbb', { kind: 'profiler' }),
      recordOf('cccccc', { kind: 'error_page' }),
      recordOf('dddddd', { state: 'running', outcome: 'cut off', durationMs: null }),
    );
    await untilSent(1);
    const [span, ...others] = collector.spans();
    expect(others).to.deep.equal([]);
    expect(attributeOf(span!, 'hindsight.token')).to.equal('dddddd');
    expect(span!.status).to.deep.equal({ code: 2, message: 'cut off' });
  });

  it('counts what it can’t read and goes on', async () => {
    add('{"token":', recordOf('bbbbbb', { startedAt: 'then' }), recordOf('aaaaaa'));
    await untilSent(1);
    expect(exporter.counters().dropped).to.deep.equal({ unreadable: 2 });
  });

  it('lets the event loop run while it converts many profiles', async () => {
    for (let count = 0; count < 200; count++) add(recordOf(`a${count}`, { url: `/${'x'.repeat(4000)}` }));
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    await untilSent(200);
    clearInterval(counting);
    expect(turns).to.be.above(1);
    expect(collector.received.filter(({ path }) => path === '/v1/traces')).to.have.length(1);
  });

  it('does not keep the process alive while it waits for more', async () => {
    const script = `
      import { createExporter } from './app/export/exporter.ts';
      const by = { resource: {}, scope: { name: 'x', version: '1' } };
      const unobserved = (work) => work();
      const options = { endpoint: '${collector.origin()}', headers: {}, isCompressed: false, by, unobserved };
      createExporter({ ...options, profileOf: JSON.parse, warn: console.error }).add({ row: {}, text: '${recordOf('aaaaaa')}' });
      console.log('added');`;
    const node = ['--import', 'tsx', '--input-type=module', '--eval', script];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, node);
    expect([stdout, stderr]).to.deep.equal(['added\n', '']);
    expect(collector.received).to.deep.equal([]);
  });

  it('counts what it can’t send before it is closed, and what comes later', async () => {
    collector.reply = () => undefined;
    add(recordOf('aaaaaa'));
    await until(() => collector.received.length === 1, 'the request');
    add(recordOf('bbbbbb'));
    await exporter.close(200);
    add(recordOf('cccccc'));
    expect(exporter.counters()).to.deep.include({ given: 3, pending: 0, dropped: { 'shut down': 3 } });
  });
});
