import { expect } from 'chai';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createProfiler } from '../../app/index.ts';
import { finalProfile } from '../support/final-profile.ts';
import { inLibrary } from '../support/in-library.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { steadyIn } from '../support/steady-findings.ts';

describe('finding next-after-response', () => {
  let application: Express;
  const ask = withFindingsApp((app) => {
    application = app;
    app.use('/closed', function guard(_req, res, next) {
      res.status(403).json({ error: 'closed' });
      next();
    });
    app.use('/open', (_req, res, next) => {
      res.set('x-checked', 'yes');
      next();
    });
    app.use('/late', async function guard(_req, res, next) {
      res.status(403).json({ error: 'closed' });
      await new Promise((done) => setTimeout(done, 30));
      next();
    });
    app.use(['/written', '/broken'], function serialize(_req, res, next) {
      res.type('text').write('all');
      next();
    });
    app.use('/written', (_req, res) => res.end());
    app.use('/broken', (_req, res) => {
      try {
        res.set('x-checked', 'yes');
      } finally {
        res.end();
      }
    });
    app.use('/piped', function serialize(_req, res, next) {
      res.type('text').once('close', next).end('all');
    });
    app.use('/piped', (req, res) => {
      res.end();
      req.app.emit('ended');
    });
    app.use('/framework', inLibrary('(req, res, next) => { res.json({}); next(); }'));
    app.use('/framework', (_req, _res, next) => {
      next();
    });
    inLibrary('(app) => app.get("/last", (req, res, next) => { res.json({}); next(); })')(app as never, undefined as never, undefined as never); // prettier-ignore
    app.get('/answered', (_req, res, next) => {
      next(new Error('the first answer'));
      res.json({});
    });
    app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
      res.status(500).json({ message: error.message });
    });
    app.use('/refused', (_req, res) => res.sendStatus(403));
    app.get(['/closed', '/open', '/refused'], (_req, res) => {
      if (!res.headersSent) res.send('x');
    });
  });

  it('names the middleware, and how many ran after it', async () => {
    const [finding] = (await ask('/closed')).of('next-after-response');
    expect(finding).to.include({
      label: 'next after response',
      sentence: 'guard responded and called next(): 1 more function ran after the headers were sent',
    });
    // Where it calls `next()`.
    expect(finding?.place).to.equal('test/findings/next-after-response.test.ts:17');
  });

  it('leaves a library alone that responds and always calls next()', async () => {
    for (const path of ['/framework', '/last']) {
      const { findings } = await ask(path);
      expect(findings.map(({ rule }) => rule)).to.deep.equal([]);
    }
  });

  it('notices it after the end of the response', async () => {
    const { of } = await ask.later('/late', 'next-after-response');
    expect(of('next-after-response')[0]?.sentence).to.equal(
      'guard responded and called next() after the response had ended',
    );
  });

  it('lets another middleware end the response, unless that one fails', async () => {
    expect((await ask('/written')).of('next-after-response')).to.deep.equal([]);
    const { of } = await ask.later('/broken', 'next-after-response');
    expect(of('next-after-response')[0]?.sentence).to.equal(
      'serialize responded and called next(): 1 more function ran after the headers were sent',
    );
  });

  it('ignores a middleware for what is left to do after the end', async () => {
    const ended = new Promise((done) => application.once('ended', done));
    const { profile } = await ask('/piped');
    await ended;
    await ask('/refused');
    const page = await ask.page(`/_profiler/${profile.token}.md`);
    expect(page).to.contain('/piped').and.not.contain('responded and called next()');
  });

  it('ignores an error handler that Express calls again for a second response', async () => {
    const { of } = await ask('/answered');
    expect(of('answered-twice')).to.have.length(1);
    expect(of('next-after-response')).to.deep.equal([]);
  });

  it('ignores middleware that only does one of the two', async () => {
    for (const path of ['/open', '/refused'])
      expect((await ask(path)).of('next-after-response'), path).to.deep.equal([]);
  });

  it('ignores an error that is passed on after the end, which Express prints', async () => {
    const attached = express().set('env', 'test');
    const profiler = createProfiler({ warn: () => undefined });
    profiler.attach(attached);
    const passed = new Promise((done) => {
      attached.use((_req, res, next) => {
        res.status(404).json({});
        res.once('close', () =>
          setImmediate(() => {
            next(new Error('not found'));
            // Express leaves its router one turn later.
            setImmediate(done);
          }),
        );
      });
    });
    const server = attached.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await passed;
      const findings = steadyIn(await finalProfile(profiler, response));
      expect(findings.map(({ rule }) => rule)).to.deep.equal([]);
    } finally {
      server.close();
      await profiler.close();
    }
  });
});
