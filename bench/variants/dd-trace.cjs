/** dd-trace with its defaults, exporting to the collector. */
const { fromPeers } = require('./from-peers.cjs');

fromPeers('dd-trace').init({
  url: process.env.BENCH_COLLECTOR,
  service: 'bench',
  startupLogs: false,
  telemetry: { enabled: false },
  remoteConfig: { pollInterval: 3600 },
});
