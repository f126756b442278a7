/** The route of what a mounted middleware responds to, and applications that are told from routers. */
import { expect } from 'chai';
import express, { type Request, type Response } from 'express';
import { createProfiler } from '../../app/index.ts';
import { close, listen } from '../support/listen.ts';

interface Seen {
  route: string | null;
  source: string | null;
  labels: string[];
  sources: (string | null)[];
}

async function see(build: (app: express.Express) => void, path: string, method = 'GET'): Promise<Seen> {
  const profiler = createProfiler({ toolbar: false });
  const app = express();
  app.use(profiler.watch, profiler.pages);
  build(app);
  const { server, origin } = await listen(app);
  const response = await fetch(origin + path, { method });
  await response.text();
  const read = await profiler.profiles.read(response.headers.get('x-debug-token') ?? '');
  await close(server, profiler);
  const { route, panels } = read!.profile;
  const { data } = panels.routing as unknown as {
    data: { route: { source: string | null } | null; trace: { label: string; source: string | null }[] };
  };
  const { trace } = data;
  return {
    route,
    source: data.route?.source ?? null,
    labels: trace.map(({ label }) => label),
    sources: trace.map(({ source }) => source),
  };
}

function proxy(_req: Request, res: Response): void {
  setImmediate(() => res.end('upstream'));
}

describe('the route of a request that a mounted middleware answers', () => {
  it('is its mount, with its name', async () => {
    const build = (app: express.Express): void => {
      app.use('/api', proxy);
      app.use(express.static('public'));
    };
    const seen = await see(build, '/api/orders/7');
    expect(seen.route).to.equal('/api · proxy');
    expect(seen.source).to.match(/^test\/observe\/mounted-routes\.test\.ts:\d+$/);
    expect((await see(build, '/profiler/hindsight.css')).route).to.equal('/ · serveStatic');
  });

  it('has the line of a route whose router a middleware calls', async () => {
    const seen = await see((app) => {
      const tenant = express.Router();
      tenant.get('/orders/:id', (_req, res) => void res.end());
      app.use('/tenants', (req, res, next) => void tenant(req, res, next));
    }, '/tenants/orders/7');
    expect(seen.route).to.equal('/tenants/orders/:id');
    expect(seen.source).to.match(/^test\/observe\/mounted-routes\.test\.ts:\d+$/);
  });

  it('is none where nothing answers, nor where a middleware answers 404', async () => {
    expect((await see((app) => app.use(express.static('public')), '/none')).route).to.equal(null);
    const missing = (_req: Request, res: Response): void => void res.status(404).end();
    expect((await see((app) => app.use('/api', missing), '/api/x')).route).to.equal(null);
  });

  it('is that of the path whose parameter a callback responds to, with 404, too', async () => {
    const build = (app: express.Express): void => {
      app.param('id', (_req, res, next, id) => {
        if (id === 'old') res.status(410).end();
        else if (id === 'none') res.status(404).end();
        else next();
      });
      const things = express.Router();
      things.param('part', (_req, res) => void res.status(404).end());
      things.get('/parts/:part', (_req, res) => void res.end());
      app.use('/things', things);
      app.get('/orders/:id', (_req, res) => void res.end());
    };
    expect((await see(build, '/orders/old')).route).to.equal('/orders/:id');
    const { route, sources } = await see(build, '/orders/none');
    expect(route).to.equal('/orders/:id');
    for (const source of sources) expect(source).to.match(/^test\/observe\/mounted-routes\.test\.ts:\d+$/);
    expect(sources).to.have.length.above(0);
    expect((await see(build, '/orders/7')).route).to.equal('/orders/:id');
    expect((await see(build, '/things/parts/7')).route).to.equal('/things/parts/:part');
  });

  it('is none where Express lists the methods for OPTIONS, and that of a middleware that does', async () => {
    const build = (app: express.Express): void => {
      app.use(express.json());
      app.use('/api', (_req, res) => void res.status(204).set('allow', 'GET').end());
      app.get('/orders', (_req, res) => void res.end());
    };
    expect((await see(build, '/orders', 'OPTIONS')).route).to.equal(null);
    expect((await see(build, '/api/x', 'OPTIONS')).route).to.equal('/api');
  });

  it('stays the one that responded where a framework calls the next one, too', async () => {
    const build = (app: express.Express): void => {
      app.get('/orders/recent', (_req, res, next) => {
        res.end();
        next();
      });
      app.get('/orders/:id', () => undefined);
    };
    expect((await see(build, '/orders/recent')).route).to.equal('/orders/recent');
  });

  it('is not a route that called next() for all paths, or for a path that the mount names', async () => {
    const build = (app: express.Express): void => {
      app.all('/{*path}', (_req, res, next) => {
        res.locals.user = 'sam';
        next();
      });
      app.use(express.static('public'));
      app.get('/:page', (_req, _res, next) => next());
      app.use('/api', proxy);
      app.get('/orders/:id', (_req, _res, next) => next());
      app.use('/', (req, res, next) => (req.path === '/orders/7' ? proxy(req, res) : next()));
      app.get('/app/{*path}', (_req, res) => void res.end());
    };
    expect((await see(build, '/profiler/hindsight.css')).route).to.equal('/ · serveStatic');
    expect((await see(build, '/api')).route).to.equal('/api · proxy');
    // A middleware that sends what routes have loaded.
    expect((await see(build, '/orders/7')).route).to.equal('/orders/:id');
    expect((await see(build, '/app/start')).route).to.equal('/app/{*path}');
    expect((await see(build, '/orders/7/none')).route).to.equal(null);
  });

  for (const [name, make] of [
    ['an application', express],
    ['a router', express.Router],
  ] as const)
    it(`begins with the mount of a middleware that calls ${name} by itself`, async () => {
      const end = (_req: Request, res: Response): void => void res.end();
      const build = (app: express.Express): void => {
        const books = express.Router().get('/books/:id', end);
        const api = make().use(express.json()).use('/v1', books).get('/top', end);
        app.use('/api', function rest(req, res, next) {
          api(req, res, next);
        });
        app.get('/plain', end);
        app.get('/api/other', end);
      };
      const paths = { '/api/v1/books/7': '/api/v1/books/:id', '/api/top': '/api/top' };
      for (const [path, route] of Object.entries({
        ...paths,
        '/plain': '/plain',
        '/api/other': '/api/other',
      }))
        expect((await see(build, path)).route, path).to.equal(route);
    });

  it('names mounted applications as such', async () => {
    const { labels, route } = await see((app) => {
      app.use(
        '/admin',
        express().get('/users', (_req, res) => void res.end()),
      );
    }, '/admin/users');
    expect(labels).to.include.members(['application /admin', 'GET /admin/users']);
    expect(route).to.equal('/admin/users');
  });
});
