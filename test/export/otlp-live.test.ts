/** A host that exports what it records: from its request to the collector. */
import { expect } from 'chai';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { ProfilerOptions } from '../../app/index.ts';
import type { Health } from '../../app/profiler/health.ts';
import { close, listen } from '../support/listen.ts';
import { attributeOf, withCollector } from '../support/otlp-collector.ts';
import { withQuietConsole } from '../support/quiet-console.ts';
import { until } from '../support/waiting.ts';
import { finalProfile } from '../support/final-profile.ts';

const SECRET = 'hunter2-9f8e7d6c5b4a';
const API_KEY = 'Bearer 0123456789abcdef';

interface Host {
  origin: string;
  profiler: Profiler;
}

async function withHost(options: ProfilerOptions, use: (host: Host) => Promise<void>): Promise<void> {
  const profiler = createProfiler({ warn: () => undefined, ...options });
  const app = express();
  app.use(profiler.watch, profiler.pages);
  app.get('/orders/:id', async (request, response) => {
    await profiler.span('price the order', () => Promise.resolve());
    console.error('no stock', { password: SECRET });
    response.status(Number(request.query.status ?? 200)).send(API_KEY.slice(7));
  });
  const { server } = await listen(app);
  try {
    await use({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, profiler });
  } finally {
    await close(server, profiler);
  }
}

async function tokenOf(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, { headers });
  await response.text();
  return response.headers.get('x-debug-token') ?? '';
}

describe('a host that exports to OpenTelemetry', () => {
  withQuietConsole();
  const collector = withCollector();

  function options(): ProfilerOptions {
    return {
      otlp: true,
      otlpEndpoint: `${collector.origin()}/`,
      otlpHeaders: `authorization=${encodeURIComponent(API_KEY)}`,
      serviceName: 'shop',
    };
  }

  /** As the page of health says. */
  async function sentBy(origin: string): Promise<number> {
    const health = (await (await fetch(`${origin}/_profiler/health.json`)).json()) as {
      exported: { sent: number } | null;
    };
    return health.exported?.sent ?? 0;
  }

  it('sends what it records, masked, as the page has it', () =>
    withHost(options(), async ({ origin }) => {
      const token = await tokenOf(`${origin}/orders/7?access_token=${SECRET}`);
      await tokenOf(`${origin}/_profiler/`);
      await until(async () => (await sentBy(origin)) === 1, 'the profile to be sent');
      const [root, ...inner] = collector.spans();
      expect(root!.name).to.equal('GET /orders/:id');
      expect(attributeOf(root!, 'hindsight.token')).to.equal(token);
      expect(attributeOf(root!, 'hindsight.findings')).to.deep.equal({
        values: [{ stringValue: 'logged error' }],
      });
      expect(inner.map(({ name, parentSpanId }) => [name, parentSpanId])).to.deep.equal([
        ['price the order', root!.spanId],
      ]);
      expect(collector.logRecords().map(({ severityText, spanId }) => [severityText, spanId])).to.deep.equal([
        ['ERROR', root!.spanId],
      ]);
      expect(collector.received[0]!.headers.authorization).to.equal(API_KEY);
      const page = await fetch(`${origin}/_profiler/${token}.otlp.json`);
      const { resourceSpans } = (await page.json()) as (typeof collector.received)[0]['data'];
      expect(resourceSpans).to.deep.equal(collector.received[0]!.data.resourceSpans);
      for (const { content } of collector.received) {
        expect(content.includes(SECRET)).to.equal(false);
        expect(content.includes('[masked ')).to.equal(true);
      }
      expect(await (await fetch(`${origin}/_profiler/${token}.json`)).text()).to.not.contain(
        API_KEY.slice(7),
      );
      expect(await (await fetch(`${origin}/_profiler/health`)).text()).to.contain('Export to OpenTelemetry');
      expect(await (await fetch(`${origin}/_profiler/health.md`)).text()).to.contain('1 sent');
    }));

  it('does not record its own calls, nor passes a trace on with them', async () => {
    await withHost({ ...options(), traceHosts: ['*'] }, async ({ origin, profiler }) => {
      const tokens: string[] = [];
      for (let asked = 0; asked < 3; asked++) tokens.push(await tokenOf(`${origin}/orders/${asked}`));
      await until(async () => (await sentBy(origin)) === 3, 'the profiles to be sent');
      for (const token of tokens) {
        const profile = await finalProfile(profiler, token);
        expect(profile.panels.http_client?.data ?? null).to.equal(null);
      }
    });
    for (const { headers } of collector.received) expect(headers).to.not.have.property('traceparent');
  });

  it('says so, and sends JSON, where another protocol is set', async () => {
    const said: string[] = [];
    const warn = (sentence: string): void => void said.push(sentence);
    await withHost({ ...options(), otlpProtocol: 'grpc', warn }, async ({ origin }) => {
      await tokenOf(`${origin}/orders/7`);
      await until(async () => (await sentBy(origin)) === 1, 'the profile to be sent');
    });
    expect(said).to.include('OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"; profiles are sent as http/json.');
    expect(collector.received[0]!.headers['content-type']).to.equal('application/json');
  });

  it('counts each profile once: sent, left out, dropped or waiting', () =>
    withHost(options(), async ({ origin }) => {
      const health = async (): Promise<Health> =>
        (await (await fetch(`${origin}/_profiler/health.json`)).json()) as Health;
      collector.reply = (res) => void res.writeHead(400).end();
      for (let asked = 0; asked < 5; asked++) await tokenOf(`${origin}/orders/7`);
      await until(async () => (await health()).exported?.dropped['status 400'] === 5, 'five are refused');
      collector.reply = (res) => void res.end();
      for (let asked = 0; asked < 7; asked++) await tokenOf(`${origin}/orders/7`);
      await tokenOf(`${origin}/_profiler/`);
      await until(async () => {
        const { exported, application } = await health();
        if (exported === null) return false;
        const { given, sent, leftOut, dropped, pending } = exported;
        expect(given).to.equal(sent + leftOut + pending + (dropped['status 400'] ?? 0));
        return application.stored === 12 && sent === 7 && leftOut > 0;
      }, 'the others are sent');
    }));

  it('sends what waits when the profiler is closed', async () => {
    let last = '';
    await withHost(options(), async ({ origin }) => {
      await tokenOf(`${origin}/orders/7`);
      await until(async () => (await sentBy(origin)) === 1, 'the first one to be sent');
      last = await tokenOf(`${origin}/orders/8`);
    });
    expect(collector.spans().map((span) => attributeOf(span, 'hindsight.token'))).to.contain(last);
  });

  it('sends nothing unless it is asked to, whatever is set for another exporter', async () => {
    await withHost({ ...options(), otlp: false, otlpProtocol: 'grpc' }, async ({ origin, profiler }) => {
      const token = await tokenOf(`${origin}/orders/7`);
      await finalProfile(profiler, token);
      const health = (await (await fetch(`${origin}/_profiler/health.json`)).json()) as { exported: unknown };
      expect(health.exported).to.equal(null);
    });
    expect(collector.received).to.deep.equal([]);
  });
});
