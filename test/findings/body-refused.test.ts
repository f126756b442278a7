import { expect } from 'chai';
import express, { type ErrorRequestHandler } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

const json = (body: string): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json' },
});

describe('finding body-refused', () => {
  const ask = withFindingsApp((app) => {
    app.use('/api', express.json(), ((error: Error, _req, _res, next) => {
      next(Object.assign(new Error('The body is malformed.'), error, { status: 400 }));
    }) satisfies ErrorRequestHandler);
    app.use(express.json({ limit: 1024 }));
    app.post('/', (_req, res) => res.sendStatus(204));
    app.post('/missing', (_req, res) => res.sendStatus(422));
  });

  it('names the parser, its limit and what was sent', async () => {
    const [finding] = (await ask('/', json(JSON.stringify('x'.repeat(2046))))).of('body-refused');
    expect(finding).to.include({
      label: 'body refused',
      sentence:
        'jsonParser refused the request body: it is larger than the limit of 1.0 KiB (2.0 KiB were sent)',
    });
    expect(finding?.place).to.match(/body-refused\.test\.ts:\d+$/);
  });

  it('says that a body could not be parsed', async () => {
    const [finding] = (await ask('/', json('{"a":'))).of('body-refused');
    expect(finding?.sentence).to.equal('jsonParser refused the request body: it could not be parsed');
  });

  it('is one finding if an error handler passes on an error of its own', async () => {
    const found = (await ask('/api', json('{"a":'))).of('body-refused');
    expect(found.map(({ sentence }) => sentence)).to.deep.equal([
      'jsonParser /api refused the request body: it could not be parsed',
    ]);
  });

  it('ignores bodies that a handler refuses', async () => {
    expect((await ask('/missing', json('{"a":1}'))).of('body-refused')).to.deep.equal([]);
  });
});
