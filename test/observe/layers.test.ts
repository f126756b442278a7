import { expect } from 'chai';
import express, { type NextFunction, type Request, type Response } from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import type { LayerFact } from '../../app/observe/layers/layer-fact.ts';
import { createLayerObserver } from '../../app/observe/layers/layers.ts';
import { endEarlyRegistrations, observeRegistrations } from '../../app/observe/layers/registrations.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { listen } from '../support/listen.ts';

/** Serves one request and returns its context; `build` adds what the application runs. */
async function traceOf(
  build: (app: express.Express) => void,
  path: string,
  isSummary = false,
): Promise<Context> {
  const tracker = new ContextTracker();
  const context = new Context({ token: 'abc123', kind: 'request', summary: isSummary ? 'limit' : null });
  const observer = createLayerObserver({ tracker });
  const app = express();
  app.use(function watch(req, _res, next) {
    tracker.open(req, context);
    observer.observeApplication(req.app);
    next();
  });
  build(app);
  const server = app.listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  } finally {
    server.close();
    observer.close();
  }
  return context;
}

function lines(context: Context): string[] {
  return context
    .all('layer')
    .map(({ depth, kind, name, pattern, outcome }) => `${depth} ${kind} ${name} ${pattern} ${outcome}`);
}

function find(context: Context, name: string): LayerFact {
  const fact = context.all('layer').find((layer) => layer.name === name);
  if (fact === undefined) throw new Error(`no layer ${name}`);
  return fact;
}

function first(_req: Request, _res: Response, next: NextFunction): void {
  next();
}
function answer(_req: Request, res: Response): void {
  res.end('ok');
}

