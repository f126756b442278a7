import { expect } from 'chai';
import type { Response } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

function addTotal(res: Response): void {
  res.set('x-total', '1');
}

describe('finding answered-twice', () => {
  const ask = withFindingsApp((app) => {
    app.get('/twice', function showOrder(_req, res) {
      res.json({ one: 1 });
      res.json({ two: 2 });
    });
    app.get('/after', function endTwice(_req, res) {
      res.on('error', () => undefined);
      res.end('one');
      res.end('two');
    });
    app.get('/written', function writeMore(_req, res) {
      res.on('error', () => undefined);
      res.set('content-length', '3').end('one');
      res.write('two');
    });
    app.get('/late', async function showOrder(_req, res) {
      res.json({ one: 1 });
      await new Promise((done) => setTimeout(done, 30));
      res.json({ two: 2 });
    });
    app.use('/framework', (_req, res) => {
      res.end('one');
      try {
        addTotal(res);
      } catch {
        // As a framework does that logs it only.
      }
    });
    app.get('/once', (_req, res) => {
      res.json({ one: 1 });
      if (!res.headersSent) res.json({ two: 2 });
      res.end();
    });
    app.get('/parts', (_req, res) => {
      res.write('one');
      res.write('two');
      res.end('three');
    });
  });

  it('names what set a header after the headers were sent', async () => {
    const { of, findings, body } = await ask('/twice');
    expect(body).to.equal('{"one":1}');
    expect(findings.map(({ rule }) => rule)).to.deep.equal(['answered-twice']);
    const [finding] = of('answered-twice');
    expect(finding).to.include({ label: 'answered twice', severity: 'bad', anchor: 'late-1' });
    expect(finding?.sentence).to.match(/^showOrder set Content-Type \d\S* m?s after the headers were sent$/);
    expect(finding?.place).to.match(/^test\/findings\/answered-twice\.test\.ts:\d+$/);
  });

  it('has the line that did so where the error is swallowed', async () => {
    const [finding] = (await ask('/framework')).of('answered-twice');
    expect(finding?.place).to.equal('test/findings/answered-twice.test.ts:6');
  });

  it('names what passed a body to end() twice', async () => {
    const [finding] = (await ask('/after')).of('answered-twice');
    expect(finding?.sentence).to.match(/^endTwice passed a body to end\(\) after the response had ended$/);
  });

  it('names what wrote after the end, whose bytes are not sent', async () => {
    const { findings, body } = await ask('/written');
    expect(body).to.equal('one');
    expect(findings.map(({ sentence }) => sentence)).to.deep.equal([
      'writeMore passed a body to write() after the response had ended',
    ]);
  });

  it('names what did so after the response had ended, by its error, which is no finding of its own', async () => {
    const { findings } = await ask.later('/late', 'answered-twice');
    const [finding] = findings;
    expect(finding?.sentence).to.equal('GET /late showOrder set headers after the headers were sent');
    expect(finding?.place).to.match(/answered-twice\.test\.ts:\d+$/);
    expect(findings.map(({ rule }) => rule)).not.to.include('error-thrown');
  });

  it('ignores end() without a body and a response written in parts', async () => {
    for (const path of ['/once', '/parts'])
      expect((await ask(path)).of('answered-twice'), path).to.deep.equal([]);
  });
});
