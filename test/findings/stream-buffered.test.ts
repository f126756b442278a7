import { expect } from 'chai';
import { createGzip, gzipSync } from 'node:zlib';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding stream-buffered', () => {
  const ask = withFindingsApp((app) => {
    app.get('/events', (_req, res) => {
      res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
      res.setHeader('Content-Encoding', 'gzip');
      const packed = createGzip();
      packed.pipe(res);
      packed.write('data: 1\n\n');
      setTimeout(() => packed.end(), 30);
    });
    app.get('/plain', (_req, res) => {
      res.setHeader('Content-Type', 'text/event-stream');
      res.end('data: 1\n\n');
    });
    app.get('/page', (_req, res) => {
      res.setHeader('Content-Encoding', 'gzip').end(gzipSync('x'));
    });
  });

  it('tells of an event stream that is compressed', async () => {
    const [finding] = (await ask('/events')).of('stream-buffered');
    expect(finding).to.include({ label: 'buffered stream', severity: 'warn', panel: 'request' });
    expect(finding?.sentence).to.match(
      /^The event stream is compressed: events may wait in its buffer; \d+ B went out so far$/,
    );
  });

  it('says nothing of one that is not, nor of a page that is', async () => {
    for (const path of ['/plain', '/page'])
      expect((await ask(path)).of('stream-buffered'), path).to.deep.equal([]);
  });
});
