/** dd-trace with its defaults, exporting to the collector. Loaded before the application. */
const { createRequire } = require('node:module');
const { join } = require('node:path');

const fromPeers = createRequire(join(__dirname, '..', 'peers', 'package.json'));
fromPeers('dd-trace').init({
  url: process.env.BENCH_COLLECTOR,
  service: 'bench',
  startupLogs: false,
  telemetry: { enabled: false },
  remoteConfig: { pollInterval: 3600 },
});
