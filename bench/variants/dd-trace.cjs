/** dd-trace with its defaults, exporting to the collector. With BENCH_SWITCHES, `sendsNothing` drops its formatted spans. */
const { fromPeers } = require('./from-peers.cjs');

const tracer = fromPeers('dd-trace').init({
  url: process.env.BENCH_COLLECTOR,
  service: 'bench',
  startupLogs: false,
  telemetry: { enabled: false },
  remoteConfig: { pollInterval: 3600 },
});

if (process.env.BENCH_SWITCHES === '1') {
  // Internal, and thus checked: without it, the row would compare dd-trace with itself.
  const exporter = tracer._tracer._exporter;
  if (typeof exporter?.export !== 'function') throw new Error('dd-trace has no exporter where it was.');
  const send = exporter.export.bind(exporter);
  exporter.export = (spans) => {
    if (globalThis.sendsNothing !== true) send(spans);
  };
}
