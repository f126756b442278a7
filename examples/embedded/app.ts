/** The smallest host, with profiles in memory. Outside this repository, import from 'express-hindsight'. */
import express, { type Express } from 'express';
import { createProfiler, type Profiler } from '../../app/index.ts';

export function createHost(): { app: Express; profiler: Profiler } {
  const profiler = createProfiler({ Router: express.Router });
  const app = express();
  profiler.watchApp(app);

  app.use(profiler.watch);
  app.use(profiler.pages);

  app.get('/', (_request, response) => {
    profiler.dump({ visitors: 1 }, 'counter');
    response.send('<!doctype html><title>Host</title><p>Hello.</p>');
  });
  app.get('/fails', () => {
    throw new Error('The host failed.');
  });

  app.use(profiler.errors);
  return { app, profiler };
}
