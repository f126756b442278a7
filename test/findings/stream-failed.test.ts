import { createReadStream } from 'node:fs';
import { pipeline, Readable, Transform } from 'node:stream';
import { expect } from 'chai';
import { type BuildApp, withFindingsApp } from '../support/findings-app.ts';
import { withLeavingClient } from '../support/leaving-client.ts';

interface Row {
  id: number;
  meta: { name: string } | null;
}

describe('finding stream-failed', () => {
  const rows = (broken: number | null): Readable =>
    Readable.from(
      Array.from({ length: 40 }, (_, id): Row => ({ id, meta: id === broken ? null : { name: 'a' } })),
    );
  const lines = (): Transform =>
    new Transform({
      writableObjectMode: true,
      transform({ id, meta }: Row, _encoding, done) {
        try {
          done(null, `${id},${meta!.name}\n`);
        } catch (error) {
          done(error as Error);
        }
      },
    });
  const build: BuildApp = (app) => {
    app.get('/csv/:broken', (req, res) => {
      const broken = Number(req.params.broken);
      const csv = lines();
      csv.on('error', () => res.end());
      rows(broken < 0 ? null : broken)
        .pipe(csv)
        .pipe(res.type('text/csv'));
    });
    app.get('/absent', (_req, res) => {
      createReadStream('/absent')
        .on('error', () => res.end())
        .pipe(res);
    });
    app.get('/told', (_req, res) => {
      createReadStream('/absent')
        .on('error', () => res.sendStatus(404))
        .pipe(res);
    });
    app.get('/broken-off', (_req, res) => {
      pipeline(rows(25), lines(), res, (error) => {
        console.error('export failed:', error?.message);
      });
    });
    app.get('/broken-later', (_req, res, next) => {
      res.write('x');
      next(new Error('too late'));
    });
    app.get('/destroyed', (_req, res) => {
      res.destroy(new Error('no longer wanted'));
    });
    app.get('/destroyed-request', (req) => {
      req.destroy(new Error('not for you'));
    });
    app.get('/file', (_req, res) => {
      res.sendFile(`${process.cwd()}/package.json`);
    });
  };
  const ask = withFindingsApp(build);
  const leave = withLeavingClient(build);

  it('names the error, where it was thrown, and how much was sent', async () => {
    const { of, findings, body } = await ask('/csv/25');
    expect(body.split('\n')).to.have.length(26);
    const [finding] = of('stream-failed');
    expect(finding?.sentence).to.match(
      /^A stream that was piped into the response failed \(TypeError: Cannot read properties of null \(reading 'name'\)\), and the response ended with 200 after 115 B/,
    );
    expect(finding?.place).to.match(/^test\/findings\/stream-failed\.test\.ts:\d+$/);
    expect(findings.filter(({ panel }) => panel === 'exception')).to.have.length(1);
    const [absent] = (await ask('/absent')).of('stream-failed');
    expect(absent?.sentence).to.contain('ENOENT').and.contain('ended with 200 after 0 B');
  });

  it('ignores streams that end, and failures that the response shows', async () => {
    for (const path of ['/csv/-1', '/told', '/file'])
      expect((await ask(path)).of('stream-failed'), path).to.deep.equal([]);
  });

  it('names the error with which the response was destroyed', async () => {
    const { findings, of } = await leave('GET /broken-off HTTP/1.1\r\nHost: a\r\n\r\n', 'process');
    expect(of('stream-failed')[0]).to.include({ broke: 'response', severity: 'bad' });
    expect(of('stream-failed')[0]?.sentence).to.match(
      /^The response broke off after \d+ B: it was destroyed with TypeError: Cannot read properties of null/,
    );
    expect(of('stream-failed')[0]?.place).to.match(/^test\/findings\/stream-failed\.test\.ts:\d+$/);
    expect(findings).to.have.length(1);
    const refused = await leave('GET /destroyed-request HTTP/1.1\r\nHost: a\r\n\r\n', 'process');
    expect(refused.of('stream-failed')[0]?.sentence).to.contain('destroyed with Error: not for you');
    const destroyed = await leave('GET /destroyed HTTP/1.1\r\nHost: a\r\n\r\n', 'process');
    expect(destroyed.of('stream-failed')[0]?.sentence).to.equal(
      'The response broke off before its headers were sent: it was destroyed with Error: no longer wanted',
    );
    const late = await leave('GET /broken-later HTTP/1.1\r\nHost: a\r\n\r\n', 'process');
    expect(late.findings.map(({ label }) => label)).to.deep.equal(['late error']);
  });
});
