/** A host without `profiler.close()`: prints its port; `/end` ends it in the way that ENDING says. Without SETTINGS it stores in files. */
import cluster from 'node:cluster';
import { create as createDomain } from 'node:domain';
import express from 'express';
import { createPostgresStorage, createProfiler } from '../../dist/app/index.js';

const { ENDING, SETTINGS, PROFILER_DIR: dir } = process.env;

function serve() {
  const storage =
    SETTINGS === undefined ? {} : { storage: createPostgresStorage({ ...JSON.parse(SETTINGS), dir }) };
  const profiler = createProfiler({ ...storage, dir });
  const app = express();
  app.use(profiler.watch);
  app.use(profiler.pages);
  app.get('/hangs', () => undefined);
  app.get('/end', (_request, response) => {
    console.log('about to end');
    response.send('ends');
    if (ENDING === 'exit') process.exit(3);
    const fail = () =>
      setImmediate(() => {
        throw new Error('The host is broken.');
      });
    if (ENDING === 'throw') fail();
    if (ENDING === 'domain')
      createDomain()
        .on('error', () => console.log('taken'))
        .run(fail);
  });
  app.get('/{*any}', (_request, response) => {
    response.send('hello');
  });
  if (ENDING === 'handles') process.on('SIGTERM', () => process.exit(7));
  const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

if (ENDING !== 'cluster' || cluster.isWorker) serve();
else {
  for (const _ of [1, 2]) cluster.fork();
  let left = 2;
  cluster.on('exit', () => {
    if (--left === 0) process.exit(5);
  });
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.kill();
  });
}
