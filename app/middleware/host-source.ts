/**
 * Where a request came from, in a host: `req.ip`, `req.ips`, `req.protocol` and `req.host` of its own Express, which obey
 * its `trust proxy`. If no proxy is trusted, socket and Host header have the same values and are read instead: five getters cost more than
 * the rest of opening a request.
 */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { parseAuthority, printOrigin, readRequestId } from './connection.ts';
import type { RequestSource } from './request-fact.ts';

interface ExpressParts {
  app?: { settings?: Record<string, unknown>; request?: object; lazyrouter?: unknown };
  ip?: string;
  ips?: readonly string[];
  protocol?: string;
  hostname?: string;
  host?: string;
}

type HostRequest = IncomingMessage & ExpressParts;

interface Place {
  host: string | null;
  port: number;
  origin: string | null;
}

const ADDRESS_PARTS = ['ip', 'ips', 'protocol', 'hostname', 'host'];

function placeOf(scheme: 'http' | 'https', text: string, port: number | null = null): Place {
  const sent = parseAuthority(text);
  const used = sent?.port ?? port ?? (scheme === 'https' ? 443 : 80);
  if (sent === null) return { host: null, port: used, origin: null };
  return { host: sent.host, port: used, origin: printOrigin(scheme, sent.host, used) };
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

function placeOfGetters(req: HostRequest, scheme: 'http' | 'https'): Place {
  const host = hostGetterOf(req);
  const { host: header = '' } = req.headers;
  const isHeader = host === undefined || host === req.hostname;
  return placeOf(scheme, host ?? header, isHeader ? parseAuthority(header)?.port : null);
}

function schemeOf(socket: Partial<TLSSocket>): 'http' | 'https' {
  return socket.encrypted === true ? 'https' : 'http';
}

const NOBODY: readonly string[] = Object.freeze([]);

export function createHostSource(): (req: IncomingMessage) => RequestSource {
  const trustsNobody = createTrustsNobody();

  function ofSocket(req: HostRequest): RequestSource['origin'] {
    // A request created by hand may have none.
    const socket = ((req as { socket?: unknown }).socket ?? {}) as Partial<TLSSocket>;
    const scheme = schemeOf(socket);
    return {
      scheme,
      ...placeOf(scheme, req.headers.host ?? ''),
      clientAddress: socket.remoteAddress ?? '',
      chain: NOBODY,
      trusted: false,
      hostError: null,
    };
  }

  function ofGetters(req: HostRequest): RequestSource['origin'] {
    const { scheme: ownScheme, clientAddress } = ofSocket(req);
    const scheme = (req.protocol ?? ownScheme) === 'https' ? 'https' : 'http';
    const chain = req.ips ?? NOBODY;
    return {
      scheme,
      ...placeOfGetters(req, scheme),
      clientAddress: req.ip ?? clientAddress,
      chain,
      trusted: chain.length > 0,
      hostError: null,
    };
  }

  function originOf(req: HostRequest): RequestSource['origin'] {
    if (trustsNobody(req)) return ofSocket(req);
    try {
      return ofGetters(req);
    } catch {
      // A function of `trust proxy`, or a getter, may throw: it does so in the application if that reads it.
      return ofSocket(req);
    }
  }

  return (req) => {
    const received = req.headers['x-request-id'] as string | undefined;
    return { origin: originOf(req), ...readRequestId(received, true) };
  };
}
