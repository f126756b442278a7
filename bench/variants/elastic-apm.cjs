/** Elastic APM, every request traced. */
const { fromPeers } = require('./from-peers.cjs');

fromPeers('elastic-apm-node').start({
  serverUrl: process.env.BENCH_COLLECTOR,
  serviceName: 'bench',
  logLevel: 'off',
  centralConfig: false,
  cloudProvider: 'none',
});
