/** W3C Trace Context: what is taken from `traceparent`, and what is passed on to outgoing calls. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { get, type IncomingHttpHeaders } from 'node:http';
import express from 'express';
import { createProfiler, type ProfilerOptions } from '../../app/index.ts';
import type { LogsData, OtlpSpan, TracesData } from '../../app/export/otlp-profile.ts';
import { parseTraceparent, type TraceContext } from '../../app/profiler/record/trace-context.ts';
import { close, listen } from '../support/listen.ts';
import { withUpstream } from '../support/upstream.ts';
import { finalProfile } from '../support/final-profile.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const GIVEN = `00-${TRACE}-${PARENT}-01`;
/** node:http announces a call before its headers are sent. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const ANNOUNCES = major > 22 || (major === 22 && minor >= 12);

describe('a traceparent', () => {
  it('is taken if it is valid, with its sampled flag', () => {
    expect(parseTraceparent(GIVEN)).to.deep.equal({ traceId: TRACE, parentId: PARENT, sampled: true });
    expect(parseTraceparent(`00-${TRACE}-${PARENT}-00`)?.sampled).to.equal(false);
    expect(parseTraceparent(`00-${TRACE}-${PARENT}-03`)?.sampled).to.equal(true);
  });

  it('may be of a later version, with further fields', () => {
    expect(parseTraceparent(`cc-${TRACE}-${PARENT}-01-what-the-future-adds`)?.traceId).to.equal(TRACE);
  });

  for (const text of [
    '',
    'x',
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}`,
    `${GIVEN}, ${GIVEN}`,
    `cc-${TRACE}-${PARENT}-01.more`,
  ])
    it(`is ignored: ${JSON.stringify(text)}`, () => {
      expect(parseTraceparent(text)).to.equal(null);
    });
});

describe('the trace of a request', () => {
  let heard: IncomingHttpHeaders[] = [];
  const upstream = withUpstream((req, res) => {
    heard.push(req.headers);
    res.end('{}');
  });
  beforeEach(() => (heard = []));

  function callByHttp(url: string): Promise<void> {
    return new Promise((resolve, reject) => {
      get(url, (response) => response.resume().once('end', resolve)).once('error', reject);
    });
  }

  /** Sends one request to a host that calls the upstream service, and gives its profile and its export. */
  async function run(
    options: ProfilerOptions,
    headers: [string, string][],
    work: () => Promise<unknown>,
  ): Promise<{ shown: string; spans: OtlpSpan[]; flags: number[]; trace: TraceContext | undefined }> {
    const profiler = createProfiler({ warn: () => undefined, ...options });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/', async (_request, response) => {
      await work();
      response.send('ok');
    });
    const { server, origin } = await listen(app);
    try {
      const profile = await finalProfile(profiler, await fetch(origin, { headers }));
      const { token } = profile;
      const otlp = await fetch(`${origin}/_profiler/${token}.otlp.json`);
      const { resourceSpans } = (await otlp.json()) as TracesData & LogsData;
      const spans = resourceSpans[0]!.scopeSpans[0]!.spans;
      const page = load(await (await fetch(`${origin}/_profiler/${token}?panel=request`)).text());
      return {
        shown: page('#trace').text(),
        spans,
        flags: spans.map(({ flags }) => flags),
        trace: profile.trace,
      };
    } finally {
      await close(server, profiler);
    }
  }

  const callByFetch = async (): Promise<unknown> => (await fetch(`${upstream()}/a`)).text();
  const toAll: ProfilerOptions = { traceHosts: ['127.0.0.1'] };

  it('is that of its caller: same trace id, the caller’s span as parent', async () => {
    const { shown, spans, flags, trace } = await run({}, [['traceparent', GIVEN]], callByFetch);
    expect(spans.map(({ traceId }) => traceId)).to.deep.equal([TRACE, TRACE]);
    expect(spans[0]!.parentSpanId).to.equal(PARENT);
    expect(spans[1]!.parentSpanId).to.equal(spans[0]!.spanId);
    expect(flags).to.deep.equal([0x301, 0x101]);
    expect(shown).to.equal(`Trace${TRACE} of its caller, whose span is ${PARENT}`);
    expect(trace).to.deep.equal({ traceId: TRACE, parentId: PARENT, sampled: true });
  });

  it('keeps that the caller does not sample it', async () => {
    const { flags } = await run({}, [['traceparent', `00-${TRACE}-${PARENT}-00`]], callByFetch);
    expect(flags).to.deep.equal([0x300, 0x100]);
  });

  it('is its own if the header is invalid or absent', async () => {
    for (const headers of [[], [['traceparent', `00-${TRACE}-${PARENT}-01-x`]]] as [string, string][][]) {
      const { shown, spans, trace } = await run({}, headers, callByFetch);
      expect(spans[0]!.traceId)
        .to.match(/^[0-9a-f]{32}$/)
        .and.to.not.equal(TRACE);
      expect(spans[0]).to.not.have.property('parentSpanId');
      expect(trace).to.equal(undefined);
      expect(shown).to.equal('');
    }
  });

  it('is passed on to nobody by default: outgoing calls are as the application makes them', async () => {
    await run({}, [['traceparent', GIVEN]], async () => {
      await callByFetch();
      await callByHttp(upstream());
    });
    expect(heard.map(({ traceparent }) => traceparent)).to.deep.equal([undefined, undefined]);
  });

  it('is passed on by fetch to the hosts of the settings, with the span of the call', async () => {
    const headers: [string, string][] = [
      ['traceparent', `00-${TRACE}-${PARENT}-00`],
      ['tracestate', 'vendor=1'],
    ];
    const { spans } = await run(toAll, headers, callByFetch);
    expect(heard[0]!.traceparent).to.equal(`00-${TRACE}-${spans[1]!.spanId}-00`);
    expect(heard[0]!.tracestate).to.equal('vendor=1');
    expect(spans[1]!.spanId).to.not.equal(PARENT);
    expect(spans[0]!.traceState).to.equal('vendor=1');
  });

  it('begins with the request’s first call if nobody sent one', async () => {
    const { shown, spans } = await run({ traceHosts: ['*'] }, [], async () => {
      await callByFetch();
      await callByFetch();
    });
    const [root, ...calls] = spans;
    expect(heard.map(({ traceparent }) => traceparent)).to.deep.equal(
      calls.map(({ spanId }) => `00-${root!.traceId}-${spanId}-01`),
    );
    expect(root).to.not.have.property('parentSpanId');
    expect(shown).to.equal(`Trace${root!.traceId} started by this request’s first outgoing call`);
  });

  it('is not passed on to other hosts', async () => {
    await run({ traceHosts: ['.example.com', '27.0.0.1'] }, [['traceparent', GIVEN]], callByFetch);
    expect(heard[0]!.traceparent).to.equal(undefined);
  });

  it('leaves a traceparent of the application alone', async () => {
    const own = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await run(toAll, [['traceparent', GIVEN]], async () =>
      (await fetch(upstream(), { headers: { TraceParent: own } })).text(),
    );
    expect(heard[0]!.traceparent).to.equal(own);
  });

  it('has a span of its own for a call that forwards the caller’s header', async () => {
    const { spans } = await run({}, [['traceparent', GIVEN]], async () =>
      (await fetch(upstream(), { headers: { traceparent: GIVEN } })).text(),
    );
    expect(spans[1]!.parentSpanId).to.equal(spans[0]!.spanId);
    expect(spans.map(({ spanId }) => spanId)).to.not.include(PARENT);
  });

  it('is passed on by node:http, where that announces its calls in time', async () => {
    const { spans } = await run(toAll, [['traceparent', GIVEN]], () => callByHttp(upstream()));
    expect(heard[0]!.traceparent).to.equal(ANNOUNCES ? `00-${TRACE}-${spans[1]!.spanId}-01` : undefined);
  });
});
