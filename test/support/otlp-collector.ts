/** An OpenTelemetry collector that takes OTLP/JSON. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http'; // prettier-ignore
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { AnyValue, KeyValue } from '../../app/export/otlp-model.ts';
import type { LogsData, OtlpLogRecord, OtlpSpan, TracesData } from '../../app/export/otlp-profile.ts';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  /** Decompressed. */
  content: Buffer;
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
  const data = JSON.parse(content.toString()) as TracesData & LogsData;
  return { path: req.url ?? '', headers: req.headers, content, data };
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
