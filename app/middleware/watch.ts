/**
 * First in line: opens the context of a request, sets the token headers, notes what comes in and goes out, and runs
 * everything after it inside AsyncLocalStorage.
 *
 * Emitters are bound because body and finish events otherwise fire outside the request's context (multer 1,
 * `req.on('end')`). Works on node:http objects; Express is not needed. What is kept of a request lies in a Map until its
 * answer is over: a WeakMap makes every collection of young objects dearer, a property every object of Express.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, ContextTracker } from '../profiler/context.ts';
import type { BodyFact, RequestOrigin, UploadedFile } from '../profiler/facts.ts';
import type { Recorder } from '../profiler/recorder.ts';
import type { Sampler } from '../profiler/sampling.ts';
import { isProfilerTarget, urls } from '../urls.ts';
import { tapBody } from './body-tap.ts';
import { createResponseWatch } from './watched-response.ts';

/** Where a request came from, as the service or the host works it out. */
export interface RequestSource {
  origin: RequestOrigin;
  requestId: string;
  receivedRequestId: string | null;
}

export interface WatchOptions {
  recorder: Recorder;
  tracker: ContextTracker;
  sourceOf: (req: IncomingMessage) => RequestSource;
  /** Bytes of a body kept as preview. */
  previewBytes: number;
  /** Whether a request is recorded in full; default: all are. */
  takes?: Sampler['takes'];
  /** The layer of a router whose code runs for a request; default: none is known. */
  layerOf?: (context: Context) => object | null;
  /** Called once per request, inside its context: observers that add facts beside it. */
  onRequest?: readonly ((context: Context) => void)[];
  /** Called when the answer is over, before its profile is made. */
  onFinish?: (context: Context, req: IncomingMessage) => void;
}

export interface Watch {
  (req: IncomingMessage, res: ServerResponse, next: () => void): void;
  /** The context that `watch` opened for a request, also outside its async context. */
  contextOf(req: IncomingMessage): Context | undefined;
  /** The code of a layer goes on to the next one, or is over. */
  layerLeft(req: IncomingMessage, layer: object | null): void;
  /** Takes back what was put on the applications whose requests were watched. */
  close(): void;
}

/** Requests between two looks for those that can never end. */
const SWEEP_EVERY = 1024;

type Emit = IncomingMessage['emit'];

/** Request target as sent, also below a mount. */
function targetOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { originalUrl?: unknown };
  return typeof originalUrl === 'string' ? originalUrl : (req.url ?? '');
}

/** Makes the listeners of a request with a body run in its context, whoever emits. */
function createEmitBinding(tracker: ContextTracker): (emitter: object, context: Context) => void {
  const boundAs = Symbol('bound emitter');
  interface Bound {
    [boundAs]: { context: Context; emit: Emit };
    emit: Emit;
  }
  function boundEmit(this: Bound, ...args: Parameters<Emit>): boolean {
    const { context, emit } = this[boundAs];
    if (tracker.current() === context) return Reflect.apply(emit, this, args);
    return tracker.run(context, () => Reflect.apply(emit, this, args));
  }
  return (emitter, context) => {
    const bound = emitter as Bound;
    bound[boundAs] = { context, emit: bound.emit };
    bound.emit = boundEmit as Emit;
  };
}

/** A file as multer, in its common form, leaves it on the request. */
function uploadedFile(file: unknown): UploadedFile[] {
  if (typeof file !== 'object' || file === null) return [];
  const { fieldname, originalname, mimetype, size } = file as Record<string, unknown>;
  if (typeof originalname !== 'string') return [];
  return [
    {
      field: typeof fieldname === 'string' ? fieldname : '',
      name: originalname,
      contentType: typeof mimetype === 'string' ? mimetype : '',
      bytes: typeof size === 'number' ? size : 0,
    },
  ];
}

