/** Unleash: a PostgreSQL application. */
import('unleash-server').then(({ start }) =>
  start({
    server: { port: Number(process.env.BENCH_PORT), host: '127.0.0.1' },
    databaseUrl: undefined,
    db: { ...JSON.parse(process.env.BENCH_DATABASE), ssl: false },
    authentication: { type: 'none' },
    versionCheck: { enable: false },
    telemetry: false,
    logLevel: 'fatal',
  }),
);
