/**
 * Where a request came from, in an application that is not ours: what its own Express makes of it.
 *
 * `req.ip`, `req.ips`, `req.protocol` and `req.host` obey the host's `trust proxy`; nothing is read from a header past
 * them. On a plain node:http server the socket is all there is.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { RequestSource } from './watch.ts';

/** What Express 4 and 5 put on a request; absent on a plain one. */
interface ExpressParts {
  ip?: string;
  ips?: readonly string[];
  protocol?: string;
  hostname?: string;
  host?: string;
}

const WELL_FORMED_HOST = /^(?:[a-z0-9_](?:[a-z0-9_.-]{0,252})|\[[0-9a-f:.]{2,45}\])$/i;
const WELL_FORMED_ID = /^[A-Za-z0-9._:-]{1,200}$/;

function splitHost(text: string): { host: string; port: number | null } {
  const [, host = '', port] = /^(.*?)(?::(\d{1,5}))?$/.exec(text) ?? [];
  return { host, port: port === undefined ? null : Number(port) };
}

export function sourceOfHost(req: IncomingMessage): RequestSource {
  const parts = req as IncomingMessage & ExpressParts;
  const encrypted = (req.socket as Partial<TLSSocket>).encrypted;
  const scheme = (parts.protocol ?? (encrypted ? 'https' : 'http')) === 'https' ? 'https' : 'http';
  const sent = splitHost(parts.host ?? req.headers.host ?? '');
  const standard = scheme === 'https' ? 443 : 80;
  const ownPort = splitHost(req.headers.host ?? '').port;
  const port =
    sent.port ?? (parts.host === undefined || parts.host === parts.hostname ? ownPort : null) ?? standard;
  const valid = WELL_FORMED_HOST.test(sent.host) && port >= 1 && port <= 65535;
  const received = req.headers['x-request-id'];
  const kept = typeof received === 'string' && WELL_FORMED_ID.test(received);
  return {
    origin: {
      scheme,
      host: valid ? sent.host : null,
      port,
      origin: valid ? `${scheme}://${sent.host}${port === standard ? '' : `:${port}`}` : null,
      clientAddress: parts.ip ?? req.socket.remoteAddress ?? '',
      chain: parts.ips ?? [],
      trusted: (parts.ips?.length ?? 0) > 0,
      hostError: null,
    },
    requestId: kept ? received : randomUUID(),
    receivedRequestId: kept || typeof received !== 'string' ? null : received,
  };
}
