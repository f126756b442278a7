/**
 * Closes a connection whose client is still sending: the response is sent, then incoming data is discarded for a while. Closing at
 * once would reset the connection, and the client would lose the page (RFC 9112, section 9.6).
 */
import type { Socket } from 'node:net';

export interface LingerLimits {
  /** Bytes discarded at most. */
  bytes: number;
  ms: number;
}

export const defaultLingerLimits: LingerLimits = { bytes: 64 * 1024 * 1024, ms: 2000 };

/** Ends the writing side, takes the reading side from the HTTP parser, and destroys the socket at the end. */
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
  // While the HTTP parser owns a paused socket, only its own `resume` listener restarts reading.
  if (socket.isPaused()) socket.once('resume', discard);
  else discard();
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => {
    clearTimeout(timer);
  });
  socket.end();
  socket.resume();
}

/** Makes Node linger instead of closing the socket after its last response. The first call sets the limits. */
export function lingerOnClose(socket: Socket, limits: LingerLimits): void {
  if (Object.hasOwn(socket, 'destroySoon')) return;
  const destroySoon = (): void => {
    linger(socket, limits);
  };
  socket.destroySoon = destroySoon;
}
