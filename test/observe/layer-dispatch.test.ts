/** What the profiler does to routers, seen from the host: nothing it can tell, on Express 4 and 5. */
import { tracingChannel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { LayerFact } from '../../app/observe/layers/layer-fact.ts';
import { createLayerObserver } from '../../app/observe/layers/layers.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { EXPRESS_VERSIONS, express4 } from '../support/express-versions.ts';
import { unhandledDuring } from '../support/unhandled.ts';

interface Layer {
  handle: unknown;
  name: string;
}

interface Router {
  stack: Layer[];
  params: Record<string, unknown[]>;
}

function routerOf(app: express.Express): Router {
  const { _router: ofFour } = app as { _router?: Router };
  return ofFour ?? (app.router as unknown as Router);
}

function stackOf(app: express.Express): Layer[] {
  return routerOf(app).stack;
}

interface Traced {
  context: Context;
  text: string;
}

/** Asks, mostly once; `observers`: how many profilers watch. */
async function trace(
  make: typeof express,
  build: (app: express.Express) => void,
  { path = '/', observers = 1, times = 1 } = {},
): Promise<Traced> {
  const tracker = new ContextTracker();
  const context = new Context({ token: 'abc123', kind: 'request' });
  const watching = Array.from({ length: observers }, () => createLayerObserver({ tracker }));
  const app = make();
  app.use(function watch(req, _res, next) {
    tracker.open(req, context);
    for (const observer of watching) observer.observeApplication(req.app);
    next();
  });
  build(app);
  const server = app.listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
    const texts: string[] = [];
    for (let time = 0; time < times; time++) texts.push(await (await fetch(url)).text());
    return { context, text: texts.join(' ') };
  } finally {
    server.close();
    for (const observer of watching.reverse()) observer.close();
  }
}

const lines = ({ context }: Traced): string[] =>
  context
    .all('layer')
    .map(({ depth, kind, name, pattern, outcome }) => `${depth} ${kind} ${name} ${pattern} ${outcome}`);

const threw = ({ context }: Traced): string[] =>
  context
    .all('layer')
    .filter(({ outcome }) => outcome === 'threw')
    .map(({ name }) => name);

function go(_req: Request, _res: Response, next: NextFunction): void {
  next();
}
function answer(_req: Request, res: Response): void {
  res.end('ok');
}
function caught(error: Error, _req: Request, res: Response, _next: NextFunction): void {
  res.end(`caught ${error.message}`);
}

