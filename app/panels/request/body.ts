/** What came in as the body, and what went out: facts -> what is kept of them. */
import type { BodyFact, UploadedFile } from '../../profiler/facts.ts';
import type { Json } from '../../profiler/json.ts';
import { toPlain } from '../../profiler/plain.ts';
import { rawHeader } from '../../profiler/raw-headers.ts';
import { decodePreview, mediaTypeOf } from './http-text.ts';

export interface ReceivedBody {
  bytes: number;
  contentType: string | null;
  /** Fields of a form, in order; null where no parser made any. */
  fields: { name: string; value: Json }[] | null;
  /** What a parser made of it, where that is not a form. */
  parsed: Json | undefined;
  files: UploadedFile[];
  /** The first bytes as text; null where they are no text, or are not to be kept. */
  text: string | null;
  truncated: boolean;
  /** Nobody had read of it when the headers of the answer went out. */
  unread?: true;
}

const MOST_FIELDS = 500;

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}

/**
 * A form as a browser would have encoded it. Tools send blanks, quotes and the like bare; the redactor would take a secret
 * to end at the first of them.
 */
function asForm(type: string, text: string | null): string | null {
  if (type !== 'application/x-www-form-urlencoded' || text === null) return text;
  return text.replace(
    /[\s"'`<>;,:(){}[\]\\|]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

function readFields(type: string, parsed: unknown): ReceivedBody['fields'] {
  const isForm = type === 'application/x-www-form-urlencoded' || type === 'multipart/form-data';
  if (!isForm || !isFields(parsed)) return null;
  return Object.keys(parsed)
    .slice(0, MOST_FIELDS)
    .map((name) => ({ name, value: toPlain(parsed[name]) }));
}

/** null where no body was sent. */
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
    // Parts of a form hold secrets under names that stand far from them: they can't be masked as they were sent.
    text: type.startsWith('multipart/')
      ? null
      : asForm(type, decodePreview(preview, { contentType, encoding })),
    truncated,
    ...(body.unread === true ? { unread: true as const } : {}),
  };
}
