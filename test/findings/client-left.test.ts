import { expect } from 'chai';
import { withLeavingClient } from '../support/leaving-client.ts';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe('finding client-left', () => {
  const leave = withLeavingClient((app) => {
    app.get('/slow', (_req, res) => {
      setTimeout(() => res.end('x'), 400);
    });
    app.get('/half', (_req, res) => {
      res.write('x'.repeat(2048));
      setTimeout(() => res.end('x'), 400);
    });
    app.get('/events', (_req, res) => {
      res.setHeader('Content-Type', 'text/event-stream');
      res.write('data: 1\n\n');
    });
    app.get('/done', (_req, res) => res.end('x'));
  });

  it('says when, and how much had been sent', async () => {
    const [before] = (await leave(get('/slow'))).of('client-left');
    expect(before?.sentence).to.match(
      /^The client disconnected after \S+ m?s, before the headers were sent$/,
    );
    const [half] = (await leave(get('/half'))).of('client-left');
    expect(half?.sentence).to.match(
      /^The client disconnected after \S+ m?s, with 2\.0 KiB of the body sent$/,
    );
  });

  it('ignores event streams and finished responses', async () => {
    for (const path of ['/events', '/done'])
      expect((await leave(get(path))).of('client-left'), path).to.deep.equal([]);
  });
});
