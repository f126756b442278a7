/** The servers of requests, each reported once. */
import type { IncomingMessage, Server } from 'node:http';
import { Server as NetServer } from 'node:net';

/** None for a request that was created by hand, or whose socket only looks like a server's. */
function serverOf(req: IncomingMessage): Server | undefined {
  const { socket } = req as { socket?: { server?: unknown } | null };
  const server = socket?.server;
  return server instanceof NetServer ? (server as object as Server) : undefined;
}

/** Reports each server with its first observed request; no server is kept alive. */
export function oncePerServer(
  found: (server: Server, req: IncomingMessage) => void,
): (req: IncomingMessage) => void {
  const known = new WeakSet<object>();
  return (req) => {
    const server = serverOf(req);
    if (server === undefined || known.has(server)) return;
    known.add(server);
    found(server, req);
  };
}
