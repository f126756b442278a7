/** A TCP relay in front of PostgreSQL that can fail in the ways in which a network or a server does. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** `refuse`: no connection, and those that are open are closed. `reset`: each ends at its next byte. `stall`: bytes are taken, none passed on. */
export type RelayState = 'pass' | 'refuse' | 'reset' | 'stall' | { delayMs: number };

export interface Relay {
  port: number;
  set(state: RelayState): void;
  close(): Promise<void>;
}

/** Only TCP knows a reset; a Unix socket just ends. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

export async function startRelay(target: { host: string; port: number }): Promise<Relay> {
  let state: RelayState = 'pass';
  const open = new Set<Socket>();
  /** What arrived while it stalled. */
  const held: (() => void)[] = [];

  function pass(from: Socket, to: Socket, chunk: Buffer): void {
    const write = (): void => {
      if (!to.destroyed) to.write(chunk);
    };
    if (state === 'reset' || state === 'refuse') [from, to].forEach(reset);
    else if (state === 'stall') held.push(write);
    else if (state === 'pass') write();
    else setTimeout(write, state.delayMs);
  }

  const server = createServer((client) => {
    if (state === 'refuse') {
      client.resetAndDestroy();
      return;
    }
    const upstream = target.host.startsWith('/')
      ? connect(`${target.host}/.s.PGSQL.${target.port}`)
      : connect(target.port, target.host);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('data', (chunk) => {
        pass(from, to, chunk);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  function endAll(): void {
    for (const socket of open) socket.destroy();
  }

  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      state = next;
      if (next === 'refuse') endAll();
      if (next === 'pass') for (const write of held.splice(0)) write();
    },
    async close() {
      endAll();
      server.close();
      await once(server, 'close');
    },
  };
}
