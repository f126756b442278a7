/** The HAR of a real request whose handler calls a service with fetch, against the required fields of HAR 1.2. */
import { expect } from 'chai';
import { once } from 'node:events';
import { get, type IncomingMessage, type Server } from 'node:http';
import express from 'express';
import { createProfiler } from '../../app/index.ts';
import { callTimings, type profileHar, timeOf } from '../../app/export/har.ts';
import { close, listen } from '../support/listen.ts';
import { withUpstream } from '../support/upstream.ts';
import { finalProfile } from '../support/final-profile.ts';

type Har = ReturnType<typeof profileHar>;
type Entry = Har['log']['entries'][number];

const SECRET = 'hunter2-9f8e7d6c5b4a';

/** Fields that HAR 1.2 requires (http://www.softwareishard.com/blog/har-12-spec/). */
const REQUIRED = {
  entry: ['startedDateTime', 'time', 'request', 'response', 'cache', 'timings'],
  request: ['method', 'url', 'httpVersion', 'cookies', 'headers', 'queryString', 'headersSize', 'bodySize'],
  response: ['status', 'statusText', 'httpVersion', 'cookies', 'headers', 'content', 'redirectURL', 'headersSize', 'bodySize'],
  content: ['size', 'mimeType'],
  timings: ['send', 'wait', 'receive'],
} as const; // prettier-ignore

function expectValid({ log }: Har): void {
  expect(log.version).to.equal('1.2');
  expect(log.creator.name).to.equal('express-hindsight');
  expect(log.creator.version).to.match(/^\d+\.\d+\.\d+/);
  for (const entry of log.entries) {
    const { request, response, timings, time } = entry;
    expect(entry).to.include.all.keys(REQUIRED.entry);
    expect(request).to.include.all.keys(REQUIRED.request);
    expect(response).to.include.all.keys(REQUIRED.response);
    expect(response.content).to.include.all.keys(REQUIRED.content);
    expect(timings).to.include.all.keys(REQUIRED.timings);
    expect(new Date(entry.startedDateTime).toISOString()).to.equal(entry.startedDateTime);
    expect(URL.canParse(request.url), request.url).to.equal(true);
    for (const ms of [timings.send, timings.wait, timings.receive, time]) expect(ms).to.be.at.least(0);
    expect(time).to.equal(timeOf(timings));
    for (const { name, value } of [...request.headers, ...response.headers, ...request.queryString])
      expect([typeof name, typeof value]).to.deep.equal(['string', 'string']);
  }
}

