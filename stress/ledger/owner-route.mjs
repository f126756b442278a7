/**
 * Loaded into the service before its own code: adds a router to `app/routes/index.ts`, as the owner would by editing it,
 * with a page of 2 KB at `/`, and what faults need: a query, an upload, a request that blocks the event loop, and errors.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

function cyclic() {
  const error = new Error('cyclic');
  error.cause = new Error('its cause', { cause: error });
  return error;
}

function unreadable() {
  return Object.defineProperty(new Error('unreadable'), 'stack', {
    get() {
      throw new Error('no stack');
    },
  });
}

function revoked() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const THROWN = {
  error: () => new Error('thrown'),
  text: () => 'thrown',
  nothing: () => undefined,
  symbol: () => Symbol('thrown'),
  frozen: () => Object.freeze(new Error('frozen')),
  long: () => new Error('x'.repeat(10_000_000)),
  cyclic,
  unreadable,
  revoked,
};

function block(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

if (isMainThread) {
  const [{ default: express }, { routes }] = await Promise.all([
    import('express'),
    import('../../dist/app/routes/index.js'),
  ]);
  const page = `<!doctype html><title>Articles</title>${'<p>A thing that is sold here, and what it is good for.</p>'.repeat(36)}`;
  const router = ({ db }) =>
    express
      .Router()
      .get('/', (_request, response) => response.send(page))
      .get('/db', async (_request, response) => {
        const { rows } = await db().raw('select 1 as one');
        response.json(rows);
      })
      .post('/upload', (request, response) => response.json({ files: request.files?.length ?? 0 }))
      .get('/slow/:ms', async (request, response) => {
        await sleep(Number(request.params.ms));
        response.send('done');
      })
      .get('/large', (_request, response) => response.send('x'.repeat(512 * 1024)))
      .get('/block/:ms', (request, response) => {
        block(Number(request.params.ms));
        response.send('done');
      })
      .get('/throw/:kind', (request) => {
        throw THROWN[request.params.kind]();
      })
      .get('/throw-later/:kind', (request) => {
        setTimeout(() => {
          throw THROWN[request.params.kind]();
        });
      })
      .get('/reject/:kind', (request) => {
        setTimeout(() => void Promise.reject(THROWN[request.params.kind]()));
      });
  routes.push({ mount: '/', parsers: 'after', router });
}
