import { expect } from 'chai';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { withLeavingClient } from '../support/leaving-client.ts';
import { draftsOf } from '../support/find-by-rule.ts';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe('finding client-left', () => {
  const leave = withLeavingClient((app) => {
    app.get('/slow', () => {
      // The client leaves first.
    });
    app.get('/half', (_req, res) => {
      res.write('x'.repeat(2048));
    });
    app.get('/events', (_req, res) => {
      res.setHeader('Content-Type', 'text/event-stream');
      res.write('data: 1\n\n');
    });
    app.use('/stuck', function loadUser() {
      // Neither responds nor goes on.
    });
    app.get('/whole', (_req, res) => {
      res.setHeader('Content-Length', 7);
      // Its end comes later, as that of a file does.
      res.write('content');
    });
    app.get('/timeout', (req, res) => {
      req.socket.setTimeout(20);
      res.write('x');
    });
    app.get('/destroyed', (_req, res) => res.destroy());
    app.get('/done', (_req, res) => res.end('x'));
  });

  it('says when, and how much had been sent', async () => {
    const [before] = (await leave(get('/slow'))).of('client-left');
    expect(before?.sentence).to.match(
      /^The client disconnected after \S+ m?s, before the headers were sent: GET \/slow had not responded$/,
    );
    const [half] = (await leave(get('/half'))).of('client-left');
    expect(half?.sentence).to.match(
      /^The client disconnected after \S+ m?s, with 2\.0 KiB of the body sent$/,
    );
  });

  it('says that the client did not, if this process closed the connection', async () => {
    const [timeout] = (await leave(get('/timeout'), 'process')).of('client-left');
    expect(timeout?.label).to.equal('connection closed');
    expect(timeout?.sentence).to.match(
      /^This process closed the connection after \S+ m?s, with 1 B of the body sent$/,
    );
    const [destroyed] = (await leave(get('/destroyed'), 'process')).of('client-left');
    expect(destroyed?.sentence).to.match(
      /^This process closed the connection after \S+ m?s, before the headers/,
    );
  });

  it('is silent if all bytes that Content-Length announces were sent before the end', async () => {
    expect((await leave(get('/whole'))).of('client-left')).to.deep.equal([]);
  });

  it('names a middleware that did not go on', async () => {
    const [finding] = (await leave(get('/stuck'))).of('client-left');
    expect(finding?.sentence).to.match(/: loadUser had neither responded nor called next\(\) for \S+ m?s$/);
    expect(finding?.place).to.match(/client-left\.test\.ts:\d+$/);
    expect(finding?.fix, 'no call was running').to.contain('a free connection of an HTTP client');
  });

  it('names the call that had not ended', () => {
    const call = {
      method: 'GET',
      url: 'http://a.test/tax',
      status: null,
      startMs: 10,
      durationMs: null,
      headersMs: null,
      requestHeaders: [],
      caller: 'tax.ts:4',
    };
    const of = (changed: object, durationMs = 1010) => {
      const kept = { request: { headers: [] }, http_client: { calls: [{ ...call, ...changed }] } }; // prettier-ignore
      const head = { outcome: 'aborted', status: null, durationMs, error: null } as ProfileHead;
      return draftsOf('client-left', kept, head)[0];
    };
    expect(of({ status: 200, headersMs: 500 })?.sentence).to.contain(
      ': GET a.test/tax had returned 200, but its body was not read to the end for 500.0 ms',
    );
    const length = [{ name: 'Content-Length', value: '12' }];
    const unsent = { method: 'POST', requestHeaders: length, requestBody: { bytes: 0 } };
    expect(of(unsent)?.sentence).to.contain('for 1.00 s: 0 of 12 bytes of its body were written');
    expect(of({ ...unsent, requestBody: { bytes: 12 } })?.sentence).to.match(/for 1\.00 s$/);
    const heldBy = [
      { profile: 'a00001', what: 'GET /rates', place: 'rates.ts:2', connections: 2, ended: true },
    ];
    expect(of({ heldBy })?.sentence).to.contain(
      ': GET a.test/tax had waited 1.00 s for a free connection of its client, held by GET /rates (2 connections, rates.ts:2, not released after its response)',
    );
    expect(of({}, 400)?.severity, 'a search field that asks for something else').to.equal('info');
    expect(of({})).to.include({
      severity: 'warn',
      sentence:
        'The client disconnected after 1.01 s, before the headers were sent: GET a.test/tax had not responded for 1.00 s',
      place: 'tax.ts:4',
    });
  });

  it('ignores event streams and finished responses', async () => {
    for (const path of ['/events', '/done'])
      expect((await leave(get(path))).of('client-left'), path).to.deep.equal([]);
  });
});
