/**
 * `throw null`: Express takes any falsy value for "no error" and routes on, to a 404 that hides a failure. Its tracing
 * channel (router 2.3) tells what was thrown, so that the request can be answered by 500 all the same.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

export interface LostThrows {
  /** The falsy value that a handler of this request threw; null where none was. */
  of(req: IncomingMessage): { thrown: unknown } | null;
  close(): void;
}

const CHANNEL = 'tracing:express.router.request:end';

function isFalsyThrow(message: unknown): message is { req: IncomingMessage; error: unknown } {
  if (typeof message !== 'object' || message === null || !('error' in message) || !('req' in message))
    return false;
  return !message.error && typeof message.req === 'object';
}

export function watchLostThrows(): LostThrows {
  const lost = new WeakMap<IncomingMessage, { thrown: unknown }>();
  const listen = (message: unknown): void => {
    if (isFalsyThrow(message)) lost.set(message.req, { thrown: message.error });
  };
  subscribe(CHANNEL, listen);
  return {
    of: (req) => lost.get(req) ?? null,
    close: () => {
      unsubscribe(CHANNEL, listen);
    },
  };
}
