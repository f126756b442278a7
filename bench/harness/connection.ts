/** One keep-alive connection of the load generator: sends a GET, calls back when the whole answer is there. */
import { connect, type Socket } from 'node:net';

export interface Connection {
  /** The status, and the lines of the head; 0 and none if the connection breaks. */
  get(path: string, done: (status: number, head: string) => void): void;
  close(): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** Bytes of the body; the measured pages all announce theirs. */
function lengthOf(head: string): number {
  return Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
}

/** `failed` is called once when the connection breaks; what was asked is answered with status 0 then. */
export function openConnection(
  port: number,
  failed: (error: Error | null) => void = () => undefined,
): Connection {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let received: Buffer = Buffer.alloc(0);
  let missing = -1;
  let head = '';
  let waiting: ((status: number, head: string) => void) | null = null;

  function answer(): void {
    const done = waiting;
    waiting = null;
    missing = -1;
    received = Buffer.alloc(0);
    done?.(Number(head.slice(9, 12)), head);
  }

  function readHead(chunk: Buffer): void {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const end = received.indexOf(HEAD_END);
    if (end === -1) return;
    head = received.toString('latin1', 0, end);
    missing = lengthOf(head) - (received.length - end - HEAD_END.length);
    if (missing <= 0) answer();
  }

  socket.on('data', (chunk: Buffer) => {
    if (missing === -1) {
      readHead(chunk);
      return;
    }
    missing -= chunk.length;
    if (missing <= 0) answer();
  });
  socket.on('error', failed);
  socket.on('close', () => {
    head = '';
    answer();
    failed(null);
  });
  return {
    get(path, done) {
      if (socket.destroyed) {
        done(0, '');
        return;
      }
      waiting = done;
      socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/html\r\n\r\n`);
    },
    close: () => socket.destroy(),
  };
}
