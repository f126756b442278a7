import { subscribe, unsubscribe } from 'node:diagnostics_channel';

type Moment = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error';

/** Subscribes to a tracing channel. An error thrown by a subscriber would be an uncaught exception in the host. */
export function listen(
  name: string,
  handlers: Partial<Record<Moment, (message: never) => void>>,
): () => void {
  const undo = Object.entries(handlers).map(([moment, handle]) => {
    const channel = `tracing:${name}:${moment}`;
    const listener = (message: unknown): void => {
      try {
        handle(message as never);
      } catch {
        // The event is not recorded.
      }
    };
    subscribe(channel, listener);
    return () => unsubscribe(channel, listener);
  });
  return () => {
    for (const stop of undo) stop();
  };
}
