import { expect } from 'chai';
import express from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

const json = (text: string, type = 'application/json'): RequestInit => ({
  method: 'POST',
  body: text,
  headers: { 'content-type': type },
});

describe('finding body-not-parsed', () => {
  const ask = withFindingsApp((app) => {
    app.post('/early', function addOrder(req, res) {
      res.json({ got: (req.body as unknown) ?? null });
    });
    app.post('/refused', (_req, res) => res.sendStatus(401));
    app.post('/raw', (req, res) => {
      req.on('end', () => res.send('x')).resume();
    });
    app.use(express.json());
    app.post('/late', (req, res) => res.json({ got: (req.body as unknown) ?? null }));
  });

  it('tells that nobody read what came, and who would have', async () => {
    const { of, body } = await ask('/early', json('{"qty":3}'));
    expect(body).to.equal('{"got":null}');
    const [finding] = of('body-not-parsed');
    expect(finding).to.include({
      label: 'unread body',
      severity: 'warn',
      sentence: 'Nobody read the 9 B that came as application/json: express.json() would',
      anchor: 'unread',
    });
    expect(finding?.place).to.match(/^test\/findings\/body-not-parsed\.test\.ts:\d+$/);
  });

  it('tells it of a type that the parser there does not take', async () => {
    const [finding] = (await ask('/late', json('qty=3', 'text/plain'))).of('body-not-parsed');
    expect(finding?.sentence).to.equal('Nobody read the 5 B that came as text/plain: express.text() would');
  });

  it('says nothing of a body that was parsed or read, of none, nor where the request was refused', async () => {
    expect((await ask('/late', json('{"qty":3}'))).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/raw', json('{"qty":3}'))).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/early', { method: 'POST' })).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/early', json('{}'))).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/refused', json('{"qty":3}'))).of('body-not-parsed')).to.deep.equal([]);
  });
});
