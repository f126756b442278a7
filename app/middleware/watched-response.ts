/**
 * Observes a response and changes at most its headers, if options say so: its methods are replaced by functions that pass their arguments on unchanged and record
 * them. `emit` is bound to the request's context, because finish and close otherwise fire outside of it.
 */
import { EventEmitter, errorMonitor } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Context, ContextTracker } from '../profiler/record/context.ts';
import { createOpenList } from '../profiler/record/open-list.ts';
import { rawHeader } from '../profiler/record/raw-headers.ts';
import type { ExposeToken } from './expose-token.ts';
import { changeHeader, valueText, withEachNameOnce } from './head-arguments.ts';
import { headerMethods, HeaderNotes, noticeHook } from './header-writes.ts';
import {
  forgetResponse,
  type Method,
  observeResponse,
  replaceMethods,
  type ResponseObserver,
} from './response-methods.ts';
import { WatchedResponse } from './response-notes.ts';
import type { AddServerTiming } from './server-timing.ts';
import { ServerResponse } from '../node-http.ts';

export interface ResponseOptions {
  tracker: ContextTracker;
  previewBytes: number;
  /** `file:line` of own code that sends the response; called for a 4xx or 5xx without a recorded error. */
  findSender?: (() => string | null) | undefined;
  onSourceError?: ((context: Context, error: unknown) => void) | undefined;
  exposeToken?: ExposeToken | undefined;
  serverTiming?: AddServerTiming | undefined;
}

interface ResponseWatchOptions extends ResponseOptions {
  onHeaders: (context: Context, req: IncomingMessage) => void;
  onClose: (context: Context, req: IncomingMessage) => void;
}

interface Watched {
  res: ServerResponse;
  context: Context;
  fact: WatchedResponse;
  /** The header `x-debug-token-link`. */
  link: string;
  /** Of a stream that was piped into it. */
  sourceError?: unknown;
}

type Observed = ServerResponse & { _hasBody?: boolean };

/** An error that was thrown has a line of its own, and our pages have none of the application's. */
function hasSender({ context }: Watched): boolean {
  return context.summary === null && context.kind !== 'profiler' && context.first('error') === undefined;
}

/** A client may close at the last byte that `Content-Length` announces, before a stream behind the response has ended it. */
function isWhole({ res, fact }: Watched): boolean {
  const length = rawHeader(fact.rawHeaders, 'content-length');
  return length !== null && !res.writableEnded && fact.bodyBytes === Number(length);
}

/** Whether this process closed the connection: its client had neither ended nor reset it. */
function isClosedHere({ req, errored }: ServerResponse): boolean {
  // None for a request that no server made.
  const socket = req.socket as typeof req.socket | null | undefined;
  if (socket === null || socket === undefined || socket.readableEnded) return false;
  return [null, errored, req.errored].includes(socket.errored);
}

function isChunk(given: unknown): boolean {
  return typeof given === 'string' || given instanceof Uint8Array;
}

const TOKEN = 'x-debug-token';
const LINK = 'x-debug-token-link';

/** A proxy passes on the headers of the service behind it, which may have a token of its own. */
function withOwnToken({ context, link }: Watched, res: ServerResponse, args: unknown[]): unknown[] {
  let isReplaced = false;
  const given = changeHeader(res, args, TOKEN, (sent) => {
    isReplaced = sent !== '' && sent !== context.token;
    return isReplaced ? context.token : null;
  });
  return isReplaced ? changeHeader(res, given, LINK, () => link) : given;
}

