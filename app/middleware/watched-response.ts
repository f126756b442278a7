/**
 * A response as it is observed, never changed: `writeHead`, `write`, `end` and `emit` are replaced, for all responses of an
 * Express application at once or on one object of node:http, by functions that pass their arguments on as they are and note
 * what went by. Emitting is bound, because finish and close otherwise fire outside the request's context.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, ContextTracker } from '../profiler/context.ts';
import { createOpenList } from '../profiler/open-list.ts';
import type { ExposeToken } from './expose-token.ts';
import { createBlockReader } from './header-block.ts';
import { type HeaderMethods, HeaderNotes, noteRefused, noticeHook, observeHeaders } from './header-writes.ts';
import { WatchedResponse } from './response-notes.ts';
import { createSharedMethods } from './shared-methods.ts';

export interface ResponseWatchOptions {
  tracker: ContextTracker;
  /** Bytes of a body kept as preview. */
  previewBytes: number;
  /** The headers are out; called once. */
  onHeaders: (context: Context, req: IncomingMessage) => void;
  /** The answer is over, or its client has gone. */
  onClose: (context: Context, req: IncomingMessage) => void;
  /** The layer whose code runs; default: none is known. */
  layerOf?: ((context: Context) => object | null) | undefined;
  /** Changes the arguments of `writeHead`; absent: they stay as they are. */
  exposeToken?: ExposeToken | undefined;
}

function isChunk(given: unknown): boolean {
  return typeof given === 'string' || given instanceof Uint8Array;
}

/** The methods of every response that are replaced, as they were. */
export interface ResponseMethods {
  writeHead: ServerResponse['writeHead'];
  write: ServerResponse['write'];
  end: ServerResponse['end'];
  emit: ServerResponse['emit'];
}

/** Those of the responses of an Express application. */
export type SharedResponseMethods = ResponseMethods & HeaderMethods;

/** What is known of a response that is watched. */
interface Watched {
  context: Context;
  fact: WatchedResponse;
  /** null where it is sampled out, and where no layers run. */
  notes: HeaderNotes | null;
  /** Those that note what goes by are wrapped round these: of several wrapped round each other, one notes. */
  methods: ResponseMethods;
  /** That of the application which has it now; null where it is watched on its own. */
  prototype: object | null;
  /** Those below the methods of that application, which may be another one than it was watched in (vhost). */
  given: ResponseMethods | null;
}

type Observed = ServerResponse & { _hasBody?: boolean };

export interface ResponseWatch {
  /** Starts to watch a response; its fact is on the context at once. */
  watch(res: ServerResponse, context: Context): void;
  /** A layer starts: another application may have the response now. */
  layerEntered(res: ServerResponse): void;
  /** A layer goes on or is over. */
  layerLeft(res: ServerResponse, layer: object | null): void;
  /** Ends those that can never end by themselves: their client left before their turn on its connection came. */
  sweep(): void;
  /** Takes back what was replaced for all responses of an application. */
  close(): void;
}

