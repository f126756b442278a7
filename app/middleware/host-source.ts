/**
 * Where a request came from, in a host: `req.ip`, `req.ips`, `req.protocol` and `req.host` of its own Express, which obey
 * its `trust proxy`. If no proxy is trusted, socket and Host header have the same values and are read instead: five getters cost more than
 * the rest of opening a request.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { RequestSource } from './request-fact.ts';

/** What Express 4 and 5 add to a request. */
interface ExpressParts {
  app?: { settings?: Record<string, unknown>; request?: object; lazyrouter?: unknown };
  ip?: string;
  ips?: readonly string[];
  protocol?: string;
  hostname?: string;
  host?: string;
}

type HostRequest = IncomingMessage & ExpressParts;

/** The part of an origin that follows from a scheme and a Host. */
interface Place {
  host: string | null;
  port: number;
  origin: string | null;
}

const WELL_FORMED_HOST = /^(?:[a-z0-9_](?:[a-z0-9_.-]{0,252})|\[[0-9a-f:.]{2,45}\])$/i;
const WELL_FORMED_ID = /^[A-Za-z0-9._:-]{1,200}$/;
/** Hosts cached; a server has few, and invented ones clear the cache. */
const REMEMBERED = 500;
const LONGEST_REMEMBERED = 300;
const ADDRESS_PARTS = ['ip', 'ips', 'protocol', 'hostname', 'host'];

function splitHost(text: string): { host: string; port: number | null } {
  const [, host = '', port] = /^(.*?)(?::(\d{1,5}))?$/.exec(text) ?? [];
  return { host, port: port === undefined ? null : Number(port) };
}

function makePlace(scheme: 'http' | 'https', host: string, given: number | null): Place {
  const standard = scheme === 'https' ? 443 : 80;
  const port = given ?? standard;
  const valid = WELL_FORMED_HOST.test(host) && port >= 1 && port <= 65535;
  return {
    host: valid ? host : null,
    port,
    origin: valid ? `${scheme}://${host}${port === standard ? '' : `:${port}`}` : null,
  };
}

/** The same for the text of a Host header, cached. */
function createPlaces(scheme: 'http' | 'https'): (text: string) => Place {
  const known = new Map<string, Place>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const { host, port } = splitHost(text);
    const place = makePlace(scheme, host, port);
    if (known.size >= REMEMBERED) known.clear();
    if (text.length <= LONGEST_REMEMBERED) known.set(text, place);
    return place;
  };
}

/** True if Express's getters would return the same as the socket: no proxy is trusted, and the getters are its own. */
function createTrustsNobody(): (req: HostRequest) => boolean {
  let known: object | null = null;
  let replaced = false;
  return (req) => {
    const { app } = req;
    if (app?.settings === undefined || app.request === undefined) return false;
    const trust = app.settings['trust proxy'];
    if (trust !== false && trust !== undefined) return false;
    if (known !== app.request) {
      known = app.request;
      replaced = ADDRESS_PARTS.some((name) => Object.hasOwn(app.request ?? {}, name));
    }
    return !replaced && !Object.hasOwn(req, 'ip') && !Object.hasOwn(req, 'protocol');
  };
}

/** `req.host` of Express 4 is the host name alone, and prints that it is deprecated. */
function hostGetterOf(req: HostRequest): string | undefined {
  return typeof req.app?.lazyrouter === 'function' ? req.hostname : req.host;
}

/** What the getters of the host's Express say. */
function placeOfGetters(req: HostRequest, scheme: 'http' | 'https'): Place {
  const host = hostGetterOf(req);
  const sent = splitHost(host ?? req.headers.host ?? '');
  const ownPort = splitHost(req.headers.host ?? '').port;
  const port = sent.port ?? (host === undefined || host === req.hostname ? ownPort : null);
  return makePlace(scheme, sent.host, port);
}

function schemeOf(socket: Partial<TLSSocket>): 'http' | 'https' {
  return socket.encrypted === true ? 'https' : 'http';
}

const NOBODY: readonly string[] = Object.freeze([]);

export function createHostSource(): (req: IncomingMessage) => RequestSource {
  const places = { http: createPlaces('http'), https: createPlaces('https') };
  const trustsNobody = createTrustsNobody();

  function originOf(req: HostRequest): RequestSource['origin'] {
    // A request created by hand may have none.
    const socket = ((req as { socket?: unknown }).socket ?? {}) as Partial<TLSSocket>;
    const address = socket.remoteAddress ?? '';
    if (trustsNobody(req)) {
      const scheme = schemeOf(socket);
      const { host, port, origin } = places[scheme](req.headers.host ?? '');
      return {
        scheme,
        host,
        port,
        origin,
        clientAddress: address,
        chain: NOBODY,
        trusted: false,
        hostError: null,
      };
    }
    const protocol = req.protocol ?? schemeOf(socket);
    const scheme = protocol === 'https' ? 'https' : 'http';
    const chain = req.ips ?? NOBODY;
    return {
      scheme,
      ...placeOfGetters(req, scheme),
      clientAddress: req.ip ?? address,
      chain,
      trusted: chain.length > 0,
      hostError: null,
    };
  }

  return (req) => {
    const received = req.headers['x-request-id'];
    const origin = originOf(req);
    if (typeof received !== 'string') return { origin, requestId: randomUUID(), receivedRequestId: null };
    const kept = WELL_FORMED_ID.test(received);
    return {
      origin,
      requestId: kept ? received : randomUUID(),
      receivedRequestId: kept ? null : received,
    };
  };
}
