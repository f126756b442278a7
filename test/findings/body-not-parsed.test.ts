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
    app.post('/invalid', (_req, res) => res.sendStatus(422));
    app.post('/beacon', (_req, res) => res.sendStatus(204));
    app.use(express.json());
    app.post('/late', (req, res) => res.json({ got: (req.body as unknown) ?? null }));
  });

  it('reports a body that nothing read, and names its parser', async () => {
    const { of, body } = await ask('/early', json('{"qty":3}'));
    expect(body).to.equal('{"got":null}');
    const [finding] = of('body-not-parsed');
    expect(finding).to.include({
      label: 'unparsed body',
      severity: 'warn',
      sentence: 'Nothing read the request body (9 B, application/json); express.json() parses this type',
      anchor: 'unread',
    });
    expect(finding?.place).to.match(/^test\/findings\/body-not-parsed\.test\.ts:\d+$/);
  });

  it('reports a type that the mounted parser does not accept', async () => {
    const [finding] = (await ask('/late', json('qty=3', 'text/plain'))).of('body-not-parsed');
    expect(finding?.sentence).to.equal(
      'Nothing read the request body (5 B, text/plain); express.text() parses this type',
    );
  });

  it('reports a handler that refuses what it could not find there', async () => {
    expect((await ask('/invalid', json('{"qty":3}'))).of('body-not-parsed')).to.have.length(1);
  });

  it('ignores bodies that were parsed or read, empty ones, and refused requests', async () => {
    expect((await ask('/late', json('{"qty":3}'))).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/raw', json('{"qty":3}'))).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/early', { method: 'POST' })).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/early', json('{}'))).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/beacon', json('left', 'text/plain'))).of('body-not-parsed')).to.deep.equal([]);
    expect((await ask('/refused', json('{"qty":3}'))).of('body-not-parsed')).to.deep.equal([]);
  });
});