for (const [name, make] of EXPRESS_VERSIONS) {
  describe(`the layers of ${name}`, () => {
    it('are given the request, the response and the next that they would have been given', async () => {
      const { text } = await trace(make, (app) => {
        app.use(function compare(this: unknown, req: Request, res: Response, next: NextFunction) {
          res.setHeader('x-this', String(this));
          res.end(`${next === req.next} ${this === undefined} ${arguments.length}`);
        });
      });
      expect(text).to.equal('true true 3');
    });

    it('are themselves while they run, and afterwards', async () => {
      let during: unknown;
      let layers: Layer[] = [];
      await trace(make, (app) => {
        app.use(go);
        layers = stackOf(app);
        app.get('/', (_req, res) => {
          during = layers.find(({ name: of }) => of === 'go')?.handle;
          res.end();
        });
      });
      expect(during).to.equal(go);
      expect(layers.find(({ name: of }) => of === 'go')?.handle).to.equal(go);
    });

    it('are traced with mounts, parameters and routes of several paths', async () => {
      const traced = await trace(
        make,
        (app) => {
          const orders = make.Router({ mergeParams: true });
          orders.use('/lines', go);
          orders.param('id', (_req, _res, next) => {
            next();
          });
          orders.route(['/:id', '/by-name/:id']).get(go, answer);
          app.use('/shop/:shop', orders);
        },
        { path: '/shop/7/by-name/12' },
      );
      const pattern = '/shop/:shop/by-name/:id';
      expect(lines(traced)).to.deep.equal([
        '0 router router /shop/:shop running',
        `1 param :id ${pattern} next`,
        `1 handler go ${pattern} next`,
        `1 handler answer ${pattern} running`,
      ]);
      expect(traced.context.last('route')?.params).to.deep.equal({ shop: '7', id: '12' });
    });

    for (const [how, fail] of [
      [
        'threw it',
        () => {
          throw new Error('no');
        },
      ],
      [
        'gave it to next',
        (next: NextFunction) => {
          next(new Error('no'));
        },
      ],
      [
        'gave it to next later',
        (next: NextFunction) => {
          setTimeout(() => {
            next(new Error('no'));
          }, 5);
        },
      ],
    ] as const)
      it(`are blamed for an error where they ${how}`, async () => {
        const traced = await trace(
          make,
          (app) => {
            const router = make.Router();
            router.get('/deep', go, function culprit(_req, _res, next) {
              fail(next);
            });
            app.use(go, router);
            app.use(function hands(error: unknown, _req: Request, _res: Response, next: NextFunction) {
              next(error);
            });
            app.use(caught);
          },
          { path: '/deep' },
        );
        expect(traced.text).to.equal('caught no');
        expect(threw(traced)).to.deep.equal(['culprit']);
      });

    it('are blamed for another error than the one they were given, and for the same one anew', async () => {
      const error = new Error('first');
      const traced = await trace(make, (app) => {
        app.use(function first(_req, _res, next) {
          next(error);
        });
        app.use(function replaces(_e: unknown, _req: Request, _res: Response, next: NextFunction) {
          next(new Error('other'));
        });
        app.use(function recovers(_e: unknown, _req: Request, _res: Response, next: NextFunction) {
          next();
        });
        app.use(function again(_req, _res, next) {
          next(error);
        });
        app.use(caught);
      });
      expect(traced.text).to.equal('caught first');
      expect(threw(traced)).to.deep.equal(['first', 'replaces', 'again']);
    });

    it('are not blamed for a path that can not be decoded, nor for another way that next may go', async () => {
      const traced = await trace(
        make,
        (app) => {
          app.get('/*any'.slice(0, make === express ? 5 : 2), go, function leaves(_req, _res, next) {
            next('route');
          });
          app.use(go);
          app.get('/:id', answer);
          app.use(caught);
        },
        { path: '/%zz' },
      );
      expect(traced.text).to.equal("caught Failed to decode param '%zz'");
      expect(threw(traced)).to.deep.equal([]);
    });

    it('run what they return no more than the router does', async () => {
      let asked = 0;
      // Like a query of Knex, which is sent by its `then`.
      const query = {
        then(resolve: () => void) {
          asked++;
          resolve();
        },
      };
      const { text } = await trace(make, (app) => {
        app.get('/', function sends(_req, res) {
          res.end('sent');
          return query;
        });
      });
      expect(text).to.equal('sent');
      expect(asked).to.equal(make === express ? 1 : 0);
    });

    it('answer, and are traced from outside, where their function can not be replaced', async () => {
      const traced = await trace(make, (app) => {
        app.use(function frozen(_req, _res, next) {
          next();
        });
        app.get('/', answer);
        for (const layer of stackOf(app))
          Object.defineProperty(layer, 'handle', { writable: false, configurable: false });
      });
      expect(traced.text).to.equal('ok');
      const [frozen] = traced.context.all('layer');
      expect([frozen?.name, frozen?.outcome]).to.deep.equal(['frozen', 'next']);
      expect(frozen?.durationMs).to.be.a('number');
    });

    for (const observers of [1, 2])
      it(`reject to the process what they rejected to it before, watched by ${observers}`, async () => {
        const rejects = async (of: string, next?: NextFunction): Promise<void> => {
          next?.();
          await Promise.resolve();
          throw new Error(of);
        };
        const handled = (error: unknown): Promise<never> => {
          const rejected = Promise.reject(error);
          rejected.catch(() => undefined);
          return rejected;
        };
        const build = (app: express.Express): void => {
          app.use(function answers(_req, res, next) {
            res.end('ok');
            next();
          });
          app.param('id', async (_req, _res, next) => rejects('of a parameter', next));
          app.param('id', (_req, _res, next) => {
            next();
            return handled(new Error('handled'));
          });
          app.get('/:id', async (_req, _res, next) => rejects('of a handler', next));
          app.use((_req, _res, next) => {
            next(new Error('no'));
            return handled(new Error('handled'));
          });
          app.use(async (_e: unknown, _req: Request, _res: Response, _next: NextFunction) =>
            rejects('of an error handler'),
          );
          app.use((_e: unknown, _req: Request, _res: Response, _next: NextFunction) => undefined);
        };
        const reasons = async (watching: number): Promise<string[]> => {
          const run = (): Promise<unknown> => trace(make, build, { path: '/7', observers: watching });
          return (await unhandledDuring(run)).map(String).sort();
        };
        const expected = ['a handler', 'a parameter', 'an error handler'].map((of) => `Error: of ${of}`);
        expect(await reasons(0)).to.deep.equal(make === express ? [] : expected);
        expect(await reasons(observers)).to.deep.equal(await reasons(0));
      });

    it('look like themselves to whoever asks while their router calls them', async () => {
      const asked: unknown[] = [];
      const named = Object.assign(
        function named(_req: Request, res: Response): void {
          res.end('ok');
        },
        { mine: 1 },
      );
      const build = (app: express.Express): void => {
        app.use(go, named);
        const prototype = Object.getPrototypeOf(stackOf(app)[0]) as Record<string, unknown>;
        const method = make === express ? 'handleRequest' : 'handle_request';
        const original = prototype[method] as (...args: unknown[]) => unknown;
        prototype[method] = function patched(this: { handle: typeof named }, ...args: unknown[]): unknown {
          asked.push([this.handle.name, this.handle.length, this.handle.mine]);
          return original.apply(this, args);
        };
        undo = () => {
          prototype[method] = original;
        };
      };
      let undo = (): void => undefined;
      await trace(make, build);
      undo();
      expect(asked.slice(-2)).to.deep.equal([
        ['go', 3, undefined],
        ['named', 2, 1],
      ]);
    });

    it('look like themselves to whoever listens to the tracing channel', async () => {
      const told: unknown[] = [];
      const channel = tracingChannel<unknown, { layer: Layer; handler: typeof go }>('express.router.request');
      const start = ({ layer, handler }: { layer: Layer; handler: typeof go }): void => {
        told.push([handler.name, handler.length, (layer.handle as typeof go).name]);
      };
      const none = (): void => undefined;
      const handlers = { start, end: none, asyncStart: none, asyncEnd: none, error: none };
      channel.subscribe(handlers);
      const { text } = await trace(make, (app) => {
        app.use(go);
        app.get('/', answer);
      }).finally(() => {
        channel.unsubscribe(handlers);
      });
      expect(text).to.equal('ok');
      expect(told.slice(1)).to.deep.equal(
        make === express
          ? [
              ['go', 3, 'go'],
              ['answer', 2, 'answer'],
            ]
          : [],
      );
    });

    it('are themselves again where their router fails before it calls them', async () => {
      const layers: Layer[] = [];
      let undo = (): void => undefined;
      const traced = await trace(
        make,
        (app) => {
          app.use(go);
          app.use(caught);
          layers.push(...stackOf(app));
          const prototype = Object.getPrototypeOf(layers[0]) as Record<string, unknown>;
          const method = make === express ? 'handleRequest' : 'handle_request';
          const original = prototype[method] as (...args: unknown[]) => unknown;
          prototype[method] = function patched(this: Layer, ...args: unknown[]): unknown {
            if (this.name === 'go') throw new Error('refused');
            return original.apply(this, args);
          };
          undo = () => {
            prototype[method] = original;
          };
        },
        { times: 2 },
      ).finally(() => {
        undo();
      });
      expect(traced.text).to.equal('caught refused caught refused');
      expect(layers.find(({ name: of }) => of === 'go')?.handle).to.equal(go);
      expect(traced.context.all('layer').find(({ name: of }) => of === 'go')?.durationMs).to.be.a('number');
    });

    it('are not wrapped over and over where a setter of their prototype wraps them', async () => {
      // As express-async-errors does.
      const kept = new WeakMap<object, unknown>();
      let sets = 0;
      let prototype: object = {};
      const { text, context } = await trace(
        make,
        (app) => {
          prototype = Object.getPrototypeOf(stackOf(app)[0]) as object;
          Object.defineProperty(prototype, 'handle', {
            configurable: true,
            get(this: object) {
              return kept.get(this);
            },
            set(this: object, handle: (...args: unknown[]) => unknown) {
              sets++;
              kept.set(this, function wrapped(req: unknown, res: unknown, next: unknown): unknown {
                return handle(req, res, next);
              });
            },
          });
          app.use(go);
          app.get('/', answer);
        },
        { times: 3 },
      ).finally(() => Reflect.deleteProperty(prototype, 'handle'));
      expect(text).to.equal('ok ok ok');
      expect(sets).to.equal(3);
      expect(context.all('layer').map(({ name: of }) => of)).to.deep.equal(
        Array(3).fill(['go', 'answer']).flat(),
      );
    });

    it('keep the function that was put into their place from within', async () => {
      const second = (_req: Request, res: Response): void => void res.end('second');
      const { text, context } = await trace(
        make,
        (app) => {
          app.use(function first(_req, res) {
            const layer = stackOf(app).find(({ name: of }) => of === 'first');
            if (layer !== undefined) layer.handle = second;
            res.end('first');
          });
        },
        { times: 2 },
      );
      expect(text).to.equal('first second');
      expect(context.all('layer')).to.have.length(2);
    });

    it('leave a sealed list of parameter callbacks as long as it was', async () => {
      const traced = await trace(
        make,
        (app) => {
          app.param('id', (_req, _res, next) => {
            next();
          });
          for (const callbacks of Object.values(routerOf(app).params)) Object.seal(callbacks);
          app.get('/:id', answer);
        },
        { path: '/4' },
      );
      expect(lines(traced)).to.deep.equal(['0 param :id /:id next', '0 handler answer /:id running']);
    });

    it('are traced by two profilers, each by itself', async () => {
      const traced = await trace(
        make,
        (app) => {
          app.use(go);
          app.get('/', answer);
        },
        { observers: 2 },
      );
      expect(traced.text).to.equal('ok');
      expect(traced.context.all('layer').map(({ name: of }: LayerFact) => of)).to.deep.equal([
        'go',
        'go',
        'answer',
        'answer',
      ]);
    });

    it('have their prototype and their parameters back once nobody watches', async () => {
      const callback = (_req: Request, _res: Response, next: NextFunction): void => {
        next();
      };
      let app!: express.Express;
      const prototypeOf = (): object => Object.getPrototypeOf(stackOf(app)[0]) as object;
      app = make();
      app.use(go);
      const before = Object.getOwnPropertyDescriptors(prototypeOf());
      const { context } = await trace(
        make,
        (made) => {
          app = made;
          app.param('id', callback);
          app.get('/:id', answer);
        },
        { path: '/4' },
      );
      const { params } = routerOf(app);
      expect(context.all('layer')).to.have.length(2);
      expect(params.id).to.deep.equal([callback]);
      expect(Object.getOwnPropertyDescriptors(prototypeOf())).to.deep.equal(before);
    });
  });
}

