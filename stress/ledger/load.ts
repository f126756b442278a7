/**
 * Load whose every answer is booked: keep-alive connections that ask one request after the other and read the tokens of
 * each answer. One that breaks, or is refused while the service restarts, is made anew.
 */
import { connect, type Socket } from 'node:net';

export interface Answer {
  status: number;
  token: string | null;
  /** Of the error page, where there is one. */
  child: string | null;
}

export interface LoadOptions {
  port: number;
  connections: number;
  /** Path of the next request; null: there is none. */
  next: () => string | null;
  answered: (answer: Answer) => void;
  /** A request was sent and the connection ended without an answer to it. */
  broken: () => void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** Milliseconds before a connection is made anew. */
const AGAIN_AFTER = 20;

function readHead(head: string): Answer & { length: number; last: boolean } {
  return {
    status: Number(head.slice(9, 12)),
    token: /\r\nx-debug-token: ([0-9a-f]{6})\r?/i.exec(head)?.[1] ?? null,
    child: /\r\nx-previous-debug-token: ([0-9a-f]{6})\r?/i.exec(head)?.[1] ?? null,
    length: Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0),
    last: /\r\nconnection: close/i.test(head),
  };
}

/** Asks on one connection until there is nothing more to ask, or it ends; false in the latter case. */
function useConnection({ port, next, answered, broken }: LoadOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let received: Buffer = Buffer.alloc(0);
    let waits = false;
    let done = false;

    function ask(): void {
      const path = next();
      if (path === null) {
        done = true;
        socket.destroy();
        return;
      }
      waits = true;
      socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/html\r\n\r\n`);
    }

    function read(chunk: Buffer): void {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const end = received.indexOf(HEAD_END);
      if (end === -1) return;
      const { length, last, ...answer } = readHead(received.toString('latin1', 0, end));
      if (received.length < end + HEAD_END.length + length) return;
      received = Buffer.alloc(0);
      waits = false;
      answered(answer);
      if (last) socket.destroy();
      else ask();
    }

    socket.once('connect', ask);
    socket.on('data', read);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      if (waits) broken();
      resolve(done);
    });
  });
}

/** Resolves when `next` has said null to every connection. */
export async function runLoad(options: LoadOptions): Promise<void> {
  async function keepAsking(): Promise<void> {
    while (!(await useConnection(options))) await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER));
  }
  await Promise.all(Array.from({ length: options.connections }, keepAsking));
}
