/** Calls of node:http2, and so of gRPC, from its channels `http2.client.stream.*`. */
import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import { truncateText } from '../../profiler/record/plain.ts';
import { rawHeader } from '../../profiler/record/raw-headers.ts';
import { type HttpCalls, text, truncateHeaders } from './http-calls.ts';

type Http2Headers = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** Without those of the protocol, which begin with a colon. */
function http2Headers(headers: Http2Headers): string[] {
  return truncateHeaders(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith(':') ? [] : [value ?? ''].flat().flatMap((one) => [name, one]),
    ),
  );
}

export function observeHttp2({ calls, begin, answered, on }: HttpCalls): void {
  on(
    'http2.client.stream.created',
    ({ stream, headers }: { stream: ClientHttp2Stream; headers: Http2Headers }) => {
      begin(stream, {
        client: 'http2',
        method: text(headers[':method'] ?? 'GET'),
        url: truncateText(
          `${text(headers[':scheme'] ?? 'http')}://${text(headers[':authority'] ?? '')}${text(headers[':path'] ?? '/')}`,
          8192,
        ),
        requestHeaders: http2Headers(headers),
      });
      const entry = calls.running(stream);
      // gRPC answers 200, and says in the last block of headers whether the call has failed.
      if (entry === undefined) return;
      stream.once('trailers', (trailers: Http2Headers) => {
        entry.fact.responseHeaders.push(...http2Headers(trailers));
      });
      // It closes in a later turn.
      stream.once('end', () => {
        endStream(stream);
      });
    },
  );
  on(
    'http2.client.stream.finish',
    ({ stream, headers }: { stream: ClientHttp2Stream; headers: Http2Headers }) => {
      const entry = calls.running(stream);
      if (entry !== undefined) answered(entry, Number(headers[':status'] ?? 0), http2Headers(headers));
    },
  );
  on('http2.client.stream.error', ({ stream, error }: { stream: ClientHttp2Stream; error: unknown }) => {
    calls.end(stream, error);
  });
  function endStream(stream: ClientHttp2Stream): void {
    const { responseHeaders = [] } = calls.running(stream)?.fact ?? {};
    const status = rawHeader(responseHeaders, 'grpc-status') ?? '0';
    const message = rawHeader(responseHeaders, 'grpc-message') ?? '';
    // Before the channel of errors, if the server has reset it.
    const { errored, rstCode } = stream;
    if (rstCode !== 0)
      calls.end(stream, errored ?? new Error(`the stream was closed with HTTP/2 error ${rstCode}`));
    calls.end(stream, status === '0' ? undefined : new Error(`grpc-status ${status}: ${message}`));
  }
  on('http2.client.stream.close', ({ stream }: { stream: ClientHttp2Stream }) => {
    endStream(stream);
  });
}
