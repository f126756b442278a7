/**
 * The fields of a small form of the profiler's own pages, read from the request itself: its pages stand before any parser.
 * Where a host parses bodies before it, what its parser left is taken.
 */
import type { IncomingMessage } from 'node:http';
import { createError } from '../../errors.ts';

const LARGEST_FORM = 64 * 1024;
/** Bytes beyond that which are thrown away, so that the answer reaches who sent them. */
const THROWN_AWAY = 1024 * 1024;
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

/** A body as text; what a host's parser made of it, where that stands before us. Throws BODY_TOO_LARGE. */
export async function readText(req: IncomingMessage, largest = LARGEST_FORM): Promise<string> {
  const { body } = req as IncomingMessage & { body?: unknown };
  if (body !== undefined) return parsedText(body, largest);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= largest) chunks.push(chunk);
      else if (bytes > THROWN_AWAY) break;
    }
  } catch (error) {
    // Who sent it has gone: no fault of ours, and nobody to answer.
    throw createError('BAD_REQUEST', ['The body broke off.'], { cause: error });
  }
  if (bytes > largest) throw createError('BODY_TOO_LARGE', [sizeOf(largest), `at least ${bytes} bytes`]);
  return Buffer.concat(chunks).toString('utf8');
}

/** What is too deep to be written again, or is no JSON, is nothing of ours. */
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
  const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type !== FORM_TYPE) throw createError('BAD_REQUEST', [`The body is no form (${FORM_TYPE}).`]);
  return new URLSearchParams(await readText(req));
}
