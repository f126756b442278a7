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
    app.get('/flushed', (_req, res) => {
      res.setHeader('Content-Type', 'text/event-stream');
      res.setHeader('Content-Encoding', 'gzip');
      const packed = createGzip();
      packed.pipe(res);
      const send = (id: number): void => {
        packed.write(`data: ${id}\n\n`);
        packed.flush(() => {
          if (id === 3) packed.end();
          else send(id + 1);
        });
      };
      send(1);
    });
    app.get('/plain', (_req, res) => {
      res.setHeader('Content-Type', 'text/event-stream');
      res.end('data: 1\n\n');
    });
    app.get('/none', (_req, res) => {
      res.setHeader('Content-Type', 'text/event-stream');
      res.setHeader('Content-Encoding', 'none');
      res.end('data: 1\n\n'.repeat(10));
    });
    app.get('/page', (_req, res) => {
      res.setHeader('Content-Encoding', 'gzip').end(gzipSync('x'));
    });
  });

  it('reports a compressed event stream', async () => {
    const { of, profile } = await ask('/events');
    const [finding] = of('stream-buffered');
    expect(finding).to.include({ label: 'buffered stream', severity: 'warn', panel: 'request' });
    expect(finding?.sentence).to.match(
      /^The event stream is compressed, so events may wait in a buffer; \d+ B were sent so far$/,
    );
    const markdown = await ask.page(`/_profiler/${profile.token}.md`);
    expect(markdown).to.contain('```http\nCache-Control: no-cache, no-transform\n```');
  });

  it('ignores a flushed stream, an uncompressed one, and a compressed page', async () => {
    for (const path of ['/flushed', '/plain', '/none', '/page'])
      expect((await ask(path)).of('stream-buffered'), path).to.deep.equal([]);
    expect((await ask('/none')).of('wrong-length')).to.deep.equal([]);
  });
});