describe('a profile as HAR', () => {
  const upstream = withUpstream((req, res) => {
    if (req.url?.startsWith('/cut') === true) {
      res.destroy();
      return;
    }
    res.setHeader('content-type', 'application/json');
    setTimeout(() => res.end('{"rate":2}'), 5);
  });
  const profiler = createProfiler({ warn: () => undefined });
  let origin = '';
  let response: Response;
  let har: Har;
  let server: Server;

  before(async () => {
    const app = express();
    app.use(profiler.watch, profiler.pages, express.json({ limit: '1mb' }));
    app.post('/orders', async (_request, answer) => {
      const url = `${upstream()}/rates?api_key=${SECRET}&to=EUR`;
      const [rates] = (await once(
        get(url, { headers: { authorization: `Bearer ${SECRET}` } }),
        'response',
      )) as [IncomingMessage];
      await once(rates.resume(), 'end');
      await fetch(`${upstream()}/cut`).catch(() => undefined);
      answer.status(201).cookie('theme', 'dark').json({ id: 7, password: SECRET });
    });
    app.use(profiler.notFound, profiler.errors);
    ({ server, origin } = await listen(app));
    response = await harOf({ password: SECRET, amount: 3 });
    har = (await response.json()) as Har;
  });

  after(() => close(server, profiler));

  async function harOf(body: object): Promise<Response> {
    const sent = await fetch(`${origin}/orders?page=2&access_token=${SECRET}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': SECRET, cookie: 'sid=abc123' },
      body: JSON.stringify(body),
    });
    const { token } = await finalProfile(profiler, sent);
    return fetch(`${origin}/_profiler/${token}.har`);
  }

  it('is a JSON file for download that is not cached', () => {
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(response.headers.get('content-disposition')).to.match(
      /^attachment; filename="POST-orders-[0-9a-f]{6}\.har"$/,
    );
    expect(response.headers.get('cache-control')).to.equal('no-cache, private');
  });

  it('has the required fields of HAR 1.2', () => {
    expectValid(har);
    expect(har.log.entries).to.have.length(3);
  });

  it('begins with the request and its response', () => {
    const { request, response: sent, timings } = har.log.entries[0]!;
    expect(request.method).to.equal('POST');
    expect(request.url).to.match(new RegExp(`^${origin}/orders\\?page=2&`));
    expect(request.httpVersion).to.equal('HTTP/1.1');
    expect(request.queryString[0]).to.deep.equal({ name: 'page', value: '2' });
    expect(request.cookies).to.deep.equal([
      { name: 'sid', value: '', comment: 'Not recorded: 6 characters.' },
    ]);
    expect('postData' in request && request.postData?.text).to.contain('"amount":3');
    expect([sent.status, sent.statusText]).to.deep.equal([201, 'Created']);
    expect(sent.content).to.include({ mimeType: 'application/json; charset=utf-8', size: sent.bodySize });
    expect(sent.content).to.have.property('text').that.contains('"id":7');
    expect(timings).to.include({ blocked: -1, dns: -1, connect: -1, ssl: -1 });
    expect(timings.wait).to.be.above(0);
  });

  it('goes on with each outgoing call', () => {
    const [first, call, failed] = har.log.entries as [Entry, Entry, Entry];
    expect(call.request.url).to.match(new RegExp(`^${upstream()}/rates\\?`));
    expect(call.request.queryString).to.deep.include({ name: 'to', value: 'EUR' });
    expect(call.response).to.include({ status: 200, bodySize: 10 });
    expect(call.response.content).to.deep.equal({
      size: 10,
      mimeType: 'application/json',
      text: '{"rate":2}',
    });
    // On a busy machine, this process may learn of the response before it learns that the request was sent.
    expect(call.timings.wait).to.be.at.least(0);
    expect(call.time).to.be.above(0);
    expect(call.startedDateTime >= first.startedDateTime).to.equal(true);
    expect(failed.response.status).to.equal(0);
    expect(failed.response).to.have.property('comment').that.is.a('string');
  });

  it('marks a truncated body', async () => {
    const long = (await (await harOf({ text: 'x '.repeat(200_000) })).json()) as Har;
    expectValid(long);
    const { request } = long.log.entries[0]!;
    expect('postData' in request && request.postData)
      .to.have.property('comment')
      .that.contains('Truncated');
  });

  it('splits a call as far as its parts are known, with TLS as part of connecting', () => {
    const connection = { lookupMs: 2.1, connectMs: 11.4, tlsMs: 18.9 };
    const known = callTimings({ connection, sentMs: 40, headersMs: 100, durationMs: 110.2 });
    expect(known).to.include({ blocked: 7.6, dns: 2.1, connect: 30.3, ssl: 18.9, send: 0, wait: 60, receive: 10.2 }); // prettier-ignore
    expect(timeOf(known)).to.equal(110.2);
    const reused = callTimings({ connection: null, headersMs: null, durationMs: 5 });
    expect(reused).to.include({ blocked: -1, dns: -1, connect: -1, ssl: -1, wait: 5, receive: 0 });
    const sum = callTimings({ connection: { lookupMs: null, connectMs: null, tlsMs: null, allMs: 20 }, headersMs: 60, durationMs: 70 }); // prettier-ignore
    expect(sum).to.include({ connect: 20, ssl: -1, wait: 40, receive: 10 });
  });

  it('of an unknown token is the 404 page, as for JSON', async () => {
    const [asHar, asJson] = await Promise.all(
      ['har', 'json'].map((ending) => fetch(`${origin}/_profiler/abcdef.${ending}`)),
    );
    expect(asHar!.status).to.equal(404);
    expect(asHar!.headers.get('content-type'))
      .to.equal(asJson!.headers.get('content-type'))
      .and.to.contain('text/html');
    expect(asHar!.headers.get('content-disposition')).to.equal(null);
    expect(await asHar!.text()).to.contain('No profile with token abcdef');
  });

  it('is linked on the page of the profile', async () => {
    const path = new URL(response.url).pathname;
    const html = await (await fetch(`${origin}${path.replace('.har', '')}`)).text();
    expect(html).to.contain(`href="${path}"`);
  });
});
