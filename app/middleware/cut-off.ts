/**
 * Responds to a request whose body can't or won't be read to its end: sends the error page at once, lets the connection close
 * gracefully, and fails the body's readers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setMethod } from './body-tap.ts';
import { linger as lingerNow, lingerOnClose } from './linger.ts';
import type { LingerLimits } from './linger.ts';

/** Writes the error page; once headers are sent it destroys the socket instead. */
export type RespondWithError = (error: unknown, req: IncomingMessage, res: ServerResponse) => void;

export interface CutOff {
  error: Error;
  req: IncomingMessage;
  res: ServerResponse;
  respond: RespondWithError;
  linger: LingerLimits;
}

export function cutOff({ error, req, res, respond, linger }: CutOff): void {
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
    lingerOnClose(socket, linger);
    res.setHeader('connection', 'close');
  } else if (res.writableEnded) {
    // The response is complete, but the rest of the body can't be skipped. Don't wait for a client that does not read it.
    const timer = setTimeout(() => socket.destroy(), linger.ms);
    res.once('close', () => {
      clearTimeout(timer);
      lingerNow(socket, linger);
    });
  }
  respond(error, req, res);
  process.nextTick(() => {
    if (req.listenerCount('error') > 0) req.emit('error', error);
  });
}
