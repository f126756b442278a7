/** Compression of the profiler's own responses by gzip (RFC 1952). */
import type { IncomingMessage } from 'node:http';
import { gzip } from 'node:zlib';

/** Bytes; what is smaller fits in one packet anyway. */
const SMALLEST = 1024;
const REFUSED = /^q=0(?:\.0*)?$/;

/** RFC 9110, 12.5.3; `*` is not taken for a wish. */
function takesGzip(header: string | undefined): boolean {
  return (header ?? '').split(',').some((item) => {
    const [coding, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => REFUSED.test(parameter));
  });
}

/**
 * Whether a body of so many bytes is compressed for this request. Never for a page of another site: the length of a compressed page would
 * tell whoever can make a browser ask for it, and can read the length on the way, what stands on it (BREACH).
 */
export function isCompressedFor({ headers }: Pick<IncomingMessage, 'headers'>, bytes: number): boolean {
  return (
    bytes >= SMALLEST &&
    headers['sec-fetch-site'] !== 'cross-site' &&
    takesGzip(headers['accept-encoding']?.toString())
  );
}

/** In zlib's threads, so that the host's requests don't wait; null if it fails. */
export function compress(body: string | Buffer, use: (compressed: Buffer | null) => void): void {
  gzip(body, (error, compressed) => {
    use(error === null ? compressed : null);
  });
}
