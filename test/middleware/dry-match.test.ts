import { expect } from 'chai';
import express from 'express';
import type { Express } from 'express';
import { answers, createDryMatcher } from '../../app/middleware/dry-match.ts';
import type { DryMatcher } from '../../app/middleware/dry-match.ts';
import { createMountedApplications } from '../../app/observe/mounted-applications.ts';

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
  it('finds every route of a path with its methods in order, and calls nothing', () => {
    const matcher = compose((app) => {
      app.use(fail);
      app.route('/a').post(fail).get(fail);
      app.get('/:any', fail);
      app.delete('/b', fail);
    });
    expect(patternsOf(matcher, '/a')).to.deep.equal(['POST|GET /a', 'GET /:any']);
    expect(patternsOf(matcher, '/none/x')).to.deep.equal([]);
  });

  it('follows nested routers, parameters in mounts, mount lists and regular expressions', () => {
    const matcher = compose((app) => {
      const inner = express
        .Router()
        .get('/list', fail)
        .put(/^\/n(\d)$/, fail);
      const outer = express.Router().use('/orders/:id', inner);
      app.use(['/v1', '/v2'], outer);
      app.use('/', express.Router().get('/root', fail));
    });
    expect(patternsOf(matcher, '/v1/orders/7/list')).to.deep.equal(['GET /v1/orders/:id/list']);
    expect(patternsOf(matcher, '/v2/orders/7/n5')).to.deep.equal(['PUT /v2/orders/:id/^\\/n(\\d)$/']);
    expect(patternsOf(matcher, '/V2/ORDERS/7/LIST')).to.deep.equal(['GET /v2/orders/:id/list']);
    expect(patternsOf(matcher, '/v2orders/7/list')).to.deep.equal([]);
    expect(patternsOf(matcher, '/root')).to.deep.equal(['GET /root']);
  });

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

  it('keeps apart a path from its other spelling in strict routers only', () => {
    const matcher = compose((app) => {
      app.use('/strict', express.Router({ strict: true }).get('/a/', fail));
      app.use('/loose', express.Router().get('/a/', fail));
    });
    expect(
      ['/strict/a', '/strict/a/', '/loose/a', '/loose/a/'].map((path) => patternsOf(matcher, path).length),
    ).to.deep.equal([0, 1, 1, 1]);
  });

  it('tells what could not be matched only where nothing else matches', () => {
    const matcher = compose((app) => {
      app.get('/p/:id', fail);
      app.post('/p/%zz', fail);
    });
    expect(matcher.match('/p/%zz')).to.deep.include({ fault: null });
    expect(matcher.match('/p/%zx').fault).to.be.instanceOf(URIError).with.property('status', 400);
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

  it('knows which methods a route answers', () => {
    const route = (...methods: string[]) => ({ methods, pattern: '/' });
    expect(answers(route('GET'), 'HEAD')).to.equal(true);
    expect(answers(route('HEAD'), 'GET')).to.equal(false);
    expect(answers(route('*'), 'PURGE')).to.equal(true);
    expect(answers(route('GET', 'POST'), 'OPTIONS')).to.equal(false);
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

describe('the automatic answer to OPTIONS', () => {
  it('is silenced while route lists stay as they were', () => {
    const router = express.Router();
    const route = router.route('/a').get(fail);
    const matcher = compose((app) => app.use(router));
    matcher.silenceOptions();
    matcher.silenceOptions();
    const { _methods: methods } = route as unknown as { _methods: (all?: boolean) => string[] };
    expect([methods(), methods(true)]).to.deep.equal([[], ['GET', 'HEAD']]);
    expect(patternsOf(matcher, '/a')).to.deep.equal(['GET /a']);
  });
});
