/**
 * `throw null`: Express takes any falsy value for "no error" and continues routing, to a 404 that hides the failure. Its tracing
 * channel (router 2.3) reports the value, so that the response can be a 500.
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

/** The falsy value that a handler of this request threw; null if there is none. */
export function lostThrowOf(req: IncomingMessage): { thrown: unknown } | null {
  return (req as Marked)[LOST] ?? null;
}
