/** OpenTelemetry with its automatic instrumentations as they come, spans in batches over OTLP. */
const { fromPeers } = require('./from-peers.cjs');

const { NodeSDK } = fromPeers('@opentelemetry/sdk-node');
const { getNodeAutoInstrumentations } = fromPeers('@opentelemetry/auto-instrumentations-node');
const { OTLPTraceExporter } = fromPeers('@opentelemetry/exporter-trace-otlp-proto');

new NodeSDK({
  serviceName: 'bench',
  traceExporter: new OTLPTraceExporter({ url: `${process.env.BENCH_COLLECTOR}/v1/traces` }),
  metricReaders: [],
  instrumentations: [getNodeAutoInstrumentations()],
}).start();
