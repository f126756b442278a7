/** Events of the process: all profilers are one listener of each, because Node.js warns from eleven on, and tests make many applications. */
type Event = 'exit' | 'uncaughtExceptionMonitor' | 'warning';
type Listener = (...args: never[]) => void;

const listeners = new Map<Event, { all: Set<Listener>; listen: (...args: unknown[]) => void }>();

function made(event: Event) {
  const all = new Set<Listener>();
  const listen = (...args: unknown[]): void => {
    for (const listener of all) Reflect.apply(listener, process, args as never[]);
  };
  const entry = { all, listen };
  listeners.set(event, entry);
  return entry;
}

/** Returns what undoes it. */
export function onProcess(event: Event, listener: Listener): () => void {
  const { all, listen } = listeners.get(event) ?? made(event);
  const emitter: NodeJS.EventEmitter = process;
  if (all.size === 0) emitter.on(event, listen);
  all.add(listener);
  return () => {
    all.delete(listener);
    if (all.size === 0) emitter.off(event, listen);
  };
}
