/**
 * `throw null`: Express takes any falsy value for "no error" and routes on, to a 404 that hides a failure. Its tracing
 * channel (router 2.3) tells what was thrown, so that the request can be answered by 500 all the same.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

const CHANNEL = 'tracing:express.router.request:end';
const LOST = Symbol('hindsight.lost-throw');

interface Marked extends IncomingMessage {
  [LOST]?: { thrown: unknown };
}

function isFalsyThrow(message: unknown): message is { req: Marked; error: unknown } {
  if (typeof message !== 'object' || message === null || !('error' in message) || !('req' in message))
    return false;
  return !message.error && typeof message.req === 'object';
}

/** Marks requests in which something falsy was thrown; returns the function that stops it. */
export function watchLostThrows(): () => void {
  const listen = (message: unknown): void => {
    if (isFalsyThrow(message)) message.req[LOST] = { thrown: message.error };
  };
  subscribe(CHANNEL, listen);
  return () => {
    unsubscribe(CHANNEL, listen);
  };
}

/** The falsy value that a handler of this request threw; null where none was. */
export function lostThrowOf(req: IncomingMessage): { thrown: unknown } | null {
  return (req as Marked)[LOST] ?? null;
}
