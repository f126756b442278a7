/**
 * How long new connections of outgoing calls took, from their sockets' events: DNS lookup, TCP, TLS. A socket that undici opens
 * with TLS is visible only when it is ready, so its parts come as one sum.
 */
import type { Socket } from 'node:net';

export interface ConnectionParts {
  lookupMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  allMs?: number | null;
}

export interface NewConnection {
  startMark: number;
  parts: ConnectionParts;
}

export function createConnectionTimes() {
  const known = new WeakMap<Socket, NewConnection>();
  const beginnings = new WeakMap<object, number[]>();

  function watch(socket: Socket): ConnectionParts {
    const before = known.get(socket);
    if (before !== undefined) return before.parts;
    const startMark = performance.now();
    let last = startMark;
    const parts: ConnectionParts = { lookupMs: null, connectMs: null, tlsMs: null };
    known.set(socket, { startMark, parts });
    const step = (): number => {
      const now = performance.now();
      const took = now - last;
      last = now;
      return took;
    };
    socket.once('lookup', () => (parts.lookupMs ??= step()));
    socket.once('connect', () => (parts.connectMs = step()));
    socket.once('secureConnect', () => (parts.tlsMs = step()));
    return parts;
  }

  return {
    watch,
    begin(connector: object): void {
      const marks = beginnings.get(connector) ?? [];
      marks.push(performance.now());
      beginnings.set(connector, marks);
    },
    end(connector: object, socket: Socket | null): void {
      const marks = beginnings.get(connector) ?? [];
      // With several connections in progress through one connector, we can't tell which of them this is.
      const startMark = marks.length === 1 ? marks[0] : undefined;
      marks.shift();
      if (socket === null || known.has(socket)) return;
      const parts: ConnectionParts = { lookupMs: null, connectMs: null, tlsMs: null };
      if (startMark !== undefined) parts.allMs = performance.now() - startMark;
      known.set(socket, { startMark: startMark ?? performance.now(), parts });
    },
    since(socket: Socket, mark: number): ConnectionParts | null {
      const connection = known.get(socket);
      return connection !== undefined && connection.startMark >= mark ? connection.parts : null;
    },
  };
}
