/**
 * Loaded into the service before its own code: adds a router to `app/routes/index.ts`, as the owner would by editing it. Its routes are
 * a page of 2 KB, a query, forms and uploads, slow, large and failing responses, and what the process holds.
 */
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/** What garbage collection would free is no growth. */
function collectGarbage() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
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
        console.log('%d rows', rows.length);
        response.json(rows);
      })
      .post('/upload', (request, response) =>
        response.json({ fields: Object.keys(request.body ?? {}), files: request.files?.length ?? 0 }),
      )
      .get('/slow/:ms', async (request, response) => {
        await sleep(Number(request.params.ms));
        response.send('done');
      })
      .get('/large', (_request, response) => response.send('x'.repeat(512 * 1024)))
      .get('/broken', () => {
        throw new TypeError('This route is broken.', { cause: new Error('That is why.') });
      })
      .get('/vitals', (_request, response) => {
        collectGarbage();
        response.json({
          heapBytes: process.memoryUsage().heapUsed,
          handles: process.getActiveResourcesInfo().length,
          descriptors: readdirSync('/proc/self/fd').length,
        });
      });
  routes.push({ mount: '/', parsers: 'after', router });
}
