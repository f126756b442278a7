/**
 * One process of the application: BENCH_PORT; BENCH_DATABASE, a connection as JSON, where it has queries; BENCH_PROFILER,
 * a JSON of options where Hindsight records, and of connection and schema where it records into that database. A peer is
 * loaded before this file by `--require`. A message `counters` is answered with what the profiler's writer counted; SIGTERM ends it.
 */
const { createApplication } = require('./application.cjs');

function openKnex(connection, pool) {
  return require('knex')({ client: 'pg', connection, pool });
}

/** Profiles lie in files, as by default, or in tables that are there already. */
async function startProfiler({ place, options }) {
  const { createPostgresStorage, createProfiler } = await import('../../dist/app/index.js');
  return createProfiler({
    ...(place === undefined ? {} : { storage: createPostgresStorage(place) }),
    Router: require('express').Router,
    // NODE_ENV is production here.
    enabled: true,
    ...options,
  });
}

async function main() {
  const { BENCH_PORT, BENCH_DATABASE, BENCH_PROFILER } = process.env;
  const knex =
    BENCH_DATABASE === undefined ? null : openKnex(JSON.parse(BENCH_DATABASE), { min: 0, max: 10 });
  const profiler = BENCH_PROFILER === undefined ? null : await startProfiler(JSON.parse(BENCH_PROFILER));
  const app = createApplication({ profiler, knex });
  app.listen(Number(BENCH_PORT), '127.0.0.1');
  process.on('message', (question) => {
    if (question === 'counters') process.send(profiler?.counters() ?? null);
  });
  process.once('SIGTERM', async () => {
    await profiler?.close();
    process.exit(0);
  });
}

void main();
