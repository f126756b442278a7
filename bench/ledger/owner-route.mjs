/**
 * Loaded into the service before its own code: adds a router to `app/routes/index.ts`, as the owner would by editing it,
 * with a page of 2 KB at `/`.
 */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const [{ default: express }, { routes }] = await Promise.all([
    import('express'),
    import('../../dist/app/routes/index.js'),
  ]);
  const page = `<!doctype html><title>Articles</title>${'<p>A thing that is sold here, and what it is good for.</p>'.repeat(36)}`;
  routes.push({
    mount: '/',
    parsers: 'after',
    router: () => express.Router().get('/', (_request, response) => response.send(page)),
  });
}
