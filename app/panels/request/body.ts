/** Request and response body: facts -> what is stored. */
import type { BodyFact, UploadedFile } from '../../profiler/facts.ts';
import { isRecord, type Json } from '../../profiler/json.ts';
import { toPlain } from '../../profiler/plain.ts';
import { rawHeader } from '../../profiler/raw-headers.ts';
import { mediaTypeOf, storedText } from '../../profiler/http-text.ts';

export interface ReceivedBody {
  bytes: number;
  contentType: string | null;
  /** Fields of a form, in order; null if no parser ran. */
  fields: { name: string; value: Json }[] | null;
  /** As parsed, if it is not a form. */
  parsed: Json | undefined;
  files: UploadedFile[];
  /** The first bytes as text; null if they are binary, or must not be stored. */
  text: string | null;
  truncated: boolean;
  /** Not read before the response headers were sent. */
  unread?: true;
}

const MOST_FIELDS = 500;

function isFields(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !Buffer.isBuffer(value);
}

function readFields(type: string, parsed: unknown): ReceivedBody['fields'] {
  const isForm = type === 'application/x-www-form-urlencoded' || type === 'multipart/form-data';
  if (!isForm || !isFields(parsed)) return null;
  return Object.keys(parsed)
    .slice(0, MOST_FIELDS)
    .map((name) => ({ name, value: toPlain(parsed[name]) }));
}

/** null if no body was sent. */
export function readBody(body: BodyFact, rawHeaders: readonly string[]): ReceivedBody | null {
  if (body.bytes === 0 && body.files.length === 0) return null;
  const { bytes, contentType, parsed, preview, truncated } = body;
  const type = mediaTypeOf(contentType);
  const fields = readFields(type, parsed);
  const encoding = rawHeader(rawHeaders, 'content-encoding');
  return {
    bytes,
    contentType,
    fields,
    parsed: fields !== null || parsed === undefined ? undefined : toPlain(parsed),
    files: body.files.map(({ field, name, ...file }) => ({
      field,
      name,
      contentType: file.contentType,
      bytes: file.bytes,
    })),
    text: storedText(preview, { contentType, encoding }),
    truncated,
    ...(body.unread === true ? { unread: true as const } : {}),
  };
}
