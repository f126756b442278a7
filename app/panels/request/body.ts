/** Request and response body: facts -> stored data. */
import type { BodyFact, UploadedFile } from '../../profiler/facts.ts';
import { type ParsedBody, parsedBodyOf } from '../../profiler/parsed-body.ts';
import { rawHeader } from '../../profiler/raw-headers.ts';
import { storedText } from '../../profiler/http-text.ts';

export interface ReceivedBody extends ParsedBody {
  bytes: number;
  contentType: string | null;
  files: UploadedFile[];
  /** The first bytes as text; null if they are binary, or must not be stored. */
  text: string | null;
  truncated: boolean;
  /** Not read before the response headers were sent. */
  unread?: true;
}

/** null if no body was sent. */
export function readBody(body: BodyFact, rawHeaders: readonly string[]): ReceivedBody | null {
  if (body.bytes === 0 && body.files.length === 0) return null;
  const { bytes, contentType, preview, truncated } = body;
  const { fields, parsed } = body.plain ?? parsedBodyOf(contentType, body.parsed);
  const encoding = rawHeader(rawHeaders, 'content-encoding');
  return {
    bytes,
    contentType,
    fields,
    parsed,
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