describe('the trace of layers', () => {
  it('lists what ran, in order, with depth, pattern and outcome', async () => {
    const context = await traceOf((app) => {
      const orders = express.Router();
      orders.use(function inside(_req, _res, next) {
        next();
      });
      orders.get('/:id', first, answer);
      app.use(first);
      app.use('/api', function other(_req, _res, next) {
        next();
      });
      app.use('/shop/:shop', orders);
      app.get('/never', answer);
    }, '/shop/7/12?x=1');
    expect(lines(context)).to.deep.equal([
      '0 middleware first / next',
      '0 router router /shop/:shop running',
      '1 middleware inside /shop/:shop next',
      '1 handler first /shop/:shop/:id next',
      '1 handler answer /shop/:shop/:id running',
    ]);
    expect(context.all('route')).to.deep.equal([
      { pattern: '/shop/:shop/:id', method: 'GET', params: { id: '12' }, handler: 'answer', source: null },
    ]);
  });

  it('says which layer took names out of the body', async () => {
    const context = await traceOf((app) => {
      app.use(function parse(req, _res, next) {
        req.body = { name: 'a', company: 'b' };
        next();
      });
      app.use(first);
      app.use(function check(req, _res, next) {
        const { name } = req.body as { name: string };
        req.body = { name, added: 1 };
        next();
      });
      app.get('/', answer);
    }, '/');
    const removed = context.all('layer').map((layer) => [layer.name, layer.removed]);
    expect(removed.slice(-4)).to.deep.equal([
      ['parse', undefined],
      ['first', undefined],
      ['check', ['company']],
      ['answer', undefined],
    ]);
  });

  it('says what a layer put where later ones find it, and reads none of it', async () => {
    const context = await traceOf((app) => {
      app.use(first);
      app.use(function login(req, res, next) {
        Object.assign(req, { user: { id: 1 }, logOut: () => null, _since: 1, session: {}, length: 12 });
        Object.defineProperty(req, 'account', {
          enumerable: true,
          configurable: true,
          get: () => expect.fail('read'),
        });
        setImmediate(() => {
          Object.assign(res.locals, { valid: { page: 2 }, 'sshpass -p hunter2 ssh web': true });
          next();
        });
      });
      app.use(function clear(req, _res, next) {
        Reflect.deleteProperty(req, 'account');
        next();
      });
      app.get('/', answer);
    }, '/');
    const put = context.all('layer').map((layer) => [layer.name, layer.put]);
    expect(put.slice(-4)).to.deep.equal([
      ['first', undefined],
      ['login', ['req.user', 'req.account', 'res.locals.valid']],
      ['clear', undefined],
      ['answer', undefined],
    ]);
  });

  it('takes no longer for thousands of names on the response', async () => {
    const before = process.cpuUsage();
    await traceOf((app) => {
      for (let at = 0; at < 20; at++)
        app.use((_req, res, next) => {
          if (at === 0) for (let name = 0; name < 15_000; name++) res.locals[`text${name}`] = name;
          res.locals[`own${at}`] = at;
          next();
        });
      app.get('/', answer);
    }, '/');
    // Each layer's names compared with all earlier ones took 3 s.
    expect(process.cpuUsage(before).user / 1000).to.be.lessThan(1500);
  });

  it('goes back up when a router had no answer', async () => {
    const context = await traceOf((app) => {
      const empty = express.Router();
      empty.use(first);
      app.use('/a', empty);
      app.all('/a/*rest', answer);
    }, '/a/b');
    expect(lines(context)).to.deep.equal([
      '0 router router /a next',
      '1 middleware first /a next',
      '0 handler answer /a/*rest running',
    ]);
    expect(context.last('route')?.pattern).to.equal('/a/*rest');
    expect(context.last('route')?.method).to.equal('GET');
  });

  it('tells the synchronous part, the time to next and the time to settle apart', async () => {
    const context = await traceOf((app) => {
      app.use(function slow(_req, _res, next) {
        setTimeout(next, 40);
      });
      app.get('/', async function waits(_req, res) {
        await new Promise((resolve) => setTimeout(resolve, 40));
        res.end();
      });
    }, '/');
    const [slow, waits] = [find(context, 'slow'), find(context, 'waits')];
    expect(slow.nextMs).to.be.greaterThan(30);
    expect(slow.durationMs).to.be.lessThan(slow.nextMs!);
    expect(waits.durationMs).to.be.lessThan(waits.settledMs!);
    expect(waits.settledMs).to.be.greaterThan(30);
    expect(waits.nextMs).to.equal(null);
    expect(waits.startMs).to.be.greaterThan(slow.startMs + 30);
  });

  it('have the route and the error of a request of which only a summary is recorded, and nothing else', async () => {
    const build = (app: express.Express): void => {
      const router = express.Router();
      router.use(first);
      router.get('/:id', function broken() {
        throw new Error('no');
      });
      app.use('/shop', router);
      app.use(function caught(_error: unknown, _req: Request, res: Response, _next: NextFunction) {
        res.status(500).end();
      });
    };
    const full = await traceOf(build, '/shop/7');
    const summary = await traceOf(build, '/shop/7', true);
    expect(summary.last('route')).to.deep.equal(full.last('route'));
    expect(summary.last('route')?.pattern).to.equal('/shop/:id');
    expect(summary.all('layer')).to.deep.equal([]);
    expect(summary.all('error').map(({ error }) => (error as Error).message)).to.deep.equal(['no']);
  });

  it('know where a router is mounted that a request recorded in full went through', async () => {
    const tracker = new ContextTracker();
    const observer = createLayerObserver({ tracker });
    const [users, posts] = [express.Router(), express.Router()];
    const app = express();
    const routes: (string | undefined)[] = [];
    app.use(function watch(req, res, next) {
      const isSummary = req.headers['x-summary'] === '1';
      const context = new Context({ token: 'abc123', kind: 'request', summary: isSummary ? 'limit' : null });
      tracker.open(req, context);
      observer.observeApplication(req.app);
      res.on('finish', () => routes.push(context.last('route')?.pattern));
      next();
    });
    posts.get('/posts', answer);
    users.get('/one', answer);
    users.get('/two', answer);
    app.use('/users/:id', users, posts);
    app.use('/people/:id', posts);
    const { server, origin } = await listen(app);
    try {
      for (const path of ['/users/1/one', '/users/1/posts', '/people/1/posts'])
        await (await fetch(`${origin}${path}`)).text();
      for (const path of ['/users/2/two', '/people/2/posts'])
        await (await fetch(`${origin}${path}`, { headers: { 'x-summary': '1' } })).text();
    } finally {
      server.close();
      observer.close();
    }
    // The second router is mounted twice: its base is the path as sent.
    expect(routes.slice(3)).to.deep.equal(['/users/:id/two', '/people/2/posts']);
  });
});

describe('places of registration', () => {
  it('leave the prototype as it was', () => {
    const { prototype } = express.Router as unknown as { prototype: Record<string, unknown> };
    // A test file that imports the package's door watches until a profiler is created.
    endEarlyRegistrations();
    const { use, route } = prototype;
    const registrations = observeRegistrations({ findRegistration: createCallerFinder().registration });
    registrations.observe(express.Router);
    expect(prototype.use).not.to.equal(use);
    expect((prototype.use as { length: number }).length).to.equal((use as { length: number }).length);
    registrations.close();
    expect(prototype.use).to.equal(use);
    expect(prototype.route).to.equal(route);
  });
});
