/**
 * Observes a response and changes at most its headers, where options say so: its methods are replaced by functions that pass their arguments on unchanged and record
 * them. `emit` is bound to the request's context, because finish and close otherwise fire outside of it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Context, type ContextTracker, createSlot } from '../profiler/context.ts';
import { createOpenList } from '../profiler/open-list.ts';
import type { ExposeToken } from './expose-token.ts';
import { HeaderNotes, noticeHook, observeHeaders } from './header-writes.ts';
import { createSharedResponses } from './node-22/shared-responses.ts';
import { WatchedResponse } from './response-notes.ts';
import type { AddServerTiming } from './server-timing.ts';

export interface ResponseWatchOptions {
  tracker: ContextTracker;
  /** Bytes of a body stored as preview. */
  previewBytes: number;
  /** The headers were sent; called once. */
  onHeaders: (context: Context, req: IncomingMessage) => void;
  /** The response is finished, or its client has gone. */
  onClose: (context: Context, req: IncomingMessage) => void;
  /** `file:line` of own code that sends the response; called for a 5xx without a recorded error. */
  findSender?: (() => string | null) | undefined;
  /** Changes the arguments of `writeHead`; absent: they stay as they are. */
  exposeToken?: ExposeToken | undefined;
  /** The same, for the header `server-timing`. */
  serverTiming?: AddServerTiming | undefined;
}

type ResponseMethods = Pick<ServerResponse, 'writeHead' | 'write' | 'end' | 'emit'>;

interface Watched {
  res: ServerResponse;
  context: Context;
  fact: WatchedResponse;
}

type Find = (res: ServerResponse) => Watched | undefined;
type Observed = ServerResponse & { _hasBody?: boolean };

export interface ResponseWatch {
  /** Starts to watch a response; its fact is on the context at once. */
  watch(res: ServerResponse, context: Context): void;
  /** Ends those that can never end by themselves: their client left before their turn on the connection. */
  sweep(): void;
  /** Restores what was replaced for all responses of an application. */
  close(): void;
}

/** Nothing but the code that sends the response says why it fails. */
function isUnexplained({ context }: Watched): boolean {
  return context.summary === null && context.first('error') === undefined;
}

function isChunk(given: unknown): boolean {
  return typeof given === 'string' || given instanceof Uint8Array;
}

export function createResponseWatch(options: ResponseWatchOptions): ResponseWatch {
  const { previewBytes, onHeaders, onClose, tracker, exposeToken, serverTiming, findSender } = options;
  const open = createOpenList<Watched>();
  const watched = createSlot<Watched | undefined>('watched response');

  /** Methods that record on the response that `find` returns, and pass everything on to `methods` unchanged. */
  function observe(methods: ResponseMethods, find: Find): ResponseMethods {
    /** A response to HEAD, a 204 and a 304 send no body, whatever is passed to `end`. */
    const findBody = (res: Observed): WatchedResponse | undefined => {
      const found = res._hasBody === false ? undefined : find(res);
      return found?.context.summary === null ? found.fact : undefined;
    };
    return {
      writeHead: function observedWriteHead(this: Observed, ...args: unknown[]): unknown {
        let given = exposeToken === undefined ? args : exposeToken(this, args);
        const known = find(this);
        if (serverTiming !== undefined && known !== undefined)
          given = serverTiming(this, given, known.context);
        const result: unknown = Reflect.apply(methods.writeHead, this, given);
        if (known?.fact.headersAtMs === null) {
          known.fact.noteHeaders(this, known.context.elapsedMs());
          if (known.fact.status >= 500 && isUnexplained(known)) known.fact.sentFrom = findSender?.() ?? null;
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
        const { writableEnded, headersSent } = this;
        const bytesBefore = find(this)?.fact.bodyBytes;
        const result: unknown = Reflect.apply(methods.end, this, args);
        if (!writableEnded) {
          const body = findBody(this);
          // HTTP/2 has passed it to `write`.
          if (body?.bodyBytes === bytesBefore) body?.noteChunk(args[0], args[1]);
          const known = headersSent ? find(this) : undefined;
          if (known !== undefined) known.fact.endedAtMs = known.context.elapsedMs();
        } else if (isChunk(args[0])) {
          find(this)?.fact.headerNotes?.noteRefused('end', null);
        }
        return result;
      } as ServerResponse['end'],
      emit: function boundEmit(this: Observed, ...args: Parameters<ServerResponse['emit']>): boolean {
        const known = find(this);
        const isFinish = args[0] === 'finish';
        if (known === undefined || (known.context.summary !== null && !isFinish))
          return Reflect.apply(methods.emit, this, args);
        const { context, fact } = known;
        if (isFinish) fact.isSent = true;
        const result =
          context.summary !== null || tracker.current() === context
            ? Reflect.apply(methods.emit, this, args)
            : tracker.run(context, () => Reflect.apply(methods.emit, this, args));
        // A server has taken its socket back by now, and emits `close`, which need not follow for a response that no server made.
        if (isFinish && this.socket !== null) process.nextTick(ended, known);
        return result;
      } as ServerResponse['emit'],
    };
  }

  const shared = createSharedResponses<Watched>((methods, find) => ({
    ...observe(methods, find),
    ...observeHeaders(methods, (res) => find(res)?.fact.headerNotes ?? null),
  }));

  /** A response of plain node:http, where no layers set headers. */
  function observeAlone(known: Watched): void {
    const { writeHead, write, end, emit } = known.res;
    // Defined, not assigned: assignment fails if the host has frozen the prototype.
    for (const [name, value] of Object.entries(observe({ writeHead, write, end, emit }, () => known)))
      Object.defineProperty(known.res, name, { value, writable: true, enumerable: true, configurable: true });
  }

  function layerChanges(context: Context): void {
    const known = watched.get(context);
    // Nothing is attributed to layers any more.
    if (known?.fact.headersAtMs !== null) return;
    const { headerNotes } = known.fact;
    shared.follow(known.res);
    if (headerNotes !== null && context.layer !== null) noticeHook(known.res, headerNotes, context.layer);
  }

  function ended(known: Watched): void {
    const { res, context, fact } = known;
    if (fact.outcome !== 'running') return;
    fact.outcome = fact.isSent || res.writableFinished ? 'finished' : 'aborted';
    onClose(context, res.req);
    context.onLayerChange = null;
    watched.set(context, undefined);
    shared.delete(res);
    open.delete(known);
  }

  return {
    watch(res, context) {
      const fact = new WatchedResponse({
        // Profiler pages only show what is stored already: masking and storing it again costs more than showing it.
        previewBytes: context.kind === 'profiler' ? 0 : previewBytes,
      });
      context.add('response', fact);
      const known: Watched = { res, context, fact };
      if (!shared.add(res, known)) observeAlone(known);
      else {
        const notes = context.summary !== null ? null : new HeaderNotes(context, res.writeHead, findSender);
        fact.headerNotes = notes;
        watched.set(context, known);
        context.onLayerChange = layerChanges;
      }
      open.add(known);
      res.on('close', () => {
        ended(known);
      });
    },
    sweep() {
      for (const known of open)
        if (known.res.req.destroyed && known.res.socket === null && !known.res.headersSent) ended(known);
    },
    close() {
      shared.close();
    },
  };
}
