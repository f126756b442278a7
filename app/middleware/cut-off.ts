/**
 * Responds to a request whose body can't or won't be read to its end: sends the error page at once, lets the connection close
 * gracefully, and fails the body's readers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setMethod } from './body-tap.ts';
import type { Socket } from 'node:net';

export interface LingerLimits {
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

export type RespondWithError = (error: unknown, req: IncomingMessage, res: ServerResponse) => void;

interface CutOff {
  error: Error;
  req: IncomingMessage;
  res: ServerResponse;
  respond: RespondWithError;
  linger: LingerLimits;
}

export function cutOff({ error, req, res, respond, linger: limits }: CutOff): void {
  // Node detaches the socket from a request whose stream a pipeline destroyed.
  const socket = res.socket ?? req.socket;
  const destroy = req.destroy.bind(req);
  // A reader destroys a failed stream, and with it the socket through which the page still has to be sent.
  setMethod(req, 'destroy', () => req);
  setMethod(req, 'push', () => true);
  socket.once('close', () => {
    setMethod(req, 'destroy', () => destroy());
    destroy();
  });
  if (!res.headersSent) {
    lingerOnClose(socket, limits);
    res.setHeader('connection', 'close');
  } else if (res.writableEnded) {
    // The response is complete, but the rest of the body can't be skipped. Don't wait for a client that does not read it.
    const timer = setTimeout(() => socket.destroy(), limits.ms);
    res.once('close', () => {
      clearTimeout(timer);
      linger(socket, limits);
    });
  }
  respond(error, req, res);
  process.nextTick(() => {
    if (req.listenerCount('error') > 0) req.emit('error', error);
  });
}
