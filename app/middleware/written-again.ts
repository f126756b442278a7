/**
 * Whether a signed JSON body is the same text if it is parsed and written again, as code assumes that computes the signature of
 * `JSON.stringify(req.body)`: 3.0 becomes 3, \u00fc becomes ü, and blanks are gone.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyFact } from '../profiler/facts.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';
import { SIGNATURE_HEADER } from '../profiler/raw-headers.ts';

function keepsBytes(req: IncomingMessage, bytes: number): boolean {
  return Object.keys(req).some((name) => {
    const value: unknown = Object.getOwnPropertyDescriptor(req, name)?.value;
    return (typeof value === 'string' || Buffer.isBuffer(value)) && Buffer.byteLength(value) === bytes;
  });
}

/** Bytes of the text written again; undefined if it is the same text, or nobody needs to know. */
export function writtenAgain(
  req: IncomingMessage & { body?: unknown },
  { contentType, preview, truncated }: Pick<BodyFact, 'contentType' | 'preview' | 'truncated'>,
): number | undefined {
  if (truncated || preview.length === 0 || !/\bjson$/.test(mediaTypeOf(contentType))) return undefined;
  if (!Object.keys(req.headers).some((name) => SIGNATURE_HEADER.test(name))) return undefined;
  if (typeof req.body !== 'object' || req.body === null || Buffer.isBuffer(req.body)) return undefined;
  if (keepsBytes(req, preview.length)) return undefined;
  try {
    const text = preview.toString();
    const again = JSON.stringify(JSON.parse(text));
    return again === text ? undefined : Buffer.byteLength(again);
  } catch {
    return undefined;
  }
}
