/**
 * Requests and responses born with the prototypes that Express gives them a moment later.
 *
 * Express sets the prototype of each request and response to its application's. Up to V8 12 (Node.js 22) every property that
 * is added to an object after that gets it a hidden class of its own, which costs a microsecond and a kilobyte each and makes
 * all code that reads the object slower: half of what a small application spends. An object that is made with that prototype has
 * nothing of it, and what Express does then changes nothing. So the constructors of a server are replaced by ones that do
 * the same with another prototype; both are Node's documented options of `createServer`, set later.
 *
 * Only where every request goes straight into that application: it is the server's only listener, `emit` is Node's, and nobody
 * listens for what is no request of an application (upgrades, CONNECT, Expect). That is looked at for each request, since a
 * host may add one at any time; where it does not hold, Node's own constructor makes the object. So it does where a prototype has
 * what Node would meet on it too soon: an accessor of a name that Node sets, or a method for what Node itself answers.
 */
import { EventEmitter } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createServerLookout } from '../server-of.ts';

/** An application of Express, as far as it is used here. */
interface Application {
  request: IncomingMessage;
  response: ServerResponse;
}

export interface ServerConstructors {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

export interface PrototypeAdoption {
  /** Looks at the server of a request, once. */
  see(req: IncomingMessage): void;
  /** From here on objects are made as if it had never been. */
  close(): void;
}

/** Versions of V8 from this one on share hidden classes after a change of prototype. */
const SHARES_FROM = 13;
/** Their listeners get objects that no application has seen. */
const OTHER_EVENTS = ['upgrade', 'connect', 'checkContinue', 'checkExpectation'] as const;

/** Methods of a response that Node calls before it emits the request. */
const CALLED_EARLY = ['on', 'assignSocket'];
/** As it was when nobody had wrapped it. */
const NODES_EMIT: unknown = Reflect.get(EventEmitter.prototype, 'emit');

const isNeeded = Number.parseInt(process.versions.v8, 10) < SHARES_FROM;

/** Node's are functions, not classes: they can be called on an object that is there already. */
type Initialiser<Arguments extends unknown[]> = (this: object, ...args: Arguments) => void;
const initRequest = IncomingMessage as unknown as Initialiser<[Socket]>;
const initResponse = ServerResponse as unknown as Initialiser<[IncomingMessage, object?]>;

function isApplication(value: unknown): value is Application {
  if (typeof value !== 'function' || !('request' in value) || !('response' in value)) return false;
  return (
    IncomingMessage.prototype.isPrototypeOf(value.request as object) &&
    ServerResponse.prototype.isPrototypeOf(value.response as object)
  );
}

/** Whether nothing stands above Node's own prototype that it would meet when it makes an object with these properties. */
function isClear(prototype: object, nodes: object, names: readonly PropertyKey[]): boolean {
  for (let at = prototype; at !== nodes; at = Object.getPrototypeOf(at) as object)
    if (names.some((name) => Object.hasOwn(at, name))) return false;
  return true;
}

/** Node refuses what it can't expect, and what names no host, by itself: with the methods that are its own. */
function mayNodeAnswer({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined || headers.host === undefined;
}

/** Constructors for a server of `app`; `isOnly`: whether the next request goes nowhere else. */
function constructorsOf(app: Application, isOnly: () => boolean): ServerConstructors {
  const { request, response } = app;

  /** Named like Node's own by their keys, also when built: the names are in stack traces, which error pages show. */
  const made = {
    IncomingMessage: function (this: object, socket: Socket): IncomingMessage | undefined {
      if (app.request !== request || !isOnly()) return new IncomingMessage(socket);
      try {
        initRequest.call(this, socket);
        return undefined;
      } catch {
        // An accessor without setter, put on the prototype since.
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
  made.IncomingMessage.prototype = request;
  made.ServerResponse.prototype = response;
  // V8 reckons from a constructor and those above it how many properties to make room for. Without, objects with so many
  // of them become dictionaries.
  Object.setPrototypeOf(made.IncomingMessage, IncomingMessage);
  Object.setPrototypeOf(made.ServerResponse, ServerResponse);
  return made as unknown as ServerConstructors;
}

/** For a server that serves this application and nothing else: options of `createServer`. */
export function adoptedConstructors(app: unknown): Partial<ServerConstructors> {
  return isNeeded && isApplication(app) ? constructorsOf(app, () => true) : {};
}

type Constructors = Record<symbol, unknown>;

/** The property that holds one of Node's own constructors; undefined where it is there no more, or is the host's. */
function keyOf(server: object, constructor: object): symbol | undefined {
  return Object.getOwnPropertySymbols(server).find((key) => (server as Constructors)[key] === constructor);
}

export interface AdoptionOptions {
  /** A server's `emit` as it is for everybody else; default: as it is found. */
  emitOf?: (server: Server) => unknown;
}

/** Node's own constructors make what comes after the end: nothing is kept of a server to put them back. */
function adopt(
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
    // Beyond it Node answers by itself.
    !((server.maxRequestsPerSocket ?? 0) > 0) &&
    server.listenerCount('request') === 1 &&
    server.listeners('request')[0] === (app as unknown) &&
    OTHER_EVENTS.every((event) => server.listenerCount(event) === 0);
  const made = constructorsOf(app, isOnly);
  const holder = server as unknown as Constructors;
  holder[requestKey] = made.IncomingMessage;
  holder[responseKey] = made.ServerResponse;
}

export function createPrototypeAdoption({
  emitOf = (server) => server.emit,
}: AdoptionOptions = {}): PrototypeAdoption {
  let closed = false;
  const see = createServerLookout((server, req) => {
    adopt(server, req, emitOf, () => closed);
  });
  return {
    see: isNeeded ? see : () => undefined,
    close() {
      closed = true;
    },
  };
}
