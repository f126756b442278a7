/** Says where the pages are, as soon as a server listens. */
import diagnostics from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { urls } from '../urls.ts';

const LISTENS = 'tracing:net.server.listen:asyncEnd';

/** Address of the list of requests; null on a pipe or a socket file. */
export function listAddress(server: Server): string | null {
  const address = server.address();
  if (typeof address !== 'object' || address === null) return null;
  const scheme = 'setSecureContext' in server ? 'https' : 'http';
  const everywhere = address.address === '::' || address.address === '0.0.0.0';
  const host = everywhere ? 'localhost' : address.address;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${address.port}${urls.home()}`;
}

/** Calls `onListening` with each server that starts to listen with the application as its listener; returns what ends it. */
export function watchListening(app: object, onListening: (server: Server) => void): () => void {
  function listening(message: unknown): void {
    const { server } = message as { server?: Partial<Server> };
    if (server?.listeners?.('request').includes(app as never) === true) onListening(server as Server);
  }
  diagnostics.subscribe(LISTENS, listening);
  return () => void diagnostics.unsubscribe(LISTENS, listening);
}
