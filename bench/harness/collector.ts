/** Takes what the peers export, says that all is well, and throws it away. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Collector {
  address: string;
  /** Bytes taken so far below an address: who sends none exports nothing. */
  bytes(path: string): number;
  close(): void;
}

export async function startCollector(): Promise<Collector> {
  const taken = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    request.on('data', (chunk: Buffer) => taken.set(path, (taken.get(path) ?? 0) + chunk.length));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: (path) => [...taken].reduce((sum, [at, bytes]) => (at.startsWith(path) ? sum + bytes : sum), 0),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
