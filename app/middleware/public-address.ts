/** Says it once when a server without a guard listens on an address that other machines reach. */
import cluster from 'node:cluster';
import type { Server } from 'node:http';

function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127\.|^::1$/.test(address);
}

/** Workers share an address, so that the first one speaks for all. */
export function speaksForAll(): boolean {
  return cluster.worker === undefined || cluster.worker.id === 1;
}

/** Returns a function to call with each server of the profiler, whether it listens already or not. */
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
    const host = place.address.includes(':') ? `[${place.address}]` : place.address;
    warn(
      `Anyone who can reach ${host}:${place.port} can read every recorded request; set PROFILER_PASSWORD to protect the pages with a password.`,
    );
  };
}
