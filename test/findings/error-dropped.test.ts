import { expect } from 'chai';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

const fail: RequestHandler = () => {
  throw new TypeError('no price');
};
const onError: ErrorRequestHandler = function onError(_error, _req, _res, next) {
  next();
};

describe('finding error-dropped', () => {
  const ask = withFindingsApp((app) => {
    const answered = express.Router().get('/page', (_req, res) => res.status(500).send('sorry'));
    app.get('/sorry', (_req, res) => res.status(500).send('sorry'));
    app.get(['/lost', '/found', '/responded', '/passed'], fail);
    app.get('/denied', () => {
      throw Object.assign(new Error('log in'), { status: 401 });
    });
    app.use(['/lost', '/found', '/denied'], onError);
    app.use('/inner', express.Router().get('/', fail).use(onError));
    app.get('/chain', fail, onError as unknown as RequestHandler, (_req, res) => res.send('all is well'));
    app.use('/late', fail);
    app.use('/late', (async (_error, _req, _res, next) => {
      await new Promise((done) => setImmediate(done));
      next();
    }) as ErrorRequestHandler);
    app.use('/responded', ((_error, _req, res, next) => {
      res.status(500).send('sorry');
      next();
    }) as ErrorRequestHandler);
    app.use('/passed', ((error, _req, _res, next) => {
      next(error);
    }) as ErrorRequestHandler);
    app.use('/by-router', fail, ((_error, req, res, next) => {
      req.url = '/page';
      answered(req, res, next);
    }) as ErrorRequestHandler);
    app.use('/again', fail, ((_error, req, res) => {
      req.url = '/sorry';
      (app as unknown as RequestHandler)(req, res, () => undefined);
    }) as ErrorRequestHandler);
    app.get(['/found', '/denied'], (_req, res) => res.send('all is well'));
  });

  it('names the handler, the error and how the request ended', async () => {
    for (const path of ['/lost', '/inner']) {
      const { of } = await ask(path);
      expect(of('error-dropped'), path).to.have.length(1);
      expect(of('error-dropped')[0]).to.include({
        label: 'error dropped',
        severity: 'bad',
        sentence: `onError ${path} called next() without TypeError: no price: the request ended with 404`,
      });
      expect(of('error-dropped')[0]?.place).to.match(/error-dropped\.test\.ts:\d+$/);
    }
  });

  it('notices it where a later middleware responds, and where next() is called later', async () => {
    for (const path of ['/found', '/chain']) {
      const { status, of, findings } = await ask(path);
      expect(status).to.equal(200);
      expect(of('error-dropped')[0], path).to.include({ severity: 'warn', broke: 'unseen' });
      expect(findings, path).to.have.length(1);
    }
    expect((await ask('/late')).of('error-dropped')[0]?.sentence).to.equal(
      'An error handler called next() without TypeError: no price: the request ended with 404',
    );
  });

  it('says so beside the handler', async () => {
    const { profile } = await ask('/lost');
    const page = await ask.page(`/_profiler/${profile.token}.md?panel=exception`);
    expect(page).to.contain('called next() without the error');
  });

  it('ignores handlers that respond, also by a router, that pass the error on, or let a refused request go on', async () => {
    for (const path of ['/responded', '/passed', '/by-router', '/again', '/denied'])
      expect((await ask(path)).of('error-dropped'), path).to.deep.equal([]);
  });
});