/** Lets the fact tell what a parser, whichever it was, has put on the request by the time it is read. */
function withParsed(fact: BodyFact, req: IncomingMessage): BodyFact {
  const parts = req as IncomingMessage & { body?: unknown; file?: unknown; files?: unknown };
  return Object.defineProperties(fact, {
    parsed: { get: () => parts.body },
    files: {
      get: () =>
        [parts.file, ...(Object.values(parts.files ?? {}).flat() as unknown[])].flatMap(uploadedFile),
    },
  });
}

const LEFT = ['session', 'user'] as const;

/** What a host's middleware left on a request; accessors stay accessors, and are never called. */
function leftOn(req: IncomingMessage): object {
  const left: object = { app: (req as IncomingMessage & { app?: unknown }).app };
  for (const name of LEFT) {
    if (!Object.hasOwn(req, name)) continue;
    const own = Object.getOwnPropertyDescriptor(req, name);
    if (own === undefined) continue;
    Object.defineProperty(left, name, 'value' in own ? own : { get: () => undefined, enumerable: true });
  }
  return left;
}

export function createWatch(options: WatchOptions): Watch {
  const { recorder, tracker, sourceOf, previewBytes, takes = () => true, onRequest = [], onFinish } = options;
  const contexts = new Map<IncomingMessage, Context>();
  let opened = 0;
  const bindEmit = createEmitBinding(tracker);
  const responses = createResponseWatch({
    tracker,
    previewBytes,
    layerOf: options.layerOf,
    onHeaders: (context, req) => {
      const body = context.outline ? undefined : context.first('body');
      if (body !== undefined && !req.readableDidRead) body.unread = true;
      // One that is sampled out is worth storing at its end, if at all.
      if (!context.outline) recorder.headersSent(context);
    },
    onClose: (context, req) => {
      contexts.delete(req);
      const request = context.outline ? undefined : context.first('request');
      if (request?.live === req) request.live = leftOn(req);
      onFinish?.(context, req);
      recorder.finish(context);
    },
  });

  /** Of a request that is over too, from within its own work. */
  function contextOf(req: IncomingMessage): Context | undefined {
    const running = contexts.get(req);
    if (running !== undefined) return running;
    const current = tracker.current();
    return current?.ended === true && current.first('request')?.rawHeaders === req.rawHeaders
      ? current
      : undefined;
  }

  function open(req: IncomingMessage, res: ServerResponse): Context {
    const { origin, requestId, receivedRequestId } = sourceOf(req);
    const target = targetOf(req);
    const own = isProfilerTarget(target);
    const context =
      own || takes(req.headers) ? recorder.open(own ? 'profiler' : 'request') : recorder.openOutline();
    contexts.set(req, context);
    if (++opened % SWEEP_EVERY === 0) responses.sweep();
    const { socket } = req;
    context.add('request', {
      method: req.method ?? '',
      url: target,
      httpVersion: req.httpVersion,
      rawHeaders: req.rawHeaders,
      remoteAddress: socket.remoteAddress ?? '',
      remotePort: socket.remotePort ?? 0,
      origin,
      requestId,
      receivedRequestId,
      live: context.outline ? undefined : req,
    });
    const body = context.outline ? null : tapBody(req, { previewBytes });
    if (body !== null) context.add('body', withParsed(body, req), previewBytes);
    res.setHeader('x-debug-token', context.token);
    res.setHeader('x-debug-token-link', `${origin.origin ?? ''}${urls.profile(context.token)}`);
    return context;
  }

  function watch(req: IncomingMessage, res: ServerResponse, next: () => void): void {
    if (contexts.has(req)) {
      next();
      return;
    }
    const context = open(req, res);
    responses.watch(res, context);
    if (context.outline) {
      next();
      return;
    }
    if (context.first('body') !== undefined) bindEmit(req, context);
    tracker.run(context, () => {
      for (const observe of onRequest) observe(context);
      next();
    });
  }
  return Object.assign(watch, {
    contextOf,
    layerLeft(req: IncomingMessage, layer: object | null) {
      const { res } = req as IncomingMessage & { res?: ServerResponse };
      if (res !== undefined) responses.layerLeft(res, layer);
    },
    close: () => {
      responses.close();
    },
  });
}
