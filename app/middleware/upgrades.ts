/**
 * Requests that become another protocol, WebSockets mostly: they are no `request` event, so no middleware sees them.
 *
 * The server's `emit` is wrapped, on the server itself: a listener of our own would make Node treat every such request otherwise
 * where the host has none, would be counted by who counts listeners, and could not run the host's in the request's context.
 * Node emits `upgrade` only where the host listens for it. Nothing is answered, and the request's sockets stay the host's.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Context, ContextTracker } from '../profiler/context.ts';
import type { BodyFact } from '../profiler/facts.ts';
import type { Recorder } from '../profiler/recorder.ts';
import { isProfilerTarget } from '../urls.ts';
import { createBlockReader } from './header-block.ts';
import { requestFactOf, type RequestSource, targetOf } from './request-fact.ts';
import { createServerLookout } from './server-of.ts';
import { watchUpgradeAnswer } from './upgrade-answer.ts';

export interface UpgradeWatchOptions {
  recorder: Recorder;
  tracker: ContextTracker;
  sourceOf: (req: IncomingMessage) => RequestSource;
  previewBytes: number;
  /** Whether a request is recorded; those that are not leave no outline either. */
  takes: (headers: IncomingMessage['headers']) => boolean;
  /** Called once per upgrade, inside its context. */
  onRequest: readonly ((context: Context) => void)[];
}

export interface UpgradeWatch {
  /** Learns the server of a request. */
  see(req: IncomingMessage): void;
  attach(server: Server): void;
  /** Goes with Node 22: the preset of prototypes asks for the server's `emit` without ours. */
  emitOf(server: Server): unknown;
  /** Leaves all servers as they were. */
  close(): void;
}

type Emit = (...args: unknown[]) => boolean;
type Counted = Duplex & { bytesRead?: number };

const NOTHING = Buffer.alloc(0);

/** What comes in after the head of the request: counted, and not looked at. Holds the socket no longer than it is open. */
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
  const seen = new WeakSet<object>();
  const attached = new Set<WeakRef<Server>>();
  const undoOf = new WeakMap<Server, () => void>();
  /** Goes with Node 22, like `emitOf`. An `emit` of ours -> the one that it wraps. */
  const beneath = new WeakMap<object, () => Emit>();
  const readBlock = createBlockReader();
  let closed = false;

  function open(req: IncomingMessage, socket: Counted, head: unknown): Context | null {
    if (closed || tracker.isOpen(req) || socket.destroyed) return null;
    if (isProfilerTarget(targetOf(req)) || !takes(req.headers)) return null;
    const source = sourceOf(req);
    const context = recorder.open('request');
    context.add('request', requestFactOf(req, source, false));
    const received = countReceived(socket, head);
    const answer = watchUpgradeAnswer(socket, {
      previewBytes,
      elapsedMs: () => context.elapsedMs(),
      readBlock,
      onHead: () => {
        recorder.headersSent(context);
      },
    });
    context.add('body', received.fact);
    context.add('response', answer.fact);
    // What hands it to an application of Express (express-ws) finds it open.
    tracker.open(req, context);
    socket.once('close', (hadError: unknown) => {
      tracker.forget(req);
      received.ended();
      answer.ended(hadError === true);
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
        // Nobody stands above a server's `emit` who could answer: the host gets its connection, with less told of it.
      }
      return emit();
    });
  }

  function attach(server: Server): void {
    if (closed || seen.has(server)) return;
    seen.add(server);
    const own = Object.getOwnPropertyDescriptor(server, 'emit');
    const prototype = Object.getPrototypeOf(server) as { emit: Emit };
    // Of the prototype as it is now: others may have wrapped it since.
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
    beneath.set(observedEmit, emitBefore);
    undoOf.set(server, () => {
      if (server.emit !== (observedEmit as Server['emit'])) return;
      if (own === undefined) Reflect.deleteProperty(server, 'emit');
      else Object.defineProperty(server, 'emit', own);
    });
    attached.add(new WeakRef(server));
  }

  return {
    attach,
    emitOf: ({ emit }) => beneath.get(emit)?.() ?? emit,
    see: createServerLookout((server) => {
      try {
        attach(server);
      } catch {
        // One that can't be changed: what it upgrades is not recorded.
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
