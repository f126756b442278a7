/** The service that the shop calls. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Behaviour } from './fault.ts';

export interface Partner {
  url: string;
  /** What it does from now on, by the start of the path; nothing: as usual. */
  behave(by?: Readonly<Record<string, Behaviour>>): void;
  close(): void;
}

function usualBody(url: string): unknown {
  const [, kind, value = ''] = url.split(/[/?]/);
  if (kind === 'rates') return { rate: 1.1, currency: value };
  if (kind === 'shipping') return { price: 490 };
  if (kind === 'tax') return { percent: 19 };
  if (kind === 'pay') return { receipt: 'r-1' };
  return Object.fromEntries(Array.from({ length: 20 }, (_of, id) => [id, 3]));
}

export async function startPartner(): Promise<Partner> {
  let behaviours: Record<string, Behaviour> = {};
  const times = new Map<string, number>();
  const server = createServer((req, res) => {
    req.resume();
    const url = req.url ?? '';
    const path = Object.keys(behaviours).find((start) => url.startsWith(start)) ?? '';
    const before = times.get(path) ?? 0;
    times.set(path, before + 1);
    const found = behaviours[path];
    const {
      status = 200,
      waitMs = 8,
      body,
    }: Behaviour = found === undefined || before >= (found.times ?? Infinity) ? {} : found;
    setTimeout(() => {
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(body ?? JSON.stringify(usualBody(url)));
    }, waitMs);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave(by = {}) {
      behaviours = by;
      times.clear();
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
