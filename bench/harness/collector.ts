/** Takes what the peers export, says that all is well, and throws it away. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { countSpans } from './count-spans.ts';

export interface Collector {
  address: string;
  /** Bytes taken so far below an address: who sends none exports nothing. */
  bytes(path: string): number;
  /** Spans taken while it counted them, which costs CPU; default: it does not. */
  spans: { count: number; areCounted: boolean };
  close(): void;
}

export async function startCollector(): Promise<Collector> {
  const taken = new Map<string, number>();
  const spans = { count: 0, areCounted: false };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => {
      taken.set(path, (taken.get(path) ?? 0) + chunk.length);
      if (spans.areCounted) chunks.push(chunk);
    });
    request.on('end', () => {
      if (spans.areCounted) spans.count += countSpans(path, Buffer.concat(chunks));
      response.setHeader('content-type', 'application/json');
      response.end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bytes: (path) => [...taken].reduce((sum, [at, bytes]) => (at.startsWith(path) ? sum + bytes : sum), 0),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
