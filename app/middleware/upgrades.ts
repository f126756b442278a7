/**
 * Requests that become another protocol, mostly WebSockets: middleware doesn't see them. Wraps the server's own `emit`; a listener
 * would change how Node treats upgrades that the host doesn't listen for, would be counted, and could not run the host's in the
 * request's context. Nothing is sent, and the sockets stay the host's.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Context, ContextTracker } from '../profiler/context.ts';
import type { BodyFact } from '../profiler/facts.ts';
import type { Recorder } from '../profiler/recorder.ts';
import { isProfilerTarget } from '../urls.ts';
import { requestFactOf, type RequestSource, targetOf } from './request-fact.ts';
import { oncePerServer } from './server-of.ts';
import { watchUpgradeResponse } from './upgrade-response.ts';

export interface UpgradeWatchOptions {
  recorder: Recorder;
  tracker: ContextTracker;
  sourceOf: (req: IncomingMessage) => RequestSource;
  previewBytes: number;
  /** Whether a request is recorded; of others not even a summary is. */
  takes: (headers: IncomingMessage['headers']) => boolean;
  /** Called once per upgrade, inside its context. */
  onRequest: readonly ((context: Context) => void)[];
}

export interface UpgradeWatch {
  /** Observes the server of a request. */
  observeServer(req: IncomingMessage): void;
  attach(server: Server): void;
  /** Restores all servers. */
  close(): void;
}

type Emit = (...args: unknown[]) => boolean;
type Counted = Duplex & { bytesRead?: number };

const NOTHING = Buffer.alloc(0);

/** Bytes received after the head of the request, counted only. Does not keep a closed socket alive. */
function countReceived(socket: Counted, head: unknown): { fact: BodyFact; ended: () => void } {
  const before = (socket.bytesRead ?? 0) - (head instanceof Uint8Array ? head.length : 0);
  let count = (): number => Math.max(0, (socket.bytesRead ?? 0) - before);
  return {
    fact: {
      get bytes() {
        return count();
      },
      contentType: null,
      preview: NOTHING,
      truncated: false,
      files: [],
    },
    ended() {
      const bytes = count();
      count = () => bytes;
    },
  };
}

export function createUpgradeWatch(options: UpgradeWatchOptions): UpgradeWatch {
  const { recorder, tracker, sourceOf, previewBytes, takes, onRequest } = options;
  const observed = new WeakSet<object>();
  const attached = new Set<WeakRef<Server>>();
  const undoOf = new WeakMap<Server, () => void>();
  let closed = false;

  function open(req: IncomingMessage, socket: Counted, head: unknown): Context | null {
    if (closed || tracker.isOpen(req) || socket.destroyed) return null;
    if (isProfilerTarget(targetOf(req)) || !takes(req.headers)) return null;
    const source = sourceOf(req);
    const context = recorder.open('request');
    context.add('request', requestFactOf(req, source, false));
    const received = countReceived(socket, head);
    const response = watchUpgradeResponse(socket, {
      previewBytes,
      elapsedMs: () => context.elapsedMs(),
      onHead: () => {
        recorder.headersSent(context);
      },
    });
    context.add('body', received.fact);
    context.add('response', response.fact);
    // For code that passes an upgraded request to an application of Express (express-ws).
    tracker.open(req, context);
    socket.once('close', (hadError: unknown) => {
      tracker.forget(req);
      received.ended();
      response.ended(hadError === true);
      recorder.finish(context);
    });
    return context;
  }

  function upgraded(emit: () => boolean, req: IncomingMessage, socket: Counted, head: unknown): boolean {
    let context: Context | null = null;
    try {
      context = open(req, socket, head);
    } catch {
      // Not recorded; the host gets its connection all the same.
    }
    if (context === null) return emit();
    const entered = context;
    return tracker.run(entered, () => {
      try {
        for (const observe of onRequest) observe(entered);
      } catch {
        // Nothing above a server's `emit` could handle this: the host gets its connection, with fewer facts recorded.
      }
      return emit();
    });
  }

  function attach(server: Server): void {
    if (closed || observed.has(server)) return;
    observed.add(server);
    const own = Object.getOwnPropertyDescriptor(server, 'emit');
    const prototype = Object.getPrototypeOf(server) as { emit: Emit };
    // The prototype's current one: others may have wrapped it since.
    const emitBefore = (): Emit => (own === undefined ? prototype.emit : (own.value as Emit));
    function observedEmit(this: Server, ...args: unknown[]): boolean {
      const before = emitBefore();
      if (args[0] !== 'upgrade' || closed || server.listenerCount('upgrade') === 0)
        return Reflect.apply(before, this, args);
      const emit = (): boolean => Reflect.apply(before, this, args);
      return upgraded(emit, args[1] as IncomingMessage, args[2] as Counted, args[3]);
    }
    Object.defineProperty(server, 'emit', {
      value: observedEmit,
      writable: true,
      enumerable: false,
      configurable: true,
    });
    undoOf.set(server, () => {
      if (server.emit !== (observedEmit as Server['emit'])) return;
      if (own === undefined) Reflect.deleteProperty(server, 'emit');
      else Object.defineProperty(server, 'emit', own);
    });
    attached.add(new WeakRef(server));
  }

  return {
    attach,
    observeServer: oncePerServer((server) => {
      try {
        attach(server);
      } catch {
        // A server that can't be changed: its upgrades are not recorded.
      }
    }),
    close() {
      closed = true;
      for (const ref of attached) {
        const server = ref.deref();
        if (server !== undefined) undoOf.get(server)?.();
      }
      attached.clear();
    },
  };
}
