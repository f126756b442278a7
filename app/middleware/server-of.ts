/** The servers of requests, each met once. */
import type { IncomingMessage, Server } from 'node:http';
import { Server as NetServer } from 'node:net';

/** That which took its connection: none where a request was made by hand, or its socket only looks like one. */
function serverOf(req: IncomingMessage): Server | undefined {
  const { socket } = req as { socket?: { server?: unknown } | null };
  const server = socket?.server;
  return server instanceof NetServer ? (server as object as Server) : undefined;
}

/** Hands on each server with the first of its requests that is seen; nothing is kept of a server. */
export function createServerLookout(
  found: (server: Server, req: IncomingMessage) => void,
): (req: IncomingMessage) => void {
  const known = new WeakSet<object>();
  /** Mostly it is the same again. */
  let latest: WeakRef<object> | null = null;
  return (req) => {
    const server = serverOf(req);
    if (server === undefined || server === latest?.deref()) return;
    latest = new WeakRef(server);
    if (known.has(server)) return;
    known.add(server);
    found(server, req);
  };
}
