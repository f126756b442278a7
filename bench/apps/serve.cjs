/**
 * One process of the application: BENCH_PORT; BENCH_DATABASE, a connection as JSON, where it has queries; BENCH_PROFILER,
 * the profiler's options as JSON, where Hindsight records. dd-trace is loaded before this file by `--require`. SIGTERM ends it.
 */
const { createApplication } = require('./application.cjs');

function openKnex(connection, pool) {
  return require('knex')({ client: 'pg', connection, pool });
}

async function startProfiler(options) {
  const { createProfiler } = await import('../../dist/app/index.js');
  return createProfiler({
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
  process.once('SIGTERM', async () => {
    await profiler?.close();
    process.exit(0);
  });
}

void main();
