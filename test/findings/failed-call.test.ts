import { expect } from 'chai';
import { once } from 'node:events';
import { get } from 'node:http';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BuildApp, withFindingsApp } from '../support/findings-app.ts';
import { inLibrary } from '../support/in-library.ts';
import { withLeavingClient } from '../support/leaving-client.ts';
import { withUpstream } from '../support/upstream.ts';

const superagent = createRequire(import.meta.resolve('supertest'))('superagent') as {
  get(url: string): Promise<unknown>;
};

describe('finding failed-call', () => {
  let tries = 0;
  const upstream = withUpstream((req, res) => {
    if (req.url === '/never') return;
    if (req.url === '/reset') {
      res.destroy();
      return;
    }
    if (req.url === '/half') {
      res.setHeader('content-length', 100);
      res.write('half', () => res.destroy());
      return;
    }
    res.statusCode = req.url === '/flaky' ? (tries++ === 0 ? 503 : 200) : Number(req.url?.slice(1));
    res.end('{}');
  });
  const build: BuildApp = (app) => {
    const call = async (path: string): Promise<number> => {
      const answer = await fetch(`${upstream()}/${path}`);
      await answer.text();
      return answer.status;
    };
    app.get('/swallow/:path', async (req, res) => {
      await call(req.params.path).catch(() => 0);
      res.send('fine');
    });
    app.get('/best-effort/:path', async (req, res) => {
      const counted = call(req.params.path).then((status) => {
        if (status >= 400) console.error(`not counted: ${status}`);
      });
      if (req.query.awaited !== undefined) await counted;
      res.send('fine');
    });
    app.get('/late/:path', (req, res) => {
      void call(req.params.path);
      res.send('fine');
    });
    app.get('/part/:path', async (req, res) => {
      await call(req.params.path);
      res.status(206).json([]);
    });
    app.get('/fallback/:path', async (req, res) => {
      await call(req.params.path);
      res.json({ weather: null, stale: req.query.fresh === undefined });
    });
    app.get('/pass/:path', async (req, res) => {
      res.status(502).json(await call(req.params.path));
    });
    app.get('/passed-on/:path', async (req, res) => {
      const status = await call(req.params.path);
      res.json({ user: status === 404 ? { error: 'no such user' } : { error: null } });
    });
    app.get('/cancelled', async (_req, res) => {
      const leaves = new AbortController();
      const answer = await fetch(`${upstream()}/200`, { signal: leaves.signal });
      leaves.abort();
      await answer.text().catch(() => '');
      res.send('fine');
    });
    const ways: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
      fetch: (signal) => fetch(`${upstream()}/never`, { signal }),
      http: (signal) => once(get(`${upstream()}/never`, { signal }), 'response'),
    };
    const aborts: Record<string, (leaves: AbortController) => void> = {
      code: (leaves) => setImmediate(() => leaves.abort()),
      timer: (leaves) => setTimeout(() => leaves.abort(), 20),
    };
    app.get('/aborted/:way/:by', async ({ params }, res) => {
      const leaves = new AbortController();
      aborts[params.by]?.(leaves);
      const signal = params.by === 'timeout' ? AbortSignal.timeout(20) : leaves.signal;
      await ways[params.way]?.(signal).catch(() => undefined);
      res.send('fine');
    });
    class AxiosError extends Error {
      readonly status = 503;
    }
    class HTTPError extends Error {
      override readonly cause = {};
    }
    const made: Record<string, () => unknown> = {
      superagent: () => superagent.get(`${upstream()}/503`),
      axios: async () => {
        await call('503');
        throw new AxiosError('Request failed with status code 503');
      },
      got: async () => {
        await call('503');
        throw new HTTPError('Request failed with status code 503 (Service Unavailable): GET /503');
      },
      other: async () => {
        await call('503');
        throw new HTTPError('Request failed with status code 404: GET /404');
      },
    };
    app.get('/made/:by', async ({ params }, res) => void res.json(await made[params.by]?.()));
    app.get('/again', async (_req, res) => {
      tries = 0;
      await call('flaky');
      res.json(await call('flaky'));
    });
    // As express-http-proxy does, whose own code makes the call.
    app.use(
      '/proxy',
      inLibrary(`(req, _res, next) => {
        setTimeout(() => fetch(req.headers['x-to']).catch(next));
      }`),
    );
    app.get('/piped', async (_req, res) => {
      const { body } = await fetch(`${upstream()}/half`);
      await pipeline(Readable.fromWeb(body!), res).catch(() => undefined);
    });
  };
  const ask = withFindingsApp(build);
  const leave = withLeavingClient(build);

  it('says that the response hides it', async () => {
    const [answered] = (await ask('/swallow/503')).of('failed-call');
    expect(answered).to.include({ label: 'failure ignored', panel: 'http_client', anchor: 'c1' });
    expect(answered?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/503 returned 503, but this request still answered 200$/,
    );
    expect((await ask('/swallow/429')).of('failed-call')[0]?.sentence).to.match(
      /\/429 returned 429, but this/,
    );
    const [reset] = (await ask('/swallow/reset')).of('failed-call');
    expect(reset?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/reset failed \(\S.*\), but this request still answered 200$/,
    );
  });

  it('says what broke off a response that the call was piped into', async () => {
    const { findings } = await leave('GET /piped HTTP/1.1\r\nHost: a\r\n\r\n', 'process');
    expect(findings.map(({ rule }) => rule)).to.deep.equal(['failed-call']);
    expect(findings[0]).to.include({ label: 'call failed', broke: 'response' });
    expect(findings[0]?.sentence).to.match(/^GET 127\.0\.0\.1:\d+\/half failed \(\S.*\)$/);
  });

  it('is the one finding of an error that a client made of the response', async () => {
    for (const by of ['superagent', 'axios', 'got']) {
      const { findings } = await ask(`/made/${by}`);
      expect(
        findings.map(({ rule, severity }) => `${rule} ${severity}`),
        by,
      ).to.deep.equal(['failed-call bad']);
    }
    const { findings } = await ask('/made/other');
    expect(findings.map(({ rule }) => rule)).to.have.members(['error-thrown', 'failed-call']);
  });

  it('is a note if the log has it, or if it came after the response, and none if both', async () => {
    expect((await ask('/best-effort/503?awaited')).of('failed-call')[0]).to.include({ severity: 'info' });
    expect((await ask('/swallow/503')).of('failed-call')[0]).to.include({ severity: 'warn' });
    const [late] = (await ask.later('/late/503', 'failed-call')).of('failed-call');
    expect(late?.severity).to.equal('info');
    expect(late?.sentence).to.match(/\/503 returned 503 after the response was sent$/);
    const logged = await ask.later('/best-effort/503', 'logged-error');
    expect(logged.of('failed-call')).to.deep.equal([]);
  });

  it('ignores a fallback that says so', async () => {
    expect((await ask('/fallback/503')).of('failed-call')).to.deep.equal([]);
    expect((await ask('/part/503')).of('failed-call')).to.deep.equal([]);
    expect((await ask('/fallback/503?fresh')).of('failed-call')).to.have.length(1);
  });

  it('names a 4xx whose error was sent with a 200', async () => {
    expect((await ask('/passed-on/404')).of('failed-call')[0]?.sentence).to.match(
      /\/404 returned 404, and the response is a 200 with an error as user\.error$/,
    );
    expect((await ask('/passed-on/200')).of('failed-call')).to.deep.equal([]);
  });

  it('names the call behind a 502', async () => {
    const [finding] = (await ask('/pass/500')).of('failed-call');
    expect(finding).to.include({ label: 'call failed' });
    expect(finding?.sentence).to.match(/^GET 127\.0\.0\.1:\d+\/500 returned 500$/);
  });

  it('names the line that mounts a proxy, whose call is made in a library', async () => {
    const [finding] = (await ask('/proxy', { headers: { 'x-to': `${upstream()}/reset` } })).of('failed-call');
    expect(finding?.place).to.match(/^test\/findings\/failed-call\.test\.ts:\d+$/);
  });

  it('is the only finding about the error of a call that was thrown again', async () => {
    const { findings } = await ask('/proxy', { headers: { 'x-to': `${upstream()}/reset` } });
    expect(findings.map(({ rule, severity }) => `${rule} ${severity}`)).to.deep.equal(['failed-call bad']);
  });

  it('ignores a 404 and a failure that a retry repaired', async () => {
    for (const path of ['/swallow/404', '/again']) expect((await ask(path)).of('failed-call'), path).to.deep.equal([]); // prettier-ignore
  });

  for (const way of ['fetch', 'http'])
    it(`ignores a call that was given up, but not a timeout, by ${way}`, async () => {
      expect((await ask(`/aborted/${way}/code`)).of('failed-call')).to.deep.equal([]);
      const sentence = async (by: string) =>
        (await ask(`/aborted/${way}/${by}`)).of('failed-call')[0]?.sentence;
      expect(await sentence('timer')).to.match(/failed \(AbortError: .* was aborted, by a timer\), but this/);
      expect(await sentence('timeout')).to.match(/failed \(TimeoutError: .* due to timeout\), but this/);
    });

  it('ignores a response whose body was not wanted', async () => {
    expect((await ask('/cancelled')).of('failed-call')).to.deep.equal([]);
  });
});
