/** A host that records, for those who ask from outside: `/fine`, `/broken`, which throws, `/busy`, which blocks, and `POST /orders`. */
import express from 'express';
import { pbkdf2Sync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';
import { until } from './waiting.ts';

export interface RecordingHost {
  url: string;
  profiler: Profiler;
  /** Bodies that `POST /orders` got, as JSON. */
  bodies: string[];
  /** Sends a request; resolves with its token once it is recorded. */
  send(path: string, init?: RequestInit): Promise<string>;
  close(): Promise<void>;
}

/** For the current `describe`: starts hosts, which are closed after each test. */
export function useRecordingHosts(): (options?: ProfilerOptions) => Promise<RecordingHost> {
  const hosts: RecordingHost[] = [];
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.close();
  });
  return async (options) => {
    const host = await startRecordingHost(options);
    hosts.push(host);
    return host;
  };
}

/** `port`: 0 takes a free one. */
export async function startRecordingHost(options: ProfilerOptions = {}, port = 0): Promise<RecordingHost> {
  const profiler = createProfiler({
    observe: false,
    warn: () => undefined,
    ...options,
  });
  const app = express();
  app.use(profiler.watch, profiler.pages);
  app.use(express.json());
  app.get('/fine', (_req, res) => void res.send('fine'));
  app.get('/broken', () => {
    throw new Error('no \u001b[31mstock');
  });
  app.get('/busy', function busy(_req, res) {
    res.json(pbkdf2Sync('a', 'b', 400_000, 64, 'sha512').length);
  });
  const bodies: string[] = [];
  app.post('/orders', (req, res) => {
    bodies.push(JSON.stringify(req.body));
    res.status(201).json({ got: req.body as unknown });
  });
  app.use(profiler.errors);
  const server = app.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    profiler,
    bodies,
    async send(path, init) {
      const response = await fetch(`${url}${path}`, init);
      await response.text();
      const token = response.headers.get('x-debug-token') ?? '';
      await until(
        async () => (await profiler.profiles.read(token))?.profile.state === 'final',
        `the profile of ${path}`,
      );
      return token;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await profiler.close();
    },
  };
}
