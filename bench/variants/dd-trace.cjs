/** dd-trace with its defaults, exporting to the collector; BENCH_SENDS_NOTHING: its spans are formatted, and then dropped. */
const { fromPeers } = require('./from-peers.cjs');

const tracer = fromPeers('dd-trace').init({
  url: process.env.BENCH_COLLECTOR,
  service: 'bench',
  startupLogs: false,
  telemetry: { enabled: false },
  remoteConfig: { pollInterval: 3600 },
});

if (process.env.BENCH_SENDS_NOTHING === '1') {
  // Internal, and thus checked: without it, the row would compare dd-trace with itself.
  const exporter = tracer._tracer._exporter;
  if (typeof exporter?.export !== 'function') throw new Error('dd-trace has no exporter where it was.');
  exporter.export = () => {};
}
