/** Sentry, every request traced. */
const { fromPeers } = require('./from-peers.cjs');

const { port } = new URL(process.env.BENCH_COLLECTOR);
fromPeers('@sentry/node').init({ dsn: `http://key@127.0.0.1:${port}/1`, tracesSampleRate: 1 });
