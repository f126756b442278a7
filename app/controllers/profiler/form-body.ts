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

async function readText(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= LARGEST_FORM) chunks.push(chunk);
    else if (bytes > THROWN_AWAY) break;
  }
  if (bytes > LARGEST_FORM) throw createError('BODY_TOO_LARGE', ['64 KiB', `at least ${bytes} bytes`]);
  return Buffer.concat(chunks).toString('utf8');
}

export async function readForm(req: IncomingMessage): Promise<URLSearchParams> {
  const { body } = req as IncomingMessage & { body?: unknown };
  if (body !== undefined) return fieldsOf(body);
  const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type !== FORM_TYPE) throw createError('BAD_REQUEST', [`The body is no form (${FORM_TYPE}).`]);
  return new URLSearchParams(await readText(req));
}
