/** A request of node:http -> the recorded line, headers and origin. */
import type { IncomingMessage } from 'node:http';
import type { RequestFact, RequestOrigin } from '../profiler/record/facts.ts';

export interface RequestSource {
  origin: RequestOrigin;
  requestId: string;
  receivedRequestId: string | null;
}

export function targetOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { originalUrl?: unknown };
  return typeof originalUrl === 'string' ? originalUrl : (req.url ?? '');
}

/** A request created by hand (node-mocks-http) has only `headers`. */
function rawHeadersOf({ rawHeaders, headers }: Partial<IncomingMessage>): string[] {
  return rawHeaders ?? Object.entries(headers ?? {}).flatMap(([name, value]) => [name, String(value)]);
}

export function requestFactOf(
  req: IncomingMessage,
  { origin, requestId, receivedRequestId }: RequestSource,
  live: boolean,
): RequestFact {
  const { socket } = req as { socket?: Partial<IncomingMessage['socket']> };
  return {
    method: req.method ?? '',
    url: targetOf(req),
    httpVersion: req.httpVersion,
    rawHeaders: rawHeadersOf(req),
    remoteAddress: socket?.remoteAddress ?? '',
    remotePort: socket?.remotePort ?? 0,
    origin,
    requestId,
    receivedRequestId,
    live: live ? req : undefined,
  };
}