export function createResponseWatch(options: ResponseWatchOptions): ResponseWatch {
  const { previewBytes, onHeaders, onClose, tracker, layerOf = () => null, exposeToken } = options;
  /** A property of its own would make each response of Express a hidden class of its own, which costs 3 µs apiece. */
  const watched = new WeakMap<ServerResponse, Watched>();
  const open = createOpenList<ServerResponse>();
  const readBlock = createBlockReader();

  /** An application that is called by another one, not mounted, gives the response a prototype with methods of its own. */
  function follow(res: ServerResponse, known: Watched): void {
    const prototype = Object.getPrototypeOf(res) as object;
    if (known.prototype === null || known.prototype === prototype) return;
    known.prototype = prototype;
    known.given = shared.given(res);
    // Not a hook that somebody has put there.
    if (known.notes !== null && !Object.hasOwn(res, 'writeHead')) known.notes.head = res.writeHead;
  }

  /** Whether what goes through the functions round these methods is to be noted of this response. */
  function isNotedBy(known: Watched, res: ServerResponse, methods: ResponseMethods): boolean {
    if (known.methods === methods) return true;
    follow(res, known);
    return known.given === methods;
  }

  /** The methods that note what goes by, and pass everything on to `methods` as it came. */
  function observe(methods: ResponseMethods): ResponseMethods {
    const find = (res: ServerResponse): Watched | undefined => {
      const found = watched.get(res);
      return found !== undefined && isNotedBy(found, res, methods) ? found : undefined;
    };
    /** A HEAD, 204 or 304 answer sends no body, whatever is handed to it. */
    const findBody = (res: Observed): WatchedResponse | undefined => {
      const found = res._hasBody === false ? undefined : find(res);
      return found?.context.outline === false ? found.fact : undefined;
    };
    return {
      writeHead: function observedWriteHead(this: Observed, ...args: unknown[]): unknown {
        const given = exposeToken === undefined ? args : exposeToken(this, args);
        const result: unknown = Reflect.apply(methods.writeHead, this, given);
        const known = find(this);
        if (known?.fact.headersAtMs === null) {
          known.fact.noteHeaders(this, known.context.elapsedMs());
          onHeaders(known.context, this.req);
        }
        return result;
      } as ServerResponse['writeHead'],
      write: function observedWrite(this: Observed, ...args: unknown[]): boolean {
        const result = Reflect.apply(methods.write, this, args) as boolean;
        findBody(this)?.noteChunk(args[0], args[1]);
        return result;
      } as ServerResponse['write'],
      end: function observedEnd(this: Observed, ...args: unknown[]): unknown {
        const { writableEnded } = this;
        const result: unknown = Reflect.apply(methods.end, this, args);
        if (!writableEnded) findBody(this)?.noteChunk(args[0], args[1]);
        else if (isChunk(args[0])) {
          const notes = find(this)?.notes ?? null;
          if (notes !== null) noteRefused(notes, layerOf, { method: 'end', name: null });
        }
        return result;
      } as ServerResponse['end'],
      emit: function boundEmit(this: Observed, ...args: Parameters<ServerResponse['emit']>): boolean {
        const known = find(this);
        if (known === undefined || known.context.outline) return Reflect.apply(methods.emit, this, args);
        const { context, fact } = known;
        if (args[0] === 'finish') fact.isSent = true;
        if (tracker.current() === context) return Reflect.apply(methods.emit, this, args);
        return tracker.run(context, () => Reflect.apply(methods.emit, this, args));
      } as ServerResponse['emit'],
    };
  }

  /** Many headers are set in a row: the last response is looked up once. */
  let latest: { res: object; known: Watched | undefined } | null = null;

  function latestOf(res: object): Watched | undefined {
    if (latest?.res !== res) latest = { res, known: watched.get(res as ServerResponse) };
    return latest.known;
  }

  function notesOf(res: ServerResponse, methods: ResponseMethods): HeaderNotes | null {
    const known = latestOf(res);
    return known !== undefined && isNotedBy(known, res, methods) ? known.notes : null;
  }

  const shared = createSharedMethods((methods) => ({
    ...observe(methods),
    ...observeHeaders(methods, { layerOf, notesOf: (res) => notesOf(res, methods) }),
  }));

  function ended(res: ServerResponse, known: Watched): void {
    if (known.fact.outcome !== 'running') return;
    known.fact.outcome = res.writableFinished ? 'finished' : 'aborted';
    onClose(known.context, res.req);
  }

  function forget(res: ServerResponse): void {
    watched.delete(res);
    open.delete(res);
  }

  function observedClose(this: ServerResponse): void {
    const known = watched.get(this);
    if (known === undefined) return;
    ended(this, known);
    forget(this);
    if (latest?.res === this) latest = null;
  }

  return {
    watch(res, context) {
      // Our own pages show what is stored already: to mask and store it again would cost more than to show it.
      const given = shared.of(res);
      let methods = given;
      const notes = methods === null || context.outline ? null : new HeaderNotes(context, res.writeHead);
      const fact = new WatchedResponse({
        previewBytes: context.kind === 'profiler' ? 0 : previewBytes,
        notes,
        readBlock,
      });
      context.add('response', fact);
      if (methods === null) {
        const { writeHead, write, end, emit } = res;
        methods = { writeHead, write, end, emit };
        // Defined, not assigned: what a host has frozen below takes no assignment.
        for (const [name, value] of Object.entries(observe(methods)))
          Object.defineProperty(res, name, { value, writable: true, enumerable: true, configurable: true });
      }
      const prototype = given === null ? null : (Object.getPrototypeOf(res) as object);
      watched.set(res, { context, fact, notes, methods, prototype, given });
      open.add(res);
      latest = null;
      res.on('close', observedClose);
    },
    layerEntered(res) {
      const known = latestOf(res);
      if (known !== undefined) follow(res, known);
    },
    layerLeft(res, layer) {
      const known = latestOf(res);
      if (known === undefined) return;
      follow(res, known);
      if (known.notes !== null) noticeHook(res, known.notes, layer);
    },
    sweep() {
      for (const res of open) {
        const known = watched.get(res);
        if (known === undefined) continue;
        if (!res.req.destroyed || res.socket !== null || res.headersSent) continue;
        ended(res, known);
        forget(res);
      }
    },
    close() {
      shared.restore();
    },
  };
}
