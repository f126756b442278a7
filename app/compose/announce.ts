/** Says where the pages are, as soon as a server listens, and who can read them. */
import cluster from 'node:cluster';
import diagnostics from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { urls } from '../urls.ts';

const LISTENS = 'tracing:net.server.listen:asyncEnd';

/** `localhost:3000`, `[::1]:3000` */
function printPlace(address: string, port: number): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}

export function listAddress(server: Server): string | null {
  const address = server.address();
  if (typeof address !== 'object' || address === null) return null;
  const scheme = 'setSecureContext' in server ? 'https' : 'http';
  const everywhere = address.address === '::' || address.address === '0.0.0.0';
  const host = everywhere ? 'localhost' : address.address;
  return `${scheme}://${printPlace(host, address.port)}${urls.home()}`;
}

export function watchListening(app: object, onListening: (server: Server) => void): () => void {
  function listening(message: unknown): void {
    const { server } = message as { server?: Partial<Server> };
    if (server?.listeners?.('request').includes(app as never) === true) onListening(server as Server);
  }
  diagnostics.subscribe(LISTENS, listening);
  return () => void diagnostics.unsubscribe(LISTENS, listening);
}

function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127\.|^::1$/.test(address);
}

export function speaksForAll(): boolean {
  return cluster.worker === undefined || cluster.worker.id === 1;
}

/** Returns a function that says it once when a server without a guard, which may not listen yet, is reached by other machines. */
export function createPublicAddressNotice(warn: (sentence: string) => void): (server: Server) => void {
  let said = !speaksForAll();
  return function check(server) {
    if (said) return;
    const place = server.address();
    if (place === null) {
      server.once('listening', () => {
        check(server);
      });
      return;
    }
    if (typeof place === 'string' || isLoopback(place.address)) return;
    said = true;
    warn(
      `Anyone who can reach ${printPlace(place.address, place.port)} can read every recorded request; set PROFILER_PASSWORD to protect the pages with a password.`,
    );
  };
}
