/** A host whose storage has requests of two releases: the later one runs more queries on one route, and is as good on another. */
import express from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createMemoryStorage, createProfiler, type ProfilerOptions } from '../../app/index.ts';
import { profileOf } from '../storage/contract.ts';

export const BEFORE = 'aaaaaaa00000';
export const AFTER = 'bbbbbbb00000';

export interface ReleasesHost {
  url: string;
  /** Token of a request to `path`, recorded by the later release. */
  request(path: string): Promise<string>;
  read(path: string, accept?: string): Promise<string>;
  close(): Promise<void>;
}

export async function openReleasesHost(options: ProfilerOptions = {}): Promise<ReleasesHost> {
  const storage = createMemoryStorage();
  const profiler = createProfiler({ release: AFTER, storage, warn: () => undefined, ...options });
  const app = express();
  app.use(profiler.watch, profiler.pages);
  app.get('/orders/:id', (_req, res) => void res.send('order'));
  app.get('/fine', (_req, res) => void res.send('fine'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const startedAt = Date.now() - 60_000;
  const rows = [
    ...Array.from({ length: 6 }, (_, index) => ({ release: BEFORE, route: '/orders/:id', queries: 3, index })),
    ...Array.from({ length: 6 }, (_, index) => ({ release: AFTER, route: '/orders/:id', queries: 17, index: 6 + index })),
    ...Array.from({ length: 6 }, (_, index) => ({ release: BEFORE, route: '/fine', queries: 1, index })),
    ...Array.from({ length: 6 }, (_, index) => ({ release: AFTER, route: '/fine', queries: 1, index: 6 + index })),
  ]; // prettier-ignore
  await storage.write(
    rows.map(({ index, ...row }, number) =>
      profileOf(0xff0000 + number, { ...row, durationMs: 5, startedAt: startedAt + index * 1000 }),
    ),
  );
  const read = async (path: string, accept = '*/*'): Promise<string> =>
    (await fetch(`${url}${path}`, { headers: { accept } })).text();
  return {
    url,
    async request(path) {
      const response = await fetch(`${url}${path}`);
      await response.text();
      return response.headers.get('x-debug-token') ?? '';
    },
    read,
    async close() {
      server.closeAllConnections();
      server.close();
      await profiler.close();
    },
  };
}
