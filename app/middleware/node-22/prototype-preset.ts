/**
 * Goes with Node 22 (decision 14). Creates requests and responses with the prototypes that Express gives them a moment later: up to V8 12
 * an object whose prototype was changed gets a hidden class of its own for each further property, half of what a small application costs.
 */
import { EventEmitter } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { oncePerServer } from '../server-of.ts';

/** An application of Express, as far as it is used here. */
interface Application {
  request: IncomingMessage;
  response: ServerResponse;
}

export interface ServerConstructors {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

export interface PrototypePreset {
  /** Replaces the constructors of a request's server, once, if that is safe. */
  observeServer(req: IncomingMessage): void;
  /** Afterwards Node's own constructors are used again. */
  close(): void;
}

/** From this version on V8 shares hidden classes after a change of prototype. */
const SHARES_FROM = 13;
/** Listeners for these get objects that never pass through the application. */
const OTHER_EVENTS = ['connect', 'checkContinue', 'checkExpectation'] as const;

/** Methods of a response that Node calls before it emits the request. */
const CALLED_EARLY = ['on', 'assignSocket'];
/** Captured before anybody wraps it. */
const NODES_EMIT: unknown = Reflect.get(EventEmitter.prototype, 'emit');

const isNeeded = Number.parseInt(process.versions.v8, 10) < SHARES_FROM;

/** Node's constructors are functions, not classes: they can be called on an existing object. */
type Initialiser<Arguments extends unknown[]> = (this: object, ...args: Arguments) => void;
const initRequest = IncomingMessage as unknown as Initialiser<[Socket]>;
const initResponse = ServerResponse as unknown as Initialiser<[IncomingMessage, object?]>;

/** Prototypes that requests were created with. */
const presetRequests = new WeakSet();

/** Gives a request that never passes through the application the prototype that Node gives it. */
export function restorePrototype(req: IncomingMessage): void {
  if (presetRequests.has(Object.getPrototypeOf(req) as object))
    Object.setPrototypeOf(req, IncomingMessage.prototype);
}

function isApplication(value: unknown): value is Application {
  if (typeof value !== 'function' || !('request' in value) || !('response' in value)) return false;
  return (
    IncomingMessage.prototype.isPrototypeOf(value.request as object) &&
    ServerResponse.prototype.isPrototypeOf(value.response as object)
  );
}

/** Whether no prototype above Node's own defines one of these properties, which Node sets while it creates the object. */
function isClear(prototype: object, nodes: object, names: readonly PropertyKey[]): boolean {
  for (let at = prototype; at !== nodes; at = Object.getPrototypeOf(at) as object)
    if (names.some((name) => Object.hasOwn(at, name))) return false;
  return true;
}

/** Node itself responds to an unknown `Expect` and a missing Host: the host's methods must not run then. */
function mayNodeAnswer({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined || headers.host === undefined;
}

/** Constructors for a server of `app`; `isOnly`: whether the next request goes to `app` alone. */
function constructorsOf(app: Application, isOnly: () => boolean): ServerConstructors {
  const { request, response } = app;

  /** The keys name them like Node's own, also when built: the names are in stack traces, which error pages show. */
  const made = {
    IncomingMessage: function (this: object, socket: Socket): IncomingMessage | undefined {
      if (app.request !== request || !isOnly()) return new IncomingMessage(socket);
      try {
        initRequest.call(this, socket);
        return undefined;
      } catch {
        // An accessor without a setter was added to the prototype since.
        return new IncomingMessage(socket);
      }
    },
    ServerResponse: function (
      this: object,
      req: IncomingMessage,
      options?: object,
    ): ServerResponse | undefined {
      if (app.response === response && Object.getPrototypeOf(req) === request && !mayNodeAnswer(req)) {
        try {
          initResponse.call(this, req, options);
          return undefined;
        } catch {
          // As above.
        }
      }
      return Reflect.construct(ServerResponse, [req, options]) as ServerResponse;
    },
  };
  presetRequests.add(request);
  made.IncomingMessage.prototype = request;
  made.ServerResponse.prototype = response;
  // V8 estimates from a constructor and those above it how many properties to reserve. Without that, objects with
  // this many properties become dictionaries.
  Object.setPrototypeOf(made.IncomingMessage, IncomingMessage);
  Object.setPrototypeOf(made.ServerResponse, ServerResponse);
  return made as unknown as ServerConstructors;
}

/** Options of `createServer` for a server that serves this application and nothing else. */
export function presetConstructors(app: unknown): Partial<ServerConstructors> {
  return isNeeded && isApplication(app) ? constructorsOf(app, () => true) : {};
}

type Constructors = Record<symbol, unknown>;

/** The property that holds one of Node's own constructors; undefined if the host passed its own. */
function keyOf(server: object, constructor: object): symbol | undefined {
  return Object.getOwnPropertySymbols(server).find((key) => (server as Constructors)[key] === constructor);
}

export interface PrototypePresetOptions {
  /** A server's `emit` without the profiler's wrapper; default: the current one. */
  emitOf?: (server: Server) => unknown;
}

/** After `close` the constructors fall back to Node's own: no reference to the server is needed to restore it. */
function presetPrototypes(
  server: Server,
  req: IncomingMessage,
  emitOf: (server: Server) => unknown,
  isClosed: () => boolean,
): void {
  const [requestKey, responseKey] = [keyOf(server, IncomingMessage), keyOf(server, ServerResponse)];
  const [app] = server.listeners('request') as unknown[];
  if (requestKey === undefined || responseKey === undefined || !isApplication(app)) return;
  const { res } = req as IncomingMessage & { res?: object };
  const names = [...CALLED_EARLY, ...(res === undefined ? [] : Reflect.ownKeys(res))];
  if (!isClear(app.request, IncomingMessage.prototype, Reflect.ownKeys(req))) return;
  if (!isClear(app.response, ServerResponse.prototype, names)) return;
  const isOnly = (): boolean =>
    !isClosed() &&
    emitOf(server) === NODES_EMIT &&
    // Above the limit Node itself responds.
    !((server.maxRequestsPerSocket ?? 0) > 0) &&
    // Later listeners get objects that Express has already changed.
    server.listeners('request')[0] === (app as unknown) &&
    // The profiler's `emit` restores the prototype of an upgraded request first.
    (server.emit !== NODES_EMIT || server.listenerCount('upgrade') === 0) &&
    OTHER_EVENTS.every((event) => server.listenerCount(event) === 0);
  const made = constructorsOf(app, isOnly);
  const holder = server as unknown as Constructors;
  holder[requestKey] = made.IncomingMessage;
  holder[responseKey] = made.ServerResponse;
}

export function createPrototypePreset({
  emitOf = (server) => server.emit,
}: PrototypePresetOptions = {}): PrototypePreset {
  let closed = false;
  const observeServer = oncePerServer((server, req) => {
    presetPrototypes(server, req, emitOf, () => closed);
  });
  return {
    observeServer: isNeeded ? observeServer : () => undefined,
    close() {
      closed = true;
    },
  };
}