export function createResponseWatch(options: ResponseWatchOptions) {
  const { previewBytes, onHeaders, onClose, tracker, exposeToken, serverTiming, findSender } = options;
  const open = createOpenList<Watched>();
  // Before the application can take a method from there.
  replaceMethods(ServerResponse.prototype);

  function passHead(known: Watched, res: Observed, original: Method, args: unknown[]): unknown {
    const { context, fact } = known;
    const isOursAlone = res.getHeaderNames().every((name) => name === TOKEN || name === LINK);
    let given = withOwnToken(known, res, isOursAlone ? withEachNameOnce(args) : args);
    if (exposeToken !== undefined) given = exposeToken(res, given);
    if (serverTiming !== undefined) given = serverTiming(res, given, context);
    const result = Reflect.apply(original, res, given);
    if (fact.headersAtMs !== null) return result;
    fact.noteHeaders(res, context.elapsedMs());
    if (hasSender(known)) fact.sentFrom = findSender?.() ?? null;
    onHeaders(context, res.req);
    return result;
  }

  /** `emit`: without a listener, because ten are the most that Node.js takes without a warning, and they are the application's. */
  function passEvent(known: Watched, res: Observed, event: unknown, emit: () => unknown): unknown {
    const isFinish = event === 'finish';
    if (event === 'close') ended(known);
    if (isFinish) known.fact.isSent = true;
    const result = emit();
    // A server has taken its socket back by now, and emits `close`, which need not follow for a response that no server made.
    if (isFinish && res.socket !== null) process.nextTick(ended, known);
    return result;
  }

  function summaryObserverOf(known: Watched): ResponseObserver {
    return {
      writeHead: (res: Observed, original: Method, args: unknown[]) => passHead(known, res, original, args),
      emit: (res: Observed, original: Method, args: unknown[]) =>
        passEvent(known, res, args[0], () => Reflect.apply(original, res, args)),
    };
  }

  function observerOf(known: Watched, notes: HeaderNotes): ResponseObserver {
    const { context, fact } = known;
    /** A response to HEAD, a 204 and a 304 send no body, whatever is passed to `end`. */
    const noteChunk = (res: Observed, args: unknown[]): void => {
      if (res._hasBody !== false) fact.noteChunk(args[0], args[1]);
    };
    return {
      writeHead: (res: Observed, original: Method, args: unknown[]) => passHead(known, res, original, args),
      write(res: Observed, original: Method, args: unknown[]) {
        const { writableEnded } = res;
        const result = Reflect.apply(original, res, args);
        if (!writableEnded) noteChunk(res, args);
        else if (isChunk(args[0])) notes.noteRefused('write', null);
        return result;
      },
      end(res: Observed, original: Method, args: unknown[]) {
        const { writableEnded, headersSent } = res;
        const result = Reflect.apply(original, res, args);
        if (!writableEnded) {
          noteChunk(res, args);
          if (headersSent) fact.endedAtMs = context.elapsedMs();
        } else if (isChunk(args[0])) {
          notes.noteRefused('end', null);
        }
        return result;
      },
      emit(res: Observed, original: Method, args: unknown[]) {
        if (args[0] === 'pipe') watchSource(known, args[1]);
        return passEvent(known, res, args[0], () =>
          tracker.current() === context
            ? Reflect.apply(original, res, args)
            : tracker.run(context, () => Reflect.apply(original, res, args)),
        );
      },
      ...headerMethods(notes),
    };
  }

  /** A stream that fails doesn't end the response. What its listener does then may look like success. */
  function watchSource(known: Watched, source: unknown): void {
    if (!(source instanceof EventEmitter)) return;
    source.once(errorMonitor, (error: unknown) => {
      if (!known.res.destroyed) known.sourceError = error;
    });
  }

  function ended(known: Watched): void {
    const { res, context, fact, sourceError } = known;
    if (fact.outcome !== 'running') return;
    fact.outcome = fact.isSent || res.writableFinished || isWhole(known) ? 'finished' : 'aborted';
    fact.isClosedHere = fact.outcome === 'aborted' && isClosedHere(res);
    const failure = fact.isClosedHere ? (res.req.socket.errored ?? sourceError) : sourceError;
    if (failure !== undefined && (fact.isClosedHere || (fact.outcome === 'finished' && fact.status < 400)))
      options.onSourceError?.(context, failure);
    onClose(context, res.req);
    context.onLayerChange = null;
    open.delete(known);
    forgetResponse(res);
  }

  return {
    /** Starts to watch a response; its fact is on the context at once. */
    watch(res: ServerResponse, context: Context): void {
      // Profiler pages only show what is stored already: masking and storing it again costs more than showing it.
      const fact = new WatchedResponse(context.kind === 'profiler' ? 0 : previewBytes);
      context.add('response', fact);
      const notes = context.summary !== null ? null : new HeaderNotes(context, res.writeHead, findSender);
      fact.headerNotes = notes;
      const known: Watched = { res, context, fact, link: valueText(res.getHeader(LINK)) };
      observeResponse(res, notes === null ? summaryObserverOf(known) : observerOf(known, notes));
      if (notes !== null) {
        const noticeHooks = (): void => {
          if (fact.headersAtMs === null && context.layer !== null) noticeHook(res, notes, context.layer);
        };
        context.onLayerChange = noticeHooks;
      }
      open.add(known);
    },
    /** Ends those that can never end by themselves: their client left before their turn on the connection. */
    sweep(): void {
      for (const known of open)
        if (known.res.req.destroyed && known.res.socket === null && !known.res.headersSent) ended(known);
    },
  };
}
