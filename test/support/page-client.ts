/** A server over pages on the loopback, with the error handler of a plain host: status and message as text. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Dispatch } from '../../app/controllers/profiler/dispatch.ts';
import { HindsightError } from '../../app/errors.ts';
import { unknownTokenModelOf } from '../../app/controllers/profiler/require-profile.ts';
import type { PageServices } from '../../app/controllers/profiler/page-services.ts';
import { KEEP_ALIVE_MS } from './listen.ts';
import type { PageFixture } from './page-fixture.ts';

export interface PageServer {
  address: string;
  /** Errors handed to `next`, newest last. */
  errors: unknown[];
  close(): Promise<void>;
}

export async function servePages(
  pages: Dispatch,
  { port = 0, renderPage }: { port?: number; renderPage?: PageServices['renderPage'] } = {},
): Promise<PageServer> {
  const errors: unknown[] = [];
  const server: Server = createServer((req, res) => {
    pages(req, res, (error) => {
      errors.push(error);
      const status = error instanceof HindsightError ? error.status : error === undefined ? 404 : 500;
      res.statusCode = status;
      if (error instanceof HindsightError)
        for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value);
      const model = unknownTokenModelOf(error);
      if (model !== null && renderPage !== undefined) {
        res.setHeader('content-type', 'text/html; charset=UTF-8');
        res.end(renderPage('errors/unknown-token', model));
        return;
      }
      res.setHeader('content-type', 'text/plain; charset=utf-8');
      res.end(error instanceof Error ? error.message : 'went on');
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    errors,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

type Served = Pick<PageServer, 'address' | 'errors'>;

function servedWith(make: () => PageFixture, begin: typeof before, end: typeof after): Served {
  let server: PageServer | undefined;
  begin(async () => {
    const { pages, services } = make();
    server = await servePages(pages, services);
  });
  end(() => server?.close());
  const running = (): PageServer => {
    if (server === undefined) throw new Error('The pages are asked for before the tests run.');
    return server;
  };
  return {
    get address() {
      return running().address;
    },
    get errors() {
      return running().errors;
    },
  };
}

/** Within a `describe`: serves the pages of a fixture for all of its tests. */
export function usePages(fixture: PageFixture): Served {
  return servedWith(() => fixture, before, after);
}

/** Within a `describe`: serves the pages of a new fixture for each of its tests. */
export function usePagesEach(make: () => PageFixture): Served {
  return servedWith(make, beforeEach, afterEach);
}

/** Serves for as long as `work` takes, also when it fails. */
export async function withPages(pages: Dispatch, work: (server: PageServer) => Promise<void>): Promise<void> {
  const server = await servePages(pages);
  try {
    await work(server);
  } finally {
    await server.close();
  }
}
