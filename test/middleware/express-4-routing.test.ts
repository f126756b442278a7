/** What the profiler knows of the routers of Express 4, where nothing says what a host's copy is. */
import { expect } from 'chai';
import express from 'express';
import { createProfiler, type Json } from '../../app/index.ts';
import { pathOfRegexp } from '../../app/profiler/record/express-routers.ts';
import { close, listen } from '../support/listen.ts';
import { EXPRESS_VERSIONS, express4 } from '../support/express-versions.ts';

interface Row {
  label: string;
  source: string | null;
}

interface Routing {
  trace: Row[];
  nearest: { pattern: string }[];
  routes: { pattern: string; source: string | null }[];
}

interface Host {
  app: express.Express;
  /** The routing panel of a request. */
  ask(path: string): Promise<Routing>;
}

/** Mounts the profiler as the README does, without the option `Router`. */
async function withHost(
  make: typeof express,
  build: (app: express.Express) => void,
  use: (host: Host) => Promise<void>,
): Promise<void> {
  const profiler = createProfiler({ toolbar: false });
  // Its folder has another name here than in a host.
  profiler.observe('express', express4);
  const app = make();
  app.use(profiler.watch, profiler.pages);
  build(app);
  const { server, origin } = await listen(app);
  try {
    await use({
      app,
      async ask(path) {
        const response = await fetch(origin + path);
        await response.text();
        const token = response.headers.get('x-debug-token') ?? '';
        const read = await profiler.profiles.read(token);
        const panel = read?.profile?.panels.routing as { data: Json; error: string | null } | undefined;
        expect(panel?.error).to.equal(null);
        return panel?.data as unknown as Routing;
      },
    });
  } finally {
    await close(server, profiler);
  }
}

function answer(_req: express.Request, res: express.Response): void {
  res.end('ok');
}

const HERE = /^test\/middleware\/express-4-routing\.test\.ts:\d+$/;

for (const [name, make] of EXPRESS_VERSIONS)
  describe(`the routing of ${name}`, () => {
    it('lets a host add to its application after a 404', async () => {
      await withHost(
        make,
        () => undefined,
        async ({ app, ask }) => {
          await ask('/favicon.ico');
          app.use('/late', answer);
          expect((await ask('/late')).trace.at(-1)?.label).to.equal('answer /late');
        },
      );
    });

    it('names the nearest routes of a 404, also of mounted applications, and changes no layer', async () => {
      const inner = make();
      await withHost(
        make,
        (app) => {
          app.get('/things/:id', answer);
          app.use('/shop', inner.get('/orders/:id', answer));
        },
        async ({ ask }) => {
          // The application behind a mount is known once a request reached one of its layers.
          const { nearest } = await ask('/shop/order/1');
          expect(nearest[0]?.pattern).to.equal('/shop/orders/:id');
          expect((await ask('/thing/1')).nearest.map(({ pattern }) => pattern)).to.deep.equal([
            '/things/:id',
          ]);
          expect((await ask('/things/1')).trace.at(-1)?.label).to.equal('GET /things/:id');
        },
      );
    });

    it('names the one of several paths that matched', async () => {
      await withHost(
        make,
        (app) => app.get(['/-/:scope/:package', '/-/:package'], answer),
        async ({ ask }) => {
          expect((await ask('/-/a')).trace.at(-1)?.label).to.equal('GET /-/:package');
          expect((await ask('/-/a/b')).trace.at(-1)?.label).to.equal('GET /-/:scope/:package');
        },
      );
    });

    it('names the one of several mounts that matched', async () => {
      await withHost(
        make,
        (app) => app.use(['/old/:shop/books', '/books'], make.Router().get('/:id', answer)),
        async ({ ask }) => {
          expect((await ask('/books/7')).trace.at(-1)?.label).to.equal('GET /books/:id');
          expect((await ask('/old/a/books/7')).trace.at(-1)?.label).to.equal('GET /old/:shop/books/:id');
          expect((await ask('/book/7')).nearest.map(({ pattern }) => pattern)).to.include('/books/:id');
        },
      );
    });

    it('knows where each layer was registered, several copies in one process', async () => {
      await withHost(
        make,
        (app) => {
          app.get('/x', answer);
          app.use('/other', (make === express ? express4 : express)().get('/y', answer));
        },
        async ({ ask }) => {
          for (const path of ['/x', '/other/y', '/nothing', '/x', '/other/y']) {
            const { trace } = await ask(path);
            // What stands before the profiler itself is Express 4’s own.
            for (const { label, source } of trace.slice(-1)) expect(source, label).to.match(HERE);
          }
        },
      );
    });

    it('knows the path of a mount as Express 4.16 to 4.19 and as 4.20 and later compile it', () => {
      const keys = [{ name: 'user' }, { name: 'kind' }];
      for (const [path, sources] of Object.entries({
        '/:user/books/:kind?': [
          String.raw`^\/(?:([^\/]+?))\/books(?:\/([^\/]+?))?\/?(?=\/|$)`,
          String.raw`^(?:\/([^/]+?))\/books(?:\/([^/]+?))?\/?(?=\/|$)`,
        ],
        '/:user.:kind': [
          String.raw`^\/(?:([^\/]+?))(?:\.([^\/\.]+?))\/?(?=\/|$)`,
          String.raw`^(?:\/([^/]+?))(?:\.([^/\.]+?))\/?(?=\/|$)`,
        ],
      }))
        for (const source of sources) expect(pathOfRegexp(new RegExp(source, 'i'), keys)).to.equal(path);
    });
  });
