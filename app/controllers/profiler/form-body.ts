/** Small request bodies of the profiler's pages, read without a parser, or from `req.body` if the host has parsed it. */
import type { IncomingMessage } from 'node:http';
import { createError } from '../../errors.ts';
import { mediaTypeOf } from '../../profiler/http-text.ts';

const LARGEST_FORM = 64 * 1024;
/** Bytes beyond the limit that are read before the response, so that the client gets it instead of a reset connection. */
const DISCARDED = 1024 * 1024;
const FORM_TYPE = 'application/x-www-form-urlencoded';

function fieldsOf(body: unknown): URLSearchParams {
  const fields = new URLSearchParams();
  if (typeof body !== 'object' || body === null) return fields;
  for (const [name, value] of Object.entries(body)) if (typeof value === 'string') fields.append(name, value);
  return fields;
}

function sizeOf(bytes: number): string {
  return `${bytes / 1024} KiB`;
}

async function readBytes(req: IncomingMessage, largest: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= largest) chunks.push(chunk);
      else if (bytes > largest + DISCARDED) break;
    }
  } catch (error) {
    throw createError('BAD_REQUEST', ['The connection closed before the whole body had arrived.'], {
      cause: error,
    });
  }
  if (bytes > largest) {
    // To destroy the request would take its connection with it, and the next request on that.
    req.resume();
    throw createError('BODY_TOO_LARGE', [sizeOf(largest), `at least ${bytes} bytes`]);
  }
  return Buffer.concat(chunks);
}

export async function readText(req: IncomingMessage, largest = LARGEST_FORM): Promise<string> {
  const { body } = req as IncomingMessage & { body?: unknown };
  return body === undefined ? (await readBytes(req, largest)).toString('utf8') : parsedText(body, largest);
}

function printed(body: unknown): string {
  try {
    const text: unknown = JSON.stringify(body);
    return typeof text === 'string' ? text : '';
  } catch {
    return '';
  }
}

function parsedText(body: unknown, largest: number): string {
  const text =
    typeof body === 'string' ? body : Buffer.isBuffer(body) ? body.toString('utf8') : printed(body);
  if (text.length > largest)
    throw createError('BODY_TOO_LARGE', [sizeOf(largest), `at least ${text.length} bytes`]);
  return text;
}

export async function readForm(req: IncomingMessage): Promise<URLSearchParams> {
  const { body } = req as IncomingMessage & { body?: unknown };
  if (body !== undefined) return fieldsOf(body);
  if (mediaTypeOf(req.headers['content-type'] ?? null) !== FORM_TYPE)
    throw createError('BAD_REQUEST', [`The body must be a form (${FORM_TYPE}).`]);
  return new URLSearchParams(await readText(req));
}
