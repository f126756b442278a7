/** Bodies of outgoing calls: their first bytes are recorded as they pass, and the application gets every one. */
import { expect } from 'chai';
import express from 'express';
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { HttpClientData } from '../../app/panels/http-client/data.ts';
import { close, listen } from '../support/listen.ts';
import { withQuietConsole } from '../support/quiet-console.ts';
import { withUpstream } from '../support/upstream.ts';
import { finalProfile } from '../support/final-profile.ts';

const LONG = 'x'.repeat(60_000);

const ANSWERS: Readonly<Record<string, readonly [type: string, body: string]>> = {
  '/json': ['application/json', '{"rate":1.5,"access_token":"s3cret-of-the-partner"}'],
  '/long': ['text/plain', LONG],
  '/image': ['image/png', 'PNG'],
};

interface Sent {
  path: string;
  method?: string;
  body?: string;
  type?: string;
}

describe('bodies of outgoing calls', () => {
  withQuietConsole();
  const received: string[] = [];
  const upstream = withUpstream((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      received.push(Buffer.concat(chunks).toString());
      const [type, body] = ANSWERS[req.url ?? ''] ?? ['text/plain; charset=utf-8', 'grüße'];
      res.setHeader('content-type', type);
      if (req.url === '/json' && req.headers['accept-encoding'] === 'gzip') {
        res.setHeader('content-encoding', 'gzip');
        res.end(gzipSync(body));
      } else {
        res.write(body.slice(0, 2));
        setTimeout(() => res.end(body.slice(2)), 5);
      }
    });
  });

  /** What the panel stores of the calls that `work` makes, and what `work` returns. */
  async function record<T>(
    work: () => Promise<T>,
  ): Promise<{ calls: HttpClientData['calls']; returned: T; text: string }> {
    let returned: T | undefined;
    const profiler: Profiler = createProfiler({ enabled: true, toolbar: false, warn: () => undefined });
    const app = express();
    app.use(profiler.watch);
    app.get('/', (_req, res, next) => {
      work().then((result) => {
        returned = result;
        res.send('done');
      }, next);
    });
    const { server, origin } = await listen(app);
    try {
      const profile = await finalProfile(profiler, await fetch(origin));
      const data = profile.panels.http_client?.data as HttpClientData;
      return { calls: data.calls, returned: returned as T, text: JSON.stringify(profile) };
    } finally {
      await close(server, profiler);
    }
  }

  const call = ({ path, method = 'GET', body, type }: Sent, gzip = false): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const headers = {
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(gzip ? { 'accept-encoding': 'gzip' } : {}),
      };
      const request = httpRequest(`${upstream()}${path}`, { method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks)));
      }).on('error', reject);
      if (body !== undefined) request.write(body.slice(0, 3));
      request.end(body?.slice(3));
    });

  it('are recorded of what was sent and received, masked, and reach both ends as they are', async () => {
    const body = '{"amount":3,"card_number":"4111111111111111","password":"hunter2"}';
    const { calls, returned, text } = await record(() =>
      call({ path: '/json', method: 'POST', body, type: 'application/json' }),
    );
    expect(returned.toString()).to.equal('{"rate":1.5,"access_token":"s3cret-of-the-partner"}');
    expect(received.at(-1)).to.equal(body);
    expect(calls[0]?.requestBody).to.include({ bytes: body.length, truncated: false });
    expect(calls[0]?.requestBody?.text).to.include('"amount":3');
    expect(calls[0]?.responseBody?.text).to.include('"rate":1.5');
    for (const secret of ['hunter2', 's3cret-of-the-partner', '4111111111111111'])
      expect(text).to.not.include(secret);
  });

  it('are empty where a length was announced and nothing written', async () => {
    const { calls } = await record(
      () =>
        new Promise<void>((resolve) => {
          const headers = { 'content-type': 'application/json', 'content-length': '12' };
          const call = httpRequest(upstream(), { method: 'POST', headers });
          call.on('error', () => undefined).on('close', resolve);
          call.on('finish', () => call.destroy());
          call.end();
        }),
    );
    expect(calls[0]?.requestBody).to.deep.equal({ bytes: 0, text: '', truncated: false });
  });

  it('are cut at the limit, unpacked, and whole in characters', async () => {
    const { calls, returned } = await record(async () => {
      const long = await call({ path: '/long' });
      await call({ path: '/json' }, true);
      await call({ path: '/words', method: 'POST', body: 'größe', type: 'text/plain' });
      return long.toString();
    });
    expect(returned).to.equal(LONG);
    const [long, packed, words] = calls;
    expect(long?.responseBody).to.deep.equal({ bytes: 60_000, text: 'x'.repeat(16_384), truncated: true });
    expect(packed?.responseBody?.text).to.include('"rate":1.5');
    expect(words?.requestBody?.text).to.equal('größe');
    expect(words?.responseBody?.text).to.equal('grüße');
  });

  it('are not recorded where they are no text, of no known type, or in production', async () => {
    const { calls } = await record(async () => {
      await call({ path: '/image', method: 'POST', body: 'PNG', type: 'image/png' });
      await call({ path: '/image', method: 'POST', body: '{"a":1}' });
    });
    for (const one of calls) expect(one).to.not.have.any.keys('requestBody', 'responseBody');
    const { NODE_ENV } = process.env;
    process.env.NODE_ENV = 'production';
    try {
      const { calls: inProduction } = await record(() => call({ path: '/json' }));
      expect(inProduction[0]).to.not.have.any.keys('requestBody', 'responseBody');
    } finally {
      if (NODE_ENV === undefined) delete process.env.NODE_ENV;
      else process.env.NODE_ENV = NODE_ENV;
    }
  });

  it('share a limit: a request with many calls keeps the first of them', async () => {
    const { calls } = await record(async () => {
      for (let index = 0; index < 25; index++) await call({ path: '/long' });
    });
    const kept = calls.map(({ responseBody }) => responseBody?.text?.length ?? 0);
    expect(kept[0]).to.equal(16_384);
    expect(kept.reduce((sum, length) => sum + length, 0)).to.equal(256 * 1024);
    expect(calls.at(-1)?.responseBody?.bytes).to.equal(60_000);
  });

  it('are recorded of fetch', async () => {
    const { calls } = await record(async () => {
      const body = JSON.stringify({ amount: 3 });
      const headers = { 'content-type': 'application/json' };
      await (await fetch(`${upstream()}/json`, { method: 'POST', body, headers })).json();
      await sleep(5);
    });
    const [one] = calls;
    expect(one?.requestBody?.text).to.equal('{"amount":3}');
    expect(one?.responseBody?.text).to.include('"rate":1.5');
  });
});
