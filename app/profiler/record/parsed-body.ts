/** A body as the application's parser made it -> plain JSON, within limits. */
import { mediaTypeOf } from '../http-text.ts';
import { isRecord, type Json } from '../json.ts';
import { toPlain } from './plain.ts';

export interface ParsedBody {
  fields: { name: string; value: Json }[] | null;
  parsed: Json | undefined;
}

const MOST_FIELDS = 500;
const FORMS = new Set(['application/x-www-form-urlencoded', 'multipart/form-data']);

export function parsedBodyOf(contentType: string | null, parsed: unknown): ParsedBody {
  const isForm = FORMS.has(mediaTypeOf(contentType)) && isRecord(parsed) && !Buffer.isBuffer(parsed);
  if (!isForm) return { fields: null, parsed: parsed === undefined ? undefined : toPlain(parsed) };
  const names = Object.keys(parsed).slice(0, MOST_FIELDS);
  return { fields: names.map((name) => ({ name, value: toPlain(parsed[name]) })), parsed: undefined };
}
