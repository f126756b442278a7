import { expect } from 'chai';
import express from 'express';
import type { Express } from 'express';
import { createDryMatcher } from '../../app/middleware/dry-match.ts';
import type { DryMatcher } from '../../app/middleware/dry-match.ts';
import { createMountedApplications } from '../../app/observe/layers/mounted-applications.ts';

function fail(): never {
  throw new Error('a handler was called');
}

function named(): void {
  fail();
}

function compose(build: (app: Express) => void): DryMatcher {
  const app = express();
  const matcher = createDryMatcher(app, { applications: createMountedApplications() });
  build(app);
  return matcher;
}

function patternsOf(matcher: DryMatcher, path: string): string[] {
  return matcher.match(path).routes.map(({ methods, pattern }) => `${methods.join('|')} ${pattern}`);
}

describe('a dry match', () => {
  it('follows sub-applications mounted before and after it looks, and applications passed as routers', () => {
    const sub = express();
    sub.get('/early', fail);
    const matcher = compose((app) => {
      app.use('/sub', sub);
      app.use('/by-router', express.Router().use('/app', express().get('/x', fail)));
    });
    sub.get('/late', fail);
    sub.use('/deep', express().get('/z', fail));
    for (const path of ['/sub/early', '/sub/late', '/sub/deep/z', '/by-router/app/x']) {
      expect(patternsOf(matcher, path), path).to.deep.equal([`GET ${path}`]);
    }
  });

  it('takes a connect application for a middleware, and a list that only has the name of a stack', () => {
    const connect = Object.assign(() => undefined, {
      route: '/',
      stack: [
        { route: '', handle: fail },
        { route: '/sub', handle: fail },
      ],
    });
    const others = [
      null,
      'first',
      fail,
      { handle: fail, route: null },
      { handle: fail, route: { path: '/' } },
    ];
    const lists = others.map((item) => Object.assign(() => undefined, { stack: [item] }));
    const matcher = compose((app) => app.use(connect, ...lists).get('/page', fail));
    expect(matcher.routes().map(({ pattern }) => pattern)).to.deep.equal(['/page']);
    expect(matcher.consider('GET', '/sub').map(({ kind }) => kind)).to.not.include('router');
    expect(patternsOf(matcher, '/page')).to.deep.equal(['GET /page']);
  });

  it('ends in routers mounted on themselves', () => {
    const loop = express.Router();
    loop.use('/', loop);
    loop.use('/x', loop);
    loop.get('/a', fail);
    const matcher = compose((app) => app.use(loop));
    expect(matcher.match('/nowhere').routes).to.deep.equal([]);
    expect(matcher.match('/a').routes.length).to.be.greaterThan(0);
    expect(matcher.routes().length).to.be.greaterThan(0);
  });
});

describe('the list of routes', () => {
  it('names method, pattern with mounts, and handler', () => {
    const matcher = compose((app) => {
      app.get('/', named);
      app
        .route('/a')
        .get(fail, named)
        .post(() => undefined);
      app.use(['/v1', '/v2/'], express.Router().all('/b', named).get('/', named));
    });
    const lines = matcher
      .routes()
      .map(({ method, pattern, handler }) => `${method} ${pattern} ${handler ?? '-'}`);
    expect(lines).to.deep.equal([
      'GET / named',
      'GET /a named',
      'POST /a -',
      '* /v1/b named',
      '* /v2/b named',
      'GET /v1 named',
      'GET /v2 named',
    ]);
  });
});
