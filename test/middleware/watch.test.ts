import { expect } from 'chai';
import express from 'express';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createWatch, type Watch } from '../../app/middleware/watch.ts';
import { ContextTracker } from '../../app/profiler/record/context.ts';
import type { ResponseFact } from '../../app/profiler/record/facts.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { createRecorder } from '../../app/profiler/record/recorder.ts';
import { documentIn } from '../../app/profiler/record/summary.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { until } from '../support/waiting.ts';

/** The response fact as data. */
const echo: Panel<ResponseFact> = {
  name: 'echo',
  title: 'Echo',
  collect: (context) => {
    const fact = context.first('response');
    if (fact === undefined) return null;
    const { rawHeaders, preview } = fact;
    return { ...fact, rawHeaders, preview: preview.toString() as unknown as Buffer };
  },
};

describe('watch', () => {
  const tracker = new ContextTracker();
  const profiles: Profile[] = [];
  let watch: Watch;
  let readable: (token: string) => Profile | undefined;
  let server: Server;
  let base: string;
  const seen: Record<string, unknown[]> = {};
  const warnings: string[] = [];

  before((done) => {
    let token = 0;
    const recorder = createRecorder({
      panels: [echo],
      redactor: createRedactor(),
      nextToken: () => (++token).toString(16).padStart(6, '0'),
      write: (record) => profiles.push(recorder.conclude(documentIn(record), recorder)),
      process: 'test',
      warn: () => undefined,
    });
    readable = (name) => {
      const context = recorder.running(name);
      return context === undefined ? undefined : recorder.snapshot(context);
    };
    watch = createWatch({
      recorder,
      tracker,
      previewBytes: 100,
      sourceOf: () => ({
        origin: {
          scheme: 'http',
          host: 'a.example',
          port: 80,
          origin: 'http://a.example',
          clientAddress: '127.0.0.1',
          chain: [],
          trusted: false,
          hostError: null,
        },
        requestId: 'r',
        receivedRequestId: null,
      }),
      onFinish(_context, req) {
        if (req.url === '/observed/badly') throw new Error('an observer failed');
      },
      warn: (sentence) => warnings.push(sentence),
    });
    const app = express();
    app.use(watch);
    app.get('/text', (_req, res) => {
      res.send('hello');
    });
    app.head('/head', (_req, res) => {
      res.set('content-length', '5').end('hello');
    });
    app.get('/pieces', (_req, res) => {
      res.write('aé');
      res.write(Buffer.from('b'));
      res.write('00ff', 'hex');
      res.end('c', () => {
        seen.callback = [tracker.current()?.token];
      });
    });
    app.get('/nothing', (_req, res) => {
      res.status(204).end();
    });
    const behind = {
      'X-Debug-Token': 'ffffff',
      'X-Debug-Token-Link': 'http://b.example/_profiler/ffffff',
    };
    app.get('/proxied', (_req, res) => {
      res.writeHead(200, behind).end('proxied');
    });
    app.get('/proxied/set', (_req, res) => {
      for (const [name, value] of Object.entries(behind)) res.setHeader(name, value);
      res.end('proxied');
    });
    app.get('/without', (_req, res) => {
      res.removeHeader('x-debug-token');
      res.end('without');
    });
    app.post('/body', (req, res) => {
      const tokens: unknown[] = [];
      req.on('data', () => tokens.push(tracker.current()?.token));
      req.on('end', () => {
        tokens.push(tracker.current()?.token);
        setTimeout(() => {
          tokens.push(tracker.current()?.token);
          seen.body = tokens;
          res.on('finish', () => tokens.push(tracker.current()?.token));
          res.on('close', () => (seen.closed = [tokens.push(tracker.current()?.token)]));
          res.send('ok');
        }, 5);
      });
    });
    server = createServer(app).listen(0, '127.0.0.1', () => {
      base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      done();
    });
  });
  after((done) => {
    server.close(done);
    server.closeAllConnections();
  });

  async function profileOf(token: string | null): Promise<Profile> {
    const find = (): Profile | undefined => profiles.find((profile) => profile.token === token);
    await until(() => find() !== undefined, `there is the profile ${token}`);
    return find()!;
  }

  async function fetchProfile(
    path: string,
    init?: RequestInit,
  ): Promise<{ response: Response; fact: Record<string, unknown>; profile: Profile }> {
    const response = await fetch(`${base}${path}`, init);
    await response.arrayBuffer();
    const profile = await profileOf(response.headers.get('x-debug-token'));
    return { response, profile, fact: profile.panels.echo?.data as Record<string, unknown> };
  }

  it('counts a body written in pieces, in any encoding, and calls back', async () => {
    const { fact } = await fetchProfile('/pieces');
    expect(fact.bodyBytes).to.equal(7);
    expect(fact.preview).to.match(/^aéb/);
    expect(seen.callback).to.have.length(1);
  });

  it('responds and stores a profile if an observer throws', async () => {
    const { response } = await fetchProfile('/observed/badly');
    expect(response.status).to.equal(404);
    expect(warnings).to.deep.equal(['A request was not recorded in full: an observer failed.']);
  });

  it('counts no body where none is sent', async () => {
    expect((await fetchProfile('/nothing')).fact).to.include({ status: 204, bodyBytes: 0 });
    expect((await fetchProfile('/head', { method: 'HEAD' })).fact).to.include({ status: 200, bodyBytes: 0 });
    expect((await fetchProfile('/text', { method: 'HEAD' })).fact).to.include({ bodyBytes: 0 });
  });

  it('sends its own token, whatever a service behind it had sent', async () => {
    for (const path of ['/proxied', '/proxied/set']) {
      const { response, profile } = await fetchProfile(path);
      expect(response.headers.get('x-debug-token-link')).to.equal(
        `http://a.example/_profiler/${profile.token}`,
      );
    }
    expect((await fetch(`${base}/without`)).headers.get('x-debug-token')).to.equal(null);
  });

  it('keeps the context in body events, timers, finish and close', async () => {
    const { profile } = await fetchProfile('/body', { method: 'POST', body: 'x'.repeat(300_000) });
    await until(() => seen.closed !== undefined, 'the request is closed');
    const tokens = seen.body ?? [];
    expect(tokens.length).to.be.greaterThan(4);
    expect(new Set(tokens)).to.deep.equal(new Set([profile.token]));
  });

  it('counts the bytes of its own pages, and keeps none', async () => {
    const own = await fetchProfile('/_profiler/abc');
    expect(own.fact.bodyBytes).to.equal(Number(own.response.headers.get('content-length')));
    expect(own.fact).to.include({ preview: '', truncated: true });
  });

  it('keeps what the toolbar asks apart: never stored, the newest still readable', async () => {
    const ask = async (
      headers: Record<string, string>,
      path = '/_profiler/abc/calls.json',
    ): Promise<string> => {
      const response = await fetch(`${base}${path}`, { headers });
      await response.arrayBuffer();
      return response.headers.get('x-debug-token') ?? '';
    };
    const bar = { 'x-hindsight-toolbar': '1' };
    const first = await ask(bar);
    expect(readable(first)).to.include({ kind: 'profiler', state: 'final', status: 404 });
    const preflight = await ask({ 'access-control-request-headers': 'content-type, x-hindsight-toolbar' });
    for (let i = 0; i < 50; i++) await ask(bar);
    expect(readable(first)).to.equal(undefined);
    const page = await ask({});
    const outside = await ask(bar, '/text');
    expect((await profileOf(outside)).kind).to.equal('request');
    expect((await profileOf(page)).kind).to.equal('profiler');
    expect(profiles.map(({ token }) => token)).not.to.include.members([first, preflight]);
  });

  it('sees its own pages as such, also in absolute form', async () => {
    expect((await fetchProfile('/_profiler/abc?x=1')).profile.kind).to.equal('profiler');
    expect((await fetchProfile('/_profilers')).profile.kind).to.equal('request');
    const { port } = server.address() as AddressInfo;
    const token = await new Promise<string>((resolve) => {
      httpRequest({ port, path: 'http://a.example/_profiler/' }, (res) => {
        res.resume();
        resolve(String(res.headers['x-debug-token']));
      }).end();
    });
    expect((await profileOf(token)).kind).to.equal('profiler');
  });
});
