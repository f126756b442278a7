/**
 * Closing a connection whose client is still sending: the answer goes out, then what comes is read and thrown away for a
 * while. Closing at once makes the kernel answer the unread bytes by a reset, and the client loses the page (RFC 9112,
 * section 9.6).
 */
import type { Socket } from 'node:net';

export interface LingerLimits {
  /** Bytes thrown away at most. */
  bytes: number;
  ms: number;
}

export const defaultLingerLimits: LingerLimits = { bytes: 64 * 1024 * 1024, ms: 2000 };

/** Ends the writing side now, takes the reading side from the HTTP parser, and destroys the socket when all is said. */
export function linger(socket: Socket, { bytes, ms }: LingerLimits): void {
  if (socket.destroyed) return;
  let left = bytes;
  const discard = (): void => {
    socket.removeAllListeners('data');
    socket.removeAllListeners('end');
    socket.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    });
    socket.on('end', () => {
      if (socket.writableFinished) socket.destroy();
      else socket.once('finish', () => socket.destroy());
    });
  };
  // While the HTTP parser owns a paused socket, only its own listener for `resume` starts the reading again.
  if (socket.isPaused()) socket.once('resume', discard);
  else discard();
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => {
    clearTimeout(timer);
  });
  socket.end();
  socket.resume();
}

/** Makes Node linger where it would close the socket after its last response. The first to ask sets the limits. */
export function lingerOnClose(socket: Socket, limits: LingerLimits): void {
  if (Object.hasOwn(socket, 'destroySoon')) return;
  socket.destroySoon = () => {
    linger(socket, limits);
  };
}