describe('applications that a host makes for each request', () => {
  it('are not kept, nor are their parameters', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const observer = createLayerObserver({ tracker: new ContextTracker() });
    const makeApp = (): WeakRef<object>[] => {
      const app = express();
      const callback = (_req: Request, _res: Response, next: NextFunction): void => {
        next();
      };
      app.param('id', callback);
      app.get('/:id', answer);
      observer.observeApplication(app);
      return [new WeakRef(app), new WeakRef(callback)];
    };
    const made = Array.from({ length: 20 }, makeApp).flat();
    for (let tries = 0; tries < 10 && made.some((ref) => ref.deref() !== undefined); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      collect();
    }
    expect(made.filter((ref) => ref.deref() !== undefined)).to.have.length(0);
    observer.close();
  });
});

describe('a mount of Express 4', () => {
  it('is told as it was written, where it can be read back', async () => {
    const seen = async (mount: string | RegExp | string[], path: string): Promise<string | undefined> => {
      const { context } = await trace(express4, (app) => app.use(mount, go), { path });
      return context.last('layer')?.pattern;
    };
    expect(await seen('/', '/x')).to.equal('/');
    expect(await seen('/a.b/:id/c', '/a.b/1/c')).to.equal('/a.b/:id/c');
    expect(await seen('/a/*/:id', '/a/b/1')).to.equal('/a/*/:id');
    expect(await seen('/:x?', '/1')).to.equal('/:x?');
    expect(await seen(/^\/re/, '/re')).to.equal('/^\\/re/');
    expect(await seen(['/a', '/b/:id'], '/b/1')).to.equal('/b/:id');
    expect(await seen(['/a', '/b{2}'], '/a')).to.match(/^\/\^.*a.*\|.*b/);
  });
});
