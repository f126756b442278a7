/**
 * An application on a real port with the profiler in front of it, and answers to raw requests as they came over the line: for tests of
 * what the toolbar does to them.
 */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, connect } from 'node:net';
import type expressPackage from 'express';
import type { RequestHandler } from 'express';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';

const load = createRequire(import.meta.url);

export type ExpressPackage = typeof expressPackage;

/** Both versions that are supported; the types of the newer one do for what tests ask of the older. */
export const EXPRESSES: readonly [version: string, express: ExpressPackage][] = [
  ['Express 5', load('express') as ExpressPackage],
  ['Express 4', load('express-4') as ExpressPackage],
];
export const compression = load('compression') as (options?: { threshold?: number }) => RequestHandler;
export const session = load('express-session') as (options: object) => RequestHandler;

/** What a browser sends that opens an address. */
export const NAVIGATION = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'sec-fetch-dest': 'document',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': 'none',
};

export interface Answer {
  /** The first line. */
  line: string;
  /** As they came, in order. */
  headers: string[];
  header(name: string): string | undefined;
  /** Without the framing of its chunks. */
  body: Buffer;
  /** Sizes of the chunks; empty where it has a length, or ends with the connection. */
  chunks: number[];
}

export interface ToolbarHost {
  profiler: Profiler;
  port: number;
  /** One request of its own connection, which is closed behind it. */
  ask(path: string, headers?: Record<string, string>, method?: string): Promise<Answer>;
  /** Bytes over one connection, until it is closed. */
  send(bytes: string): Promise<Buffer>;
  close(): Promise<void>;
}

function readChunks(bytes: Buffer): { body: Buffer; chunks: number[] } {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const line = bytes.indexOf('\r\n', at);
    const size = parseInt(bytes.toString('latin1', at, line), 16);
    if (!(size > 0)) break;
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 4 + size;
  }
  return { body: Buffer.concat(pieces), chunks: pieces.map(({ length }) => length) };
}

export function readAnswer(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n');
  const [line = '', ...headers] = bytes.toString('latin1', 0, end).split('\r\n');
  const header = (name: string): string | undefined =>
    headers
      .find((text) => text.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  const rest = bytes.subarray(end + 4);
  return {
    line,
    headers,
    header,
    ...(header('transfer-encoding') === 'chunked' ? readChunks(rest) : { body: rest, chunks: [] }),
  };
}

export async function startToolbarHost(
  register: (app: expressPackage.Express, profiler: Profiler) => RequestListener | undefined,
  { express, ...options }: ProfilerOptions & { express?: ExpressPackage } = {},
): Promise<ToolbarHost> {
  const make = express ?? (load('express') as ExpressPackage);
  const profiler = createProfiler({ toolbar: true, warn: () => undefined, ...options });
  const app = make();
  app.set('env', 'test');
  app.use(profiler.watch, profiler.pages);
  const listener = register(app, profiler) ?? app;
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function send(bytes: string): Promise<Buffer> {
    const socket = connect(port, '127.0.0.1');
    socket.write(bytes, 'latin1');
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    socket.on('error', () => undefined);
    await once(socket, 'close');
    return Buffer.concat(pieces);
  }

  return {
    profiler,
    port,
    send,
    async ask(path, headers = NAVIGATION, method = 'GET') {
      const fields = Object.entries({ host: `127.0.0.1:${port}`, ...headers, connection: 'close' });
      return readAnswer(
        await send(
          `${method} ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
        ),
      );
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await profiler.close(0);
    },
  };
}
