/**
 * Answers a request whose body can't or won't be read to its end: the error page goes out at once, the connection closes
 * gently behind it, and whoever was reading the body is told.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { linger as lingerNow, lingerOnClose } from './linger.ts';
import type { LingerLimits } from './linger.ts';

/** Writes the error page; where headers are out it closes the socket instead. */
export type AnswerError = (error: unknown, req: IncomingMessage, res: ServerResponse) => void;

export interface CutOff {
  error: Error;
  req: IncomingMessage;
  res: ServerResponse;
  answer: AnswerError;
  linger: LingerLimits;
}

function setMethod(req: IncomingMessage, name: 'push' | 'destroy', value: () => unknown): void {
  Object.defineProperty(req, name, { configurable: true, writable: true, value });
}

export function cutOff({ error, req, res, answer, linger }: CutOff): void {
  // Node takes the socket off a request whose stream is destroyed by a pipeline.
  const socket = res.socket ?? req.socket;
  const destroy = req.destroy.bind(req);
  // Readers destroy a stream that failed, and with it the socket that the page still has to leave through.
  setMethod(req, 'destroy', () => req);
  setMethod(req, 'push', () => true);
  socket.once('close', () => {
    setMethod(req, 'destroy', destroy);
    destroy();
  });
  if (!res.headersSent) {
    lingerOnClose(socket, linger);
    res.setHeader('connection', 'close');
  } else if (res.writableEnded) {
    // The answer is complete, but nothing can be read behind this body. A client that does not take it is not waited for.
    const timer = setTimeout(() => socket.destroy(), linger.ms);
    res.once('close', () => {
      clearTimeout(timer);
      lingerNow(socket, linger);
    });
  }
  answer(error, req, res);
  process.nextTick(() => {
    if (req.listenerCount('error') > 0) req.emit('error', error);
  });
}
