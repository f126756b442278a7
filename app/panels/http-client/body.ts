/** The recorded bytes of a call's body -> text. */
import { brotliDecompressSync, constants, unzipSync } from 'node:zlib';
import type { Facts } from '../../profiler/facts.ts';
import { storedText } from '../../profiler/http-text.ts';
import { rawHeader } from '../../profiler/raw-headers.ts';
import type { CallBodyEntry } from './data.ts';

/** Bytes that a preview may become; what grows more is not shown. */
const MOST_UNPACKED = 256 * 1024;

/** The bytes may end anywhere in the stream. null if they are compressed otherwise, or no such stream. */
function unpack(preview: Buffer, encoding: string): Buffer | null {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return preview;
  try {
    if (name === 'gzip' || name === 'x-gzip' || name === 'deflate')
      return unzipSync(preview, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_UNPACKED });
    if (name === 'br')
      return brotliDecompressSync(preview, {
        finishFlush: constants.BROTLI_OPERATION_FLUSH,
        maxOutputLength: MOST_UNPACKED,
      });
  } catch {
    // Cut within a block, larger than the limit, or not what its header says.
  }
  return null;
}

const NOTHING: CallBodyEntry = { bytes: 0, text: '', truncated: false };

/** null if no body was recorded. A request that announced a body and sent nothing of it has one of 0 bytes. */
export function bodyOf(
  body: Facts['call']['requestBody'],
  headers: readonly string[],
  isRequest = false,
): CallBodyEntry | null {
  if (body === undefined) return null;
  if (body.bytes === 0) return isRequest && Number(rawHeader(headers, 'content-length')) > 0 ? NOTHING : null;
  const { bytes, preview } = body;
  const plain = unpack(preview, rawHeader(headers, 'content-encoding') ?? '');
  const contentType = rawHeader(headers, 'content-type');
  return {
    bytes,
    text: plain === null ? null : storedText(plain, { contentType, encoding: null }),
    truncated: bytes > preview.length,
  };
}
