/**
 * Loaded into the service before its own code, as `node --expose-gc --import`: the routes of the soak, and what its process holds, when
 * asked by a message.
 */
import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const NANOSECONDS = 1e6;

function answerVitals() {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  process.on('message', () => {
    // What garbage collection would free is no growth.
    globalThis.gc();
    process.send({
      heapBytes: process.memoryUsage().heapUsed,
      handles: process.getActiveResourcesInfo().length,
      descriptors: readdirSync('/proc/self/fd').length,
      loopP99Ms: delay.percentile(99) / NANOSECONDS,
      loopMaxMs: delay.max / NANOSECONDS,
    });
    delay.reset();
  });
}

if (isMainThread) {
  const [{ default: express }, { routes }] = await Promise.all([
    import('express'),
    import('../../dist/app/routes/index.js'),
  ]);
  const page = `<!doctype html><title>Articles</title>${'<p>A thing that is sold here, and what it is good for.</p>'.repeat(36)}`;
  routes.push({
    mount: '/',
    parsers: 'after',
    router: ({ db }) =>
      express
        .Router()
        .get('/', (_request, response) => response.send(page))
        .get('/articles/:id', async (request, response) => {
          const article = await db()
            .withSchema('public')
            .from('articles')
            .where({ id: request.params.id })
            .first();
          console.log('article %s', article.title);
          const comments = await db()
            .withSchema('public')
            .from('comments')
            .where({ article_id: article.id })
            .limit(10);
          response.json({ article, comments });
        })
        .post('/form', (request, response) => response.json({ fields: Object.keys(request.body ?? {}) }))
        .get('/slow', (_request, response) => setTimeout(() => response.send(page), 200))
        .get('/broken', () => {
          throw new TypeError('This route is broken.', { cause: new Error('That is why.') });
        }),
  });
  answerVitals();
}
