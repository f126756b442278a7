/** An OpenTelemetry collector: decodes what it gets by the messages that OpenTelemetry's own package was generated from. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http'; // prettier-ignore
import { createServer as createTlsServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { AnyValue, KeyValue, LogsData, OtlpLogRecord, OtlpSpan, TracesData } from '../../app/export/otlp-model.ts'; // prettier-ignore

/** A message that pbjs generated. */
interface Message {
  decode(body: Uint8Array): object;
  toObject(message: object, options: object): object;
}

interface Generated {
  opentelemetry: {
    proto: {
      collector: {
        trace: { v1: { ExportTraceServiceRequest: Message } };
        logs: { v1: { ExportLogsServiceRequest: Message } };
      };
    };
  };
}

const generated = createRequire(import.meta.url)(
  '@opentelemetry/otlp-transformer/build/src/generated/root',
) as Generated;
const { trace, logs } = generated.opentelemetry.proto.collector;

/** Ids are bytes in protobuf and hexadecimal in OTLP/JSON. */
function withHexIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withHexIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]: [string, unknown]) => [
      key,
      /^(?:trace|span|parentSpan)Id$/.test(key) && typeof inner === 'string'
        ? Buffer.from(inner, 'base64').toString('hex')
        : withHexIds(inner),
    ]),
  );
}

/** A request in protobuf -> its JSON form. */
export function decodeProtobuf(signal: 'traces' | 'logs', body: Uint8Array): TracesData & LogsData {
  const message = signal === 'traces' ? trace.v1.ExportTraceServiceRequest : logs.v1.ExportLogsServiceRequest;
  const plain = message.toObject(message.decode(body), { longs: String, bytes: String });
  return withHexIds(plain) as TracesData & LogsData;
}

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  /** As sent. */
  body: Buffer;
  data: TracesData & LogsData;
}

export interface Collector {
  origin(): string;
  /** Decoded requests, also those that it refused. */
  readonly received: Received[];
  spans(): OtlpSpan[];
  logRecords(): OtlpLogRecord[];
  /** How it replies to the next requests; default: 200. */
  reply: (res: ServerResponse, count: number) => void;
}

function accept(res: ServerResponse): void {
  res.end();
}

async function receive(req: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const content = req.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  const path = req.url ?? '';
  const data =
    req.headers['content-type'] === 'application/json'
      ? (JSON.parse(content.toString()) as TracesData & LogsData)
      : decodeProtobuf(path.endsWith('/logs') ? 'logs' : 'traces', content);
  return { path, headers: req.headers, body, data };
}

/** Registers hooks for the current `describe`. `certificate`: it speaks TLS. */
export function withCollector(certificate?: () => { key: Buffer; cert: Buffer }): Collector {
  const received: Received[] = [];
  let server: Server;
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    void receive(req).then((request) => {
      received.push(request);
      collector.reply(res, received.length);
    });
  };
  before(async () => {
    server = certificate === undefined ? createServer(answer) : createTlsServer(certificate(), answer);
    server.listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
  });
  beforeEach(() => {
    received.length = 0;
    collector.reply = accept;
  });
  after(async () => {
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const collector: Collector = {
    origin: () =>
      `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    spans: () =>
      received.flatMap(({ data }) => data.resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)), // prettier-ignore
    logRecords: () =>
      received.flatMap(({ data }) => data.resourceLogs ?? []).flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords)), // prettier-ignore
    reply: accept,
  };
  return collector;
}

export function plainValue(value: AnyValue | undefined): unknown {
  return value === undefined ? undefined : Object.values(value)[0];
}

export function attributeOf(owner: { attributes: KeyValue[] }, key: string): unknown {
  return plainValue(owner.attributes.find((attribute) => attribute.key === key)?.value);
}
