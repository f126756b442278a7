/** The smallest host, with profiles in memory. Outside this repository, import from 'express-hindsight'. */
import express, { type Express } from 'express';
import hindsight, { type Profiler } from '../../app/index.ts';

export function createHost(): { app: Express; profiler: Profiler } {
  const app = express();
  const profiler = hindsight(app);

  app.get('/', (_request, response) => {
    profiler.dump({ visitors: 1 }, 'counter');
    response.send('<!doctype html><title>Host</title><p>Hello.</p>');
  });
  app.get('/fails', () => {
    throw new Error('The host failed.');
  });

  // The error page; without this line, errors are recorded all the same.
  app.use(profiler.errors);
  return { app, profiler };
}
